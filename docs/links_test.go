package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"redline/internal/must"
)

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)#?([^)\s]*)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	page    = regexp.MustCompile(`docs/[\w/-]+\.md`)
)

// documents are all pages that people read, from the folder of docs/.
func documents(t *testing.T) []string {
	t.Helper()
	return slices.Concat(files(t, "*/*.md"), files(t, "../*.md"))
}

// anchors are the names that the headings of a page have in links.
func anchors(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return names
}

// Every local link of a document leads to a file, and to a heading of it where it
// names one.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t) {
		text := must.Read(t, document)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := document
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(document), m[1])
			}
			target, err := os.ReadFile(to)
			if info, found := os.Stat(to); found == nil && info.IsDir() {
				continue
			}
			switch {
			case err != nil:
				t.Errorf("%s links to %s: %v", document, m[1], err)
			case m[2] != "" && strings.HasSuffix(to, ".md") && !slices.Contains(anchors(string(target)), m[2]):
				t.Errorf("%s links to %s#%s, which no heading there is", document, m[1], m[2])
			}
		}
	}
}

// Pages that messages, comments and scripts name are there.
func TestNamedPagesExist(t *testing.T) {
	t.Parallel()
	look := func(file string) {
		text := must.Read(t, file)
		for _, name := range page.FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("%s names %s: %v", file, name, err)
			}
		}
	}
	for _, file := range append(documents(t), "../Makefile", "../action.yml") {
		look(file)
	}
	for _, tree := range []string{"../cmd", "../internal", "../scripts"} {
		must.Do(t, filepath.WalkDir(tree, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && slices.Contains([]string{".go", ".sh"}, filepath.Ext(path)) {
				look(path)
			}
			return err
		}))
	}
}

// What was measured says when, and of which commit.
func TestMeasuredPagesHaveDateAndCommit(t *testing.T) {
	t.Parallel()
	when := regexp.MustCompile(`20\d\d-\d\d-\d\d(?:, commit|,? (?:of runs )?with redline) (?:[\d.]+\+)?[0-9a-f]{7}`)
	for _, file := range files(t, "measured/*.md") {
		text := must.Read(t, file)
		if !when.Match(text) {
			t.Errorf("%s does not say when it was measured, and of which commit: want \"Measured 2026-11-17, commit 624aee8\"", file)
		}
	}
}

// The README is read in a few minutes.
func TestTheREADMEIsShort(t *testing.T) {
	t.Parallel()
	text := must.Read(t, "../README.md")
	if lines := strings.Count(string(text), "\n"); lines > 140 {
		t.Errorf("%d lines, want at most 140", lines)
	}
}
