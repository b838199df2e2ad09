package compare

import (
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/result"
)

// Distributions of runs are put together as their figures are, and only where all
// of them have one.
func TestMeanCurves(t *testing.T) {
	t.Parallel()
	run := func(ttft float64) *result.Distributions {
		return &result.Distributions{Percent: []float64{50, 99}, TTFT: []float64{ttft, 10 * ttft}, TPOT: []float64{8, 8}}
	}
	want := &result.Distributions{Percent: []float64{50, 99}, TTFT: []float64{20, 200}, TPOT: []float64{8, 8}}
	expect.Same(t, want, meanCurves([]*result.Distributions{run(10), run(40)}))
	lacking := run(10)
	lacking.TPOT = nil
	if got := meanCurves([]*result.Distributions{run(10), lacking}); got.TPOT != nil || got.TTFT == nil {
		t.Errorf("a run without tpot gives %v", got)
	}
	for name, list := range map[string][]*result.Distributions{"none": nil, "one without": {run(1), nil}, "the first without": {nil, run(1)},
		"other percentages": {run(1), {Percent: []float64{50}}}} {
		if got := meanCurves(list); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
