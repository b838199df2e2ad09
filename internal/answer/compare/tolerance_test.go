package compare

import (
	"slices"
	"strings"
	"testing"

	"redline/internal/judge/slo"
)

// A difference that does not matter is not called, however sure it is; and one
// that does is.
func TestLiveHonoursItsTolerance(t *testing.T) {
	t.Parallel()
	// jitter varies rounds by a hundredth of the shift: each difference is
	// beyond any doubt.
	for _, c := range []struct {
		what      string
		by        float64
		tolerance float64
		want      slo.Standing
	}{
		{"0.052% slower", 1.00052, 0, slo.Same},
		{"0.052% slower, and nothing is tolerated", 1.00052, 1e-6, slo.Worse},
		{"0.5% slower", 1.005, 0, slo.Same},
		{"4.8% slower", 1.048, 0, slo.Worse},
		{"4.8% slower within 10%", 1.048, 0.1, slo.Same},
		{"12% slower beyond 10%", 1.12, 0.1, slo.Worse},
		{"4.8% faster", 0.952, 0, slo.Better},
		{"4.8% faster within 10%", 0.952, 0.1, slo.Same},
	} {
		a, b := scale(jitter(0), 100), scale(jitter(0.0001), 100*c.by)
		got := Live(roundsOf("ttft:p50", a, b), Options{Tolerance: c.tolerance})
		if m := got.Metrics[0]; m.Standing != c.want || got.Standing != c.want {
			t.Errorf("%s: %s (%s), want %s", c.what, m.Standing, m.Verdict, c.want)
		}
	}
}

// A difference of which the interval reaches beyond the tolerance is open.
func TestADifferenceNearTheToleranceIsOpen(t *testing.T) {
	t.Parallel()
	a, b := scale(jitter(0), 100), scale(jitter(0.04), 109)
	if m := Live(roundsOf("ttft:p50", a, b), Options{Tolerance: 0.1}).Metrics[0]; m.Standing != slo.Undecided {
		t.Errorf("%s (%s, interval %v), want undecided", m.Standing, m.Verdict, *m.Interval)
	}
}

// What a check spoiled of a round does not count; the rest of the round does.
func TestOnlyTheSpoiltMetricIsLeftOut(t *testing.T) {
	t.Parallel()
	make := func(spoilt ...int) []Round {
		rounds := roundsOf("ttft:p50", scale(jitter(0), 100), scale(jitter(0.001), 150))
		for i := range rounds {
			rounds[i].A["tpot:p50"], rounds[i].B["tpot:p50"] = 10+0.01*float64(i%3), 12+0.01*float64(i%4)
		}
		for _, i := range spoilt {
			rounds[i].B["ttft:p50"] = 9000 // what lag made of it
			rounds[i].Spoilt = map[string]string{"ttft": "B: lag: p99 9 s", "e2e": "B: lag: p99 9 s"}
		}
		return rounds
	}
	one := Live(make(3), Options{})
	if one.Rounds != 10 || one.Metrics[0].Standing != slo.Worse || *one.Metrics[0].B > 151 || one.Metrics[1].Standing != slo.Worse {
		t.Errorf("%d rounds, %+v; want ten, and the spoilt figure in none of them", one.Rounds, one.Metrics)
	}
	want := []string{"round 4 does not count for e2e, ttft: B: lag: p99 9 s"}
	if got := texts(one.Warnings); !slices.Equal(got, want) {
		t.Errorf("warned %q, want %q", got, want)
	}
	all := Live(make(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), Options{})
	if len(all.Metrics) != 2 || all.Metrics[0].Name != "tpot:p50" || all.Metrics[0].Standing != slo.Worse {
		t.Fatalf("%+v, want tpot judged", all.Metrics)
	}
	if m := all.Metrics[1]; m.Name != "ttft:p50" || m.B == nil || m.Standing != slo.Undecided || m.PHolm != nil || !strings.HasPrefix(m.Verdict, "not judged") {
		t.Errorf("%+v, want ttft shown and not judged", m)
	}
}

// Where no round counts, the figures are shown and nothing is said of them.
func TestRoundsThatDoNotCountAreShown(t *testing.T) {
	t.Parallel()
	rounds := roundsOf("ttft:p50", scale(jitter(0), 100), scale(jitter(0.001), 150))
	for i := range rounds {
		rounds[i].Skip = "A: not valid: lag: p99 7 ms"
	}
	rounds[3].B = nil // and one was not measured at all
	got := Live(rounds, Options{})
	if len(got.Metrics) != 1 || got.Rounds != 0 || got.Standing != slo.Undecided {
		t.Fatalf("%d metrics of %d rounds, %s; want the figures, of none, undecided", len(got.Metrics), got.Rounds, got.Standing)
	}
	if m := got.Metrics[0]; m.A == nil || *m.A < 99 || *m.A > 101 || m.B == nil || *m.B < 149 || *m.B > 151 || m.Standing != slo.Undecided || m.PHolm != nil {
		t.Errorf("%+v, want 100 and 150 without a verdict", m)
	}
}
