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

// An objective that a level cannot decide alone is met where a higher one met it, but
// not beyond a level that missed it, nor where it is more load that helps.
func TestLevelsAreJudgedTogether(t *testing.T) {
	t.Parallel()
	const few = "too few requests: 16 of 59 needed"
	verdict := func(objective string, standing slo.Standing) slo.Verdict {
		return slo.Verdict{Objective: objective, Standing: standing, Needed: 59, Note: few}
	}
	for _, c := range []struct {
		what, objective string
		levels, want    []slo.Standing
	}{
		{"below one that met it", "tpot:p95<20ms", []slo.Standing{slo.Undecided, slo.Undecided, slo.Met, slo.Undecided}, []slo.Standing{slo.Met, slo.Met, slo.Met, slo.Undecided}},
		{"beyond one that missed it", "ttft:p99<500ms", []slo.Standing{slo.Undecided, slo.Missed, slo.Met}, []slo.Standing{slo.Undecided, slo.Missed, slo.Met}},
		{"a rate of errors", "error:rate<1%", []slo.Standing{slo.Undecided, slo.Met}, []slo.Standing{slo.Met, slo.Met}},
		{"a throughput", "throughput:min>100", []slo.Standing{slo.Undecided, slo.Met}, []slo.Standing{slo.Undecided, slo.Met}},
		{"never judged", "ttft:p99<500ms", []slo.Standing{slo.NotJudged, slo.Met}, []slo.Standing{slo.NotJudged, slo.Met}},
	} {
		var points []result.Point
		var order []int
		for i, standing := range c.levels {
			points = append(points, result.Point{Name: "a level"})
			points[i].Objectives = []slo.Verdict{verdict(c.objective, standing)}
			order = append(order, i)
		}
		JudgeTogether(points, order)
		for i, want := range c.want {
			v := points[i].Objectives[0]
			if changed := v.Note != few; v.Standing != want || changed != (want != c.levels[i]) {
				t.Errorf("%s, level %d: %v, %q; want %v", c.what, i, v.Standing, v.Note, want)
			}
		}
	}
}
