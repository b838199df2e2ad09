package compare

import (
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

func TestMovesHaveNoExponent(t *testing.T) {
	t.Parallel()
	before, after, ratio := 999.7, 1170.0, 1.1703
	const want = "+17%, from 1,000 to 1,170 ms"
	if _, got := move(&result.Change{A: &before, B: &after, Ratio: &ratio, Unit: "ms"}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestApart(t *testing.T) {
	t.Parallel()
	tuned := func(good, tpot float64) *result.Result {
		p := result.Point{}
		p.Goodput = &metric.Goodput{Fraction: good}
		p.Latency.TPOT = &metric.Dist{N: 2000, P: map[string]float64{"p50": tpot}}
		return &result.Result{Points: []result.Point{p}}
	}
	got := Apart([]*result.Result{tuned(0.80, 10), tuned(0.85, 11), {}, tuned(0.82, 10.5)}, nil)
	if d := got["good:fraction"]; d < 0.0499 || d > 0.0501 {
		t.Errorf("good requests differ by %v, want 5 points", d)
	}
	if d := got["tpot:p50"]; d < 0.0999 || d > 0.1001 {
		t.Errorf("time per token differs by %v, want 10%%", d)
	}
}
