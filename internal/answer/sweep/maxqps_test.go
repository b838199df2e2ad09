package sweep

import (
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// The highest load counts that meets an objective below the first that misses it:
// what meets it beyond, by chance, does not, nor what is not valid.
func TestMaxQPSOfASweep(t *testing.T) {
	t.Parallel()
	r := &result.Result{Curve: &result.Curve{By: "rate"}}
	for i, l := range []struct {
		rate       float64
		ttft, tpot slo.Standing
		invalid    string
	}{{1, slo.Met, slo.Met, ""}, {20, slo.Met, slo.Met, ""}, {25, slo.Missed, slo.Undecided, ""}, {28, slo.Met, slo.Met, ""}, {30, slo.Missed, slo.Met, "late"}, {35, slo.Missed, slo.Missed, ""}} {
		r.Curve.Points = append(r.Curve.Points, i)
		r.Points = append(r.Points, result.Point{Invalid: l.invalid, Load: result.Load{Rate: &l.rate}})
		r.Points[i].Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: l.ttft}, {Objective: "tpot:p99<50ms", Standing: l.tpot}}
	}
	want := &result.MaxQPS{HighestMet: result.HighestMet{Rate: 20, MissedAt: new(25.0)}, ByObjective: map[string]result.HighestMet{
		"ttft:p99<500ms": {Rate: 20, MissedAt: new(25.0)}, "tpot:p99<50ms": {Rate: 28, MissedAt: new(35.0)}}}
	expect.Same(t, want, MaxQPS(r))
	for i := range r.Points { // of a closed loop what was completed counts
		n := 1 << i
		r.Points[i].Load = result.Load{Concurrency: &n}
		r.Points[i].Rates.Completed = float64(10 * n)
	}
	if got := MaxQPS(r); got.Rate != 20 || *got.Concurrency != 2 || *got.MissedAt != 40 {
		t.Errorf("a closed loop: %+v", got.HighestMet)
	}
	for i := range r.Points {
		r.Points[i].Objectives = nil
	}
	if got := MaxQPS(r); got != nil {
		t.Errorf("without objectives: %+v", got)
	}
}
