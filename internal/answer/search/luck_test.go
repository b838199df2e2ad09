package search

import (
	"math"
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// Long replies are the ones that a short drain cuts off: a window whose lengths
// are just the workload's has had no luck, whoever of it was answered.
func TestLuckCountsRequestsThatWereCutOff(t *testing.T) {
	t.Parallel()
	mean := Lengths{Prompt: 100, Output: 100}
	var p result.Point
	p.Requests = metric.Requests{Due: 4, OK: 2, Censored: 2}
	p.Tokens = metric.Tokens{AskedPrompt: 200, AskedOutput: 20, DuePrompt: 400, DueOutput: 400}
	if got := luckOf(p, 1, mean); math.Abs(got-1) > 1e-9 {
		t.Errorf("luck %g, want 1", got)
	}
	p.Tokens.DueOutput *= 2
	if got := luckOf(p, 1, mean); !(got > 1) {
		t.Errorf("replies twice as long: luck %g, want more than 1", got)
	}
}
