package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"redline/internal/must"
)

// misprints are numbers that nobody would write by hand.
var misprints = map[string]*regexp.Regexp{
	"an exponent":     regexp.MustCompile(`\de[+-]0\d`),
	"false precision": regexp.MustCompile(`\d\.0*[1-9]\d{7,}`),
	"one of several": regexp.MustCompile(`(?:^|[^+] |[(>])1[ \x{a0}](?:[a-z ]+s/s\b|(?:requests|sessions|levels|runs|tokens|users|rounds|times|replies|` +
		`questions|points|cores|accelerators|instances|streams|files|warnings|problems|days)\b)`),
}

func TestNoMisprintReachesAReader(t *testing.T) {
	for text, name := range map[string]string{
		"from 2.63e+03 to 592 ms": "an exponent", "limit 14.999999999999986 requests/s": "false precision", "at 1 sessions/s": "one of several", "(1 requests)": "one of several",
		"21 requests": "", "k + 1 tokens": "", "0.1 requests": "", "$0.0000514 a request": "", "1.1e+308": "", "1 request/s": "",
	} {
		if got := misprint(text); got != name {
			t.Errorf("%q is taken for %q, want %q", text, got, name)
		}
	}
	seen := 0
	for _, pattern := range []string{"*/*.md", "../*.md", "../internal/show/report/testdata/*.txt", "../internal/show/report/testdata/*.md", "../internal/show/report/testdata/*.html"} {
		files := must.Get(filepath.Glob(pattern))(t)
		for _, file := range files {
			data := must.Read(t, file)
			seen++
			for i, line := range strings.Split(string(data), "\n") {
				if name := misprint(line); name != "" {
					t.Errorf("%s:%d: %s: %s", file, i+1, name, misprints[name].FindString(line))
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d files were looked at", seen)
	}
}

func misprint(line string) string {
	for name, pattern := range misprints {
		if pattern.MatchString(line) {
			return name
		}
	}
	return ""
}
