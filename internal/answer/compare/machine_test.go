package compare

import (
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// heldUpBy lets the machine of a run have added a share of its ttft.
func heldUpBy(share float64) func(*result.Result) {
	return func(r *result.Result) {
		d := r.Points[0].Latency.TTFTDue
		d.Low = map[string]float64{"p99": d.P["p99"] * (1 - share)}
	}
}

// A difference that the machine of either side may have made is not called; one
// that is larger is, and so is one that the machine can only have hidden.
func TestWhatTheMachineMadeIsNotCalled(t *testing.T) {
	t.Parallel()
	none := func(*result.Result) {}
	for name, tt := range map[string]struct {
		b            float64
		heldA, heldB func(*result.Result)
		want         slo.Standing
	}{
		"a quiet machine":                      {110, none, none, slo.Worse},
		"B's machine added as much":            {110, none, heldUpBy(0.1), slo.Undecided},
		"B's machine added less":               {130, none, heldUpBy(0.1), slo.Worse},
		"A's machine can only have hidden it":  {110, heldUpBy(0.1), none, slo.Worse},
		"A is slower by what its machine made": {92, heldUpBy(0.1), none, slo.Undecided},
	} {
		var a, b []*result.Result
		for i, noise := range []float64{1, 1.002, 0.998, 1.001, 0.999} {
			a = append(a, run("a"+string(rune('0'+i)), 100*noise, tt.heldA))
			b = append(b, run("b"+string(rune('0'+i)), tt.b*noise, tt.heldB))
		}
		got := must.Get(Runs(a, b, Options{}))(t)
		if m := got.Metrics[0]; m.Standing != tt.want || tt.want == slo.Undecided && !strings.Contains(m.Verdict, "the machine that measured it may have made") {
			t.Errorf("%s: %s (%s), want %s", name, m.Standing, m.Verdict, tt.want)
		}
		var rounds []Round
		for i := range a {
			pa, pb := &a[i].Points[0], &b[i].Points[0]
			rounds = append(rounds, Round{First: "A", A: ValuesOf(pa), B: ValuesOf(pb), EndsA: EndsOf(pa), EndsB: EndsOf(pb)})
		}
		if m := Live(rounds, Options{}).Metrics[0]; m.Standing != tt.want {
			t.Errorf("%s, live: %s (%s), want %s", name, m.Standing, m.Verdict, tt.want)
		}
	}
}

// Runs that only look slow because their machines were busy are no drift.
func TestWhatTheMachineMadeIsNoDrift(t *testing.T) {
	t.Parallel()
	series := func(held bool) []Sample {
		var values []Values
		for i := range 24 {
			level := 100.0
			if i >= 16 {
				level = 130
			}
			values = append(values, Values{"ttft:p99": near1(level, i)})
		}
		list := months(values)
		for i := range list {
			if v := list[i].Values["ttft:p99"]; held && i >= 16 {
				list[i].Ends = Ends{"ttft:p99": {v * 0.7, v}}
			}
		}
		return list
	}
	if calls(series(false)) == 0 {
		t.Error("a step of 30% is not called")
	}
	if n := calls(series(true)); n > 0 {
		t.Errorf("%d changes called that the machine may have made", n)
	}
}
