package gather

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/store"
)

// A curve is as sound as the least sound of its runs, whichever comes first, and
// meets the objectives where one of its levels does.
func TestACurveHasTheVerdictsOfAllItsRuns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	level := func(name string, rate float64, standing slo.Standing, lagOK bool) string {
		path := keep(t, root, name, "", "llama")
		d := must.Get(store.Open(path))(t)
		res := must.Get(d.Result())(t)
		res.Points[0].Load.Rate = &rate
		res.Points[0].Objectives = []slo.Verdict{{Objective: "ttft:p99<1s", Standing: standing}}
		res.Warnings = []result.Warning{{Figure: "ttft", Text: name}, {Figure: "server", Text: "shared"}}
		res.Verdict.Checks = []result.Check{{Name: "lag", OK: lagOK, Figure: "80 ms", Threshold: "5 ms"}}
		if !lagOK {
			res.Verdict.Valid, res.Verdict.Reasons, res.Interrupted = result.Invalid, []string{"lag: 80 ms, allowed 5 ms"}, result.ByUser
		}
		must.Do(t, d.WriteResult(res))
		return path
	}
	low, high, late := level("low", 1, slo.Met, true), level("high", 4, slo.Missed, true), level("late", 2, slo.Undecided, false)
	type whole struct {
		Verdict     result.Verdict
		Interrupted string
		Warnings    int
		Curve       []int
	}
	passed := result.Check{Name: "lag", OK: true, Figure: "80 ms", Threshold: "5 ms"}
	failed := result.Check{Name: "lag", Figure: "late: 80 ms", Threshold: "5 ms"}
	invalid := result.Verdict{Valid: result.Invalid, SLO: slo.Met, Reasons: []string{"lag: late: 80 ms, allowed 5 ms"}, Checks: []result.Check{failed}, Unchecked: []result.SkippedCheck{}}
	for name, c := range map[string]struct {
		paths []string
		want  whole
	}{
		"sound":         {[]string{high, low}, whole{result.Verdict{Valid: result.Valid, SLO: slo.Met, Reasons: []string{}, Checks: []result.Check{passed}, Unchecked: []result.SkippedCheck{}}, "", 3, []int{1, 0}}},
		"unsound, last": {[]string{low, high, late}, whole{invalid, result.ByUser, 4, []int{0, 2, 1}}},
		"unsound first": {[]string{late, low, high}, whole{invalid, result.ByUser, 4, []int{1, 0, 2}}},
	} {
		res := must.Get(Levels(c.paths))(t)
		expect.NoDiff(t, cmp.Diff(c.want, whole{res.Verdict, res.Interrupted, len(res.Warnings), res.Curve.Points}), "%s (-want +got)", name)
	}
}

// A run whose load is not that of the curve is left out and named; two runs by
// different axes make no curve.
func TestACurveLeavesOutOtherLoads(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	level := func(name string, load result.Load) string {
		path := keep(t, root, name, "", "llama")
		d := must.Get(store.Open(path))(t)
		res := must.Get(d.Result())(t)
		res.Points[0].Load = load
		must.Do(t, d.WriteResult(res))
		return path
	}
	alone, unknown := level("alone", result.Load{Concurrency: new(1)}), level("unknown", result.Load{})
	low, high := level("low", result.Load{Rate: new(1.0)}), level("high", result.Load{Rate: new(4.0)})
	res := must.Get(Levels([]string{alone, unknown, high, low}))(t)
	expect.Same(t, []int{1, 0}, res.Curve.Points)
	for _, name := range []string{alone, unknown} {
		if !slices.ContainsFunc(res.Warnings, func(w result.Warning) bool { return strings.HasPrefix(w.Text, name+" is left out") }) {
			t.Errorf("%s is not named as left out in %v", name, res.Warnings)
		}
	}
	if _, err := Levels([]string{alone, low}); !errors.As(err, new(NoCurve)) {
		t.Errorf("a rate and a concurrency make a curve: %v", err)
	}
}
