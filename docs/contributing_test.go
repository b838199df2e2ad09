package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"redline/internal/must"
)

// Whoever follows CONTRIBUTING finds what it names: each answer to where
// something is changed has its name in that file, and every path is there.
func TestContributingLeadsThere(t *testing.T) {
	t.Parallel()
	page := must.Read(t, "../CONTRIBUTING.md")
	answers := regexp.MustCompile("(?m)^\\| [^|]+\\? \\| `([^`]+)` \\| `([^`]+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(answers) < 10 {
		t.Errorf("%d questions with an answer, want ten", len(answers))
	}
	for _, a := range answers {
		source, err := os.ReadFile(filepath.Join("..", a[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		declared := regexp.MustCompile(`(?m)^(?:var|const|type|func(?: \([^)]*\))?) ` + a[2] + `\b`)
		if !declared.Match(source) {
			t.Errorf("%s declares no %s", a[1], a[2])
		}
	}
	for _, m := range regexp.MustCompile("`((?:internal|cmd|docs|scripts)/[^` ]+)`").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(m[1], "NAME") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
			t.Errorf("CONTRIBUTING names %s: %v", m[1], err)
		}
	}
}
