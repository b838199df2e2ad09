package stats

import (
	"math"
	"math/rand/v2"
)

// ExpandedBootstrap is a percentile bootstrap interval with its tails taken
// further out by the ratio of Student's t to the normal quantile, for few
// values such as the rounds of a comparison.
func ExpandedBootstrap(values []float64, statistic func([]float64) float64, level float64, resamples int, r *rand.Rand) (lo, hi float64) {
	return percentileInterval(resample(values, statistic, resamples, r), level, len(values))
}

// resample are the figures of the statistic over resamples; one that could
// not be computed is left out.
func resample(values []float64, statistic func([]float64) float64, resamples int, r *rand.Rand) []float64 {
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
