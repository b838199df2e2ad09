package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Bootstrap is the percentile interval of a statistic of independent values at
// the given level: the values are drawn again, as many and with replacement,
// and the statistic's own quantiles over the resamples are the bounds. It is
// (-Inf, +Inf) below two values. The statistic must not keep or change the
// slice that it is handed.
//
// Ten values make this interval too narrow by about a fifth;
// ExpandedBootstrap makes up for it.
func Bootstrap(values []float64, statistic func([]float64) float64, level float64, resamples int, r *rand.Rand) (lo, hi float64) {
	figures := resampled(values, statistic, resamples, r)
	if len(figures) == 0 || !(level > 0 && level < 1) {
		return math.Inf(-1), math.Inf(1)
	}
	slices.Sort(figures)
	return Quantile(figures, (1-level)/2), Quantile(figures, (1+level)/2)
}

// ExpandedBootstrap is Bootstrap with its tails taken further out by the ratio
// of Student's t to the normal quantile, for few values such as the rounds of
// a comparison.
func ExpandedBootstrap(values []float64, statistic func([]float64) float64, level float64, resamples int, r *rand.Rand) (lo, hi float64) {
	return spread(resampled(values, statistic, resamples, r), level, len(values))
}

// resampled are the figures of the statistic over resamples; one that could
// not be computed is left out.
func resampled(values []float64, statistic func([]float64) float64, resamples int, r *rand.Rand) []float64 {
	if len(values) < 2 {
		return nil
	}
	figures := make([]float64, 0, max(resamples, 0))
	again := make([]float64, len(values))
	for range resamples {
		for i := range again {
			again[i] = values[r.IntN(len(values))]
		}
		if v := statistic(again); !math.IsNaN(v) {
			figures = append(figures, v)
		}
	}
	return figures
}
