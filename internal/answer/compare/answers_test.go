package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// withTPOT gives a run a tpot beside its ttft, known as well.
func withTPOT(tpot float64) func(*result.Result) {
	return func(r *result.Result) {
		p := &r.Points[0]
		p.Latency.TPOT = p99Of(tpot)
		p.StandardErrors["tpot:p99"] = 0.002
	}
}

func failedCheck(spoils ...string) func(*result.Result) {
	return func(r *result.Result) {
		c := result.Check{Name: "lag", Figure: "p99 7 ms", Threshold: "≤ 1 ms", Spoils: spoils}
		r.Verdict = result.Verdict{Valid: result.Invalid, Checks: []result.Check{c}, Reasons: []string{c.Reason()}}
	}
}

// A failed check of a stored run takes from the comparison what it touches, and
// nothing else, as it does in a live one.
func TestOnlyWhatACheckTouchesIsNotJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoils     []string
		ttft, tpot slo.Standing
		invalid    int
	}{
		"a figure":      {[]string{"ttft", "e2e"}, slo.Undecided, slo.Better, 0},
		"an objective":  {[]string{"ttft:p99<500ms"}, slo.Undecided, slo.Better, 0},
		"everything":    {nil, slo.Undecided, slo.Undecided, 1},
		"all there are": {[]string{"ttft", "tpot"}, slo.Undecided, slo.Undecided, 1},
	} {
		got := must.Get(Runs(one(run("a", 100, withTPOT(20))), one(run("b", 150, withTPOT(15), failedCheck(c.spoils...))), Options{}))(t)
		ttft, tpot := findMetric(t, got, "ttft:p99"), findMetric(t, got, "tpot:p99")
		if ttft.Standing != c.ttft || tpot.Standing != c.tpot || len(got.Invalid) != c.invalid || ttft.B == nil {
			t.Errorf("%s: ttft %s (%s), tpot %s (%s), invalid %q", name, ttft.Standing, ttft.Verdict, tpot.Standing, tpot.Verdict, got.Invalid)
		}
	}
}

// Runs that nobody checked are compared, and said to be unchecked.
func TestUncheckedRunsAreNamed(t *testing.T) {
	t.Parallel()
	got := must.Get(Runs(one(run("a", 100)), one(run("b", 100, func(r *result.Result) {
		r.Verdict = result.Verdict{Valid: result.Valid, Unchecked: []result.SkippedCheck{{Name: "lag", Why: "imported"}}}
	})), Options{}))(t)
	want := []string{"run b: nothing was checked of it: what its client did may be in its figures"}
	expect.NoDiff(t, cmp.Diff(want, texts(got.Warnings)), "warnings (-want +got)")
}

// The same records agree, however vague they are; records that differ agree only
// where their parts say so.
func TestTheSameRecordsAgree(t *testing.T) {
	t.Parallel()
	vague := func(r *result.Result) {
		withCounts(50, 1, 0.9, 100)(r)
		r.Points[0].StandardErrors = metric.StandardErrors{"ttft:p99": 0.5}
	}
	for name, c := range map[string]struct {
		b    *result.Result
		want slo.Standing
	}{
		"the same":  {run("a", 100, vague), slo.Same},
		"one other": {run("a", 100.001, vague), slo.Undecided},
	} {
		got := must.Get(Runs(one(run("a", 100, vague)), one(c.b), Options{}))(t)
		if got.Standing != c.want || c.want == slo.Same && got.Verdict != "no difference at all" {
			t.Errorf("%s: %s, %q; want %s", name, got.Standing, got.Verdict, c.want)
		}
		for _, m := range got.Metrics {
			if none := ([2]float64{1, 1}); m.Ratio != nil && (m.Interval != nil && *m.Interval == none) != (c.want == slo.Same) {
				t.Errorf("%s: %s may differ by %v", name, m.Name, m.Interval)
			}
		}
	}
}

// What B was found to suffer from is said where it is worse than A, not where
// the two are alike.
func TestOnlyTheWorseIsExplained(t *testing.T) {
	t.Parallel()
	slow := run("b", 100)
	slow.Diagnosis = []result.Finding{{Title: "decode takes most of the time"}}
	for standing, want := range map[slo.Standing]int{slo.Same: 0, slo.Better: 0, slo.Undecided: 0, slo.Worse: 1, slo.Mixed: 1} {
		c := Comparison{result.Comparison{Standing: standing}}
		if got := c.Result(slow).Diagnosis; len(got) != want {
			t.Errorf("%s: %v, want %d", standing, got, want)
		}
	}
}

func TestFlagsThatDifferAreListed(t *testing.T) {
	t.Parallel()
	flags := func(list map[string]string) func(*result.Result) {
		return func(r *result.Result) { r.Engine.Flags = list }
	}
	got := must.Get(Runs(one(run("a", 100, flags(map[string]string{"max-num-seqs": "64", "dtype": "bfloat16"}))),
		one(run("b", 100, flags(map[string]string{"max-num-seqs": "128", "dtype": "bfloat16", "kv-cache-dtype": "fp8"}))), Options{}))(t)
	want := []result.FlagPair{{Name: "kv-cache-dtype", B: "fp8"}, {Name: "max-num-seqs", A: "64", B: "128"}}
	expect.NoDiff(t, cmp.Diff(want, got.Flags), "flags (-want +got)")
}

// Means and tails stand beside the percentiles: of two runs of 4 and 9 ms the
// geometric mean is 6.
func TestMeansAndTailsStandBeside(t *testing.T) {
	t.Parallel()
	with := func(mean, p50, p99 float64) func(*result.Result) {
		return func(r *result.Result) {
			r.Points[0].Latency.TTFTDue = &metric.Dist{N: 100, Mean: mean, P: map[string]float64{"p50": p50, "p99": p99}}
		}
	}
	a := []*result.Result{run("a0", 0, with(4, 2, 10)), run("a1", 0, with(9, 2, 40))}
	got := must.Get(Runs(a, one(run("b", 0, with(7, 3, 12))), Options{}))(t)
	want := []result.Shape{{Name: "ttft", Unit: "ms", MeanA: new(6.0), MeanB: new(7.0), TailA: new(10.0), TailB: new(4.0)}}
	expect.NoDiff(t, cmp.Diff(want, got.Shapes, nineDigits), "shapes (-want +got)")
}
