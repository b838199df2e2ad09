package stats

import (
	"math"
	"slices"
)

// percentileInterval is the percentile interval of bootstrap figures drawn from the given
// number of independent pieces. Few pieces make the plain percentile interval
// too narrow, so its tails are taken further out by the ratio of Student's t
// to the normal quantile (Hesterberg's expanded interval).
func percentileInterval(figures []float64, level float64, pieces int) (lo, hi float64) {
	if len(figures) == 0 || pieces < 2 || !(level > 0 && level < 1) {
		return math.Inf(-1), math.Inf(1)
	}
	slices.Sort(figures)
	k := float64(pieces)
	tail := NormalCDF(-math.Sqrt(k/(k-1)) * StudentQuantile((1+level)/2, k-1))
	return Quantile(figures, tail), Quantile(figures, 1-tail)
}
