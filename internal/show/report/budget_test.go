package report

import (
	"strings"
	"testing"

	"redline/internal/judge/result"
)

// A run that used what it was given came to its end, unless requests were left
// without an answer; an experiment that did so lacks the rest of its stages.
func TestABudgetEndsARun(t *testing.T) {
	const fact = "ended       by --max-tokens-total, with every request answered"
	used := func(r *result.Result) { r.Interrupted = "--max-tokens-total reached" }
	for _, c := range []struct {
		what  string
		run   *result.Result
		early bool
	}{
		{"all answered", changed(baseSample(), used), false},
		{"objectives met", changed(metSample(), used), false},
		{"some unfinished", changed(baseSample(), func(r *result.Result) { used(r); r.Points[0].Requests.Censored = 2 }), true},
		{"another bound", changed(baseSample(), func(r *result.Result) { r.Interrupted = "the disk was full" }), true},
		{"a sweep", changed(curveSample(), used), true},
	} {
		page := page100(t, c.run, TerminalOptions{Width: 100})
		if strings.HasPrefix(page, "STOPPED EARLY: "+c.run.Interrupted) != c.early || strings.Contains(page, fact) == c.early || !c.early && strings.Contains(page, "SO FAR") {
			t.Errorf("%s:\n%s", c.what, page)
		}
	}
}
