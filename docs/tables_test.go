package docs_test

import (
	"strings"
	"testing"

	"redline/internal/must"
)

// A bar in a cell, even between backticks, begins another one unless it is
// escaped, and what is past the last column is not shown.
func TestRowsHaveTheColumnsOfTheirTable(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		text := must.Read(t, file)
		columns, fenced := 0, false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if fenced || !strings.HasPrefix(line, "|") {
				columns = 0
				continue
			}
			cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1
			if columns == 0 {
				columns = cells
			}
			if cells != columns {
				t.Errorf("%s:%d: %d cells in a table of %d columns: %s", file, i+1, cells, columns, line)
			}
		}
	}
}
