// Package pages writes what a test or a script has measured into the pages of
// docs/measured, with the date and the commit.
package pages

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// commit is given by the linker to a binary that measures elsewhere:
// -ldflags "-X redline/docs/pages.commit=$(git describe --always --dirty)".
var commit string

// Stamp says when something was measured, and of which commit.
func Stamp() string {
	of := commit
	if found, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*").Output(); of == "" && err == nil {
		of = strings.TrimSpace(string(found))
	}
	return fmt.Sprintf("Measured %s, commit %s.", time.Now().UTC().Format(time.DateOnly), cmp.Or(of, "unknown"))
}

// Write puts a text, below its stamp, between the marks of that name in a page,
// which is named as in that folder: RATES.md.
func Write(page, name, text string) error {
	path, before, _, after, err := find(page, name)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(before+Stamp()+"\n\n"+text+after), 0o644)
}

// Read is what stands between the marks of that name in a page.
func Read(page, name string) (string, error) {
	_, _, text, _, err := find(page, name)
	return text, err
}

// find cuts a page at the marks of that name, which stay with what is around them.
func find(page, name string) (path, before, text, after string, err error) {
	root, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(root, "go.mod")); missing == nil {
			break
		}
		if root == filepath.Dir(root) {
			err = fmt.Errorf("no go.mod above: %s is written in a checkout", page)
		}
		root = filepath.Dir(root)
	}
	if err != nil {
		return "", "", "", "", err
	}
	path = filepath.Join(root, "docs", "measured", page)
	all, err := os.ReadFile(path)
	if err == nil {
		before, text, after, err = cut(string(all), name)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return path, before, text, after, err
}

// Replace puts a text between the marks of that name in the text of a page.
func Replace(page, name, text string) (string, error) {
	before, _, after, err := cut(page, name)
	return before + text + after, err
}

func cut(page, name string) (before, text, after string, err error) {
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	before, rest, found := strings.Cut(page, begin)
	text, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		err = fmt.Errorf("no place for %s, between %s and %s", name, strings.TrimSpace(begin), end)
	}
	return before + begin, text, end + after, err
}
