package truth

import (
	"fmt"
	"os"
	"strings"
)

// Replace writes a text into a page, between the lines that mark the place of
// that name.
func Replace(page, name, text string) error {
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for %s between %s and %s", page, name, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(page, []byte(before+begin+text+end+after), 0o644)
}
