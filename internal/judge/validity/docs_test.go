package validity

import (
	"strings"
	"testing"

	"redline/internal/must"
)

// Every check is explained where users look its threshold up, in order.
func TestChecksAreDocumented(t *testing.T) {
	t.Parallel()
	text := must.Read(t, "../../../docs/reference/METRICS.md")
	rest := string(text)
	for _, c := range checks {
		if c.run == nil {
			continue
		}
		_, after, found := strings.Cut(rest, "\n| "+c.name+" | ")
		if !found {
			t.Errorf("docs/reference/METRICS.md has no row for %q behind that of the check before it", c.name)
			continue
		}
		rest = after
	}
}
