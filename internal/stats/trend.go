package stats

import (
	"math"
	"slices"
)

// Line is a straight line through points, and how surely its slope is known.
type Line struct {
	Slope, Intercept float64
	// Lo and Hi bound the slope.
	Lo, Hi float64
}

// TheilSen is the line whose slope is the median of the slopes of all pairs of
// points, which a quarter of wild points does not move far; it goes through the
// medians of x and y. The interval is Sen's, from the normal approximation to
// Kendall's statistic with ties corrected for. Everything is NaN, and the
// interval (-Inf, +Inf), where no two points differ in x. The work grows with
// the square of the points.
func TheilSen(x, y []float64, level float64) Line {
	slopes := pairSlopes(x, y)
	if len(slopes) == 0 {
		return Line{Slope: math.NaN(), Intercept: math.NaN(), Lo: math.Inf(-1), Hi: math.Inf(1)}
	}
	line := Line{Slope: Quantile(slopes, 0.5), Lo: math.Inf(-1), Hi: math.Inf(1)}
	line.Intercept = Median(y) - line.Slope*Median(x)
	if !(level > 0 && level < 1) {
		return line
	}
	n := float64(len(y))
	variance := (n*(n-1)*(2*n+5) - kendallTies(x) - kendallTies(y)) / 18
	reach := NormalQuantile((1+level)/2) * math.Sqrt(max(variance, 0))
	pairs := float64(len(slopes))
	upper := int(math.RoundToEven((pairs + reach) / 2))
	lower := int(math.RoundToEven((pairs-reach)/2)) - 1
	line.Lo, line.Hi = slopes[max(lower, 0)], slopes[min(upper, len(slopes)-1)]
	return line
}

// pairSlopes are the slopes between all points that differ in x, ascending.
// Samples of different length have no points.
func pairSlopes(x, y []float64) []float64 {
	if len(x) != len(y) {
		return nil
	}
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	slices.Sort(slopes)
	return slopes
}

// Median is the median of values in any order.
func Median(values []float64) float64 {
	return Quantile(slices.Sorted(slices.Values(values)), 0.5)
}

// kendallTies is what groups of equal values take from 18 times the variance
// of Kendall's statistic.
func kendallTies(values []float64) float64 {
	total := 0.0
	for _, t := range tieSizes(values) {
		total += t * (t - 1) * (2*t + 5)
	}
	return total
}

// Trend is what Mann and Kendall's test says about a series that may rise or
// fall, in whatever form.
type Trend struct {
	// S counts the pairs that rise less those that fall.
	S int
	// Z is S in standard deviations, with continuity and ties corrected for.
	Z float64
	// P is the two-sided chance of so large an S without a trend.
	P     float64
	Exact bool
}

// exactTrend is the longest series without ties whose orders are counted.
const exactTrend = 40

// MannKendall tests independent values in time for a trend. Up to 40 values
// without ties P is exact; otherwise it is the normal approximation from Z.
// Below two values P is NaN.
func MannKendall(series []float64) Trend {
	n := float64(len(series))
	if n < 2 {
		return Trend{Z: math.NaN(), P: math.NaN()}
	}
	var trend Trend
	for i := range series {
		for j := range i {
			trend.S += direction(series[j], series[i])
		}
	}
	ties := kendallTies(series)
	away := max(math.Abs(float64(trend.S))-1, 0)
	if sd := math.Sqrt((n*(n-1)*(2*n+5) - ties) / 18); sd > 0 {
		trend.Z = math.Copysign(away/sd, float64(trend.S))
	}
	trend.P = 2 * NormalCDF(-math.Abs(trend.Z))
	if trend.Exact = ties == 0 && len(series) <= exactTrend; trend.Exact {
		pairs := len(series) * (len(series) - 1) / 2
		trend.P = twoSided(inversions(len(series)), (pairs-trend.S)/2)
	}
	return trend
}

// direction is 1 where a series rises from a to b, −1 where it falls.
func direction(a, b float64) int {
	switch {
	case b > a:
		return 1
	case b < a:
		return -1
	}
	return 0
}

// inversions is the distribution of the number of falling pairs over all
// orders of n values: the i-th value falls behind 0 to i − 1 of those before
// it, each with the same chance.
func inversions(n int) []float64 {
	chances := []float64{1}
	for i := 2; i <= n; i++ {
		next := make([]float64, len(chances)+i-1)
		for fallen, p := range chances {
			for more := range i {
				next[fallen+more] += p / float64(i)
			}
		}
		chances = next
	}
	return chances
}
