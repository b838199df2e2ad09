package report

import (
	"regexp"
	"strings"
	"testing"
)

// TestMarkdownTablesAreRegular: every row of a table has as many cells as its
// heading, whatever its texts hold.
func TestMarkdownTablesAreRegular(t *testing.T) {
	t.Parallel()
	bar := regexp.MustCompile(`(^|[^\\])\|`)
	hostile := hostileSample()
	hostile.Verdict.Checks[0].Name = "a | b `c` <script>"
	for _, s := range append(samples(), sample{"hostile", hostile}) {
		cells := 0
		for line := range strings.Lines(string(written(t, Format{"markdown", Markdown}, s.result))) {
			if !strings.HasPrefix(line, "|") {
				cells = 0
				continue
			}
			n := len(bar.FindAllString(line, -1))
			if cells != 0 && n != cells {
				t.Errorf("%s: %d bars, want %d: %s", s.name, n, cells, line)
			}
			cells = n
		}
	}
}

func TestMarkdownLeadsWithTheVerdict(t *testing.T) {
	t.Parallel()
	lines := strings.Split(string(written(t, Format{"markdown", Markdown}, limitSample())), "\n")
	want := "**LIMIT** 21.4 requests/s (20.6–22.3) · held for 5 min at 21.2; under ttft:p99&lt;500ms, the first of 2 to be missed; cliff"
	if lines[2] != want {
		t.Errorf("the third line is %q, want %q", lines[2], want)
	}
}

// Nothing from outside may act as a sign of Markdown or HTML.
func TestMarkdownIsInert(t *testing.T) {
	t.Parallel()
	r := metSample()
	r.Label = "<img src=x> [a](http://b) *c* _d_ `e`"
	out := string(written(t, Format{"markdown", Markdown}, r))
	for _, sign := range []string{"<img", "[a](", " *c*", " _d_", " `e`"} {
		if strings.Contains(out, sign) {
			t.Errorf("%q is still there", sign)
		}
	}
	if !strings.Contains(out, `&lt;img src=x&gt; \[a\](http://b) \*c\* \_d\_ \`+"`e\\`") {
		t.Errorf("the label is not to be read in\n%.400s", out)
	}
}
