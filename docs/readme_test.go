package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redline/internal/must"
)

var (
	shownOutput = regexp.MustCompile("(?s)<!-- output -->\n```\n(.*?)\n```\n")
	superscript = strings.NewReplacer("⁰", "", "¹", "", "²", "", "³", "", "⁴", "", "⁵", "", "⁶", "", "⁷", "", "⁸", "", "⁹", "")
	gap         = regexp.MustCompile(` {2,}`)
)

// shape is what stays of a printed page whatever was measured: the names of its
// facts and rows, and the heads of its tables, in their order.
func shape(page string) (names []string) {
	for line := range strings.Lines(superscript.Replace(page)) {
		rest := strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")
		cells := gap.Split(rest, -1)
		switch {
		case rest == "", strings.HasPrefix(rest, " "), strings.ContainsAny(rest[:1], "<0123456789"):
			// It continues what is above, or is named by what was sent.
		case strings.HasSuffix(cells[0], ", ms") && !strings.HasPrefix(rest, "by "), cells[0] == "objectives":
			names = append(names, cells...)
		default:
			names = append(names, cells[0])
		}
	}
	return names
}

// The README shows a page as redline prints it: every name in its output is one
// of those that the tests of reports keep, in the order of the page that they
// keep for the same verdict. make readme runs its commands again.
func TestTheREADMEShowsWhatIsPrinted(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text := must.Read(t, path)
		return string(text)
	}
	kept := must.Get(filepath.Glob("../internal/show/report/testdata/*.txt"))(t)
	var all []string
	for _, path := range kept {
		all = append(all, shape(read(path))...)
	}
	outputs := shownOutput.FindAllStringSubmatch(read("../README.md"), -1)
	if len(outputs) == 0 {
		t.Fatal("the README shows no output")
	}
	for _, output := range outputs {
		names := shape(output[1])
		names = slices.DeleteFunc(names, func(n string) bool {
			return strings.HasPrefix(n, " low confidence") || strings.HasPrefix(n, "Kept in ") || strings.HasPrefix(n, "Report for ")
		})
		page := shape(read("../internal/show/report/testdata/" + strings.ToLower(names[0]) + ".txt"))
		last := 0
		for _, name := range names {
			at := slices.Index(page, name)
			switch {
			case !slices.Contains(all, name):
				t.Errorf("no report has %q: make readme", name)
			case at >= 0 && at < last && slices.Index(page[last:], name) < 0:
				t.Errorf("%q stands higher in reports: make readme", name)
			}
			last = max(last, at)
		}
		if len(names) < 20 {
			t.Errorf("only %d names in\n%s", len(names), output[1])
		}
	}
}
