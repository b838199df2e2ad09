package report

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
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

// A comparison of stored runs has no checks of its own to count, no column without
// a value, and no advice on set-ups that nobody asked for.
func TestMarkdownOfStoredRunsSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	r := comparisonSample()
	r.Comparison.Way, r.Verdict.Valid = "stored", result.Invalid
	r.Verdict.Checks, r.Verdict.Unchecked = nil, nil
	r.Choices = []result.Choice{{Scenario: "agent loops"}}
	for i := range r.Comparison.Metrics {
		r.Comparison.Metrics[i].PHolm, r.Comparison.Metrics[i].WilcoxonP = nil, nil
	}
	var page bytes.Buffer
	must.Do(t, Markdown(&page, r))
	if !strings.Contains(page.String(), "\n_Comparison of stored runs, not all of them valid_\n") || !strings.Contains(page.String(), "| B against A | A | B | change | 95% interval |  |\n") {
		t.Errorf("%s", page.String())
	}
	if bad := regexp.MustCompile(`0 failed|0 checks|Wilcoxon|agent loops`).FindString(page.String()); bad != "" {
		t.Errorf("the page has %q", bad)
	}
}

// A pull request has one screen: what splits a run by prompt length is there for
// whoever asks.
func TestMarkdownSplitsByPromptOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		var short, long bytes.Buffer
		must.Do(t, errors.Join(Markdown(&short, s.result), ExplainedMarkdown(&long, s.result)))
		if strings.Contains(short.String(), "| "+byPrompt) {
			t.Errorf("%s: a pull request has a table by prompt length", s.name)
		}
		if s.name == "many_buckets" && !strings.Contains(long.String(), "| "+byPrompt) {
			t.Errorf("%s: --explain has no table by prompt length in\n%s", s.name, long.String())
		}
	}
}
