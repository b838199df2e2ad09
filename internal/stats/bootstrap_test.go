package stats

import (
	"math"
	"testing"
)

// TestBootstrapOfTenRounds counts how often the 95 % interval of a mean of ten
// values holds the truth.
func TestBootstrapOfTenRounds(t *testing.T) {
	t.Parallel()
	const trials = 2000
	expanded := 0
	for trial := range uint64(trials) {
		r := Rand(trial, "ten-rounds", 0)
		values := make([]float64, 10)
		for i := range values {
			values[i] = 1 + r.NormFloat64()
		}
		if lo, hi := ExpandedBootstrap(values, Mean, 0.95, 400, r); lo <= 1 && 1 <= hi {
			expanded++
		}
	}
	if expanded < trials*92/100 || expanded > trials*98/100 {
		t.Errorf("the expanded interval holds the mean in %d of %d, want about 95 in 100", expanded, trials)
	}
}

func TestBootstrapFollowsItsSeed(t *testing.T) {
	t.Parallel()
	values := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	interval := func(seed uint64) [2]float64 {
		lo, hi := ExpandedBootstrap(values, Mean, 0.9, 50, Rand(seed, "seed", 0))
		return [2]float64{lo, hi}
	}
	if interval(1) != interval(1) {
		t.Errorf("one seed gave %v and %v", interval(1), interval(1))
	}
	if interval(1) == interval(2) {
		t.Errorf("two seeds gave the same %v", interval(1))
	}
}

func TestBootstrapOfTooLittleExcludesNothing(t *testing.T) {
	t.Parallel()
	never := func([]float64) float64 { return math.NaN() }
	for _, c := range []struct {
		what      string
		values    []float64
		statistic func([]float64) float64
		level     float64
		resamples int
	}{
		{"one value", []float64{1}, Mean, 0.95, 100},
		{"no resamples", []float64{1, 2}, Mean, 0.95, -1},
		{"no level", []float64{1, 2}, Mean, 1, 100},
		{"a statistic that cannot be computed", []float64{1, 2}, never, 0.95, 100},
	} {
		if lo, hi := ExpandedBootstrap(c.values, c.statistic, c.level, c.resamples, Rand(1, "", 0)); !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
			t.Errorf("%s: (%g, %g), want (-Inf, +Inf)", c.what, lo, hi)
		}
	}
}
