package stats

import "math"

// powerAt is the chance that the t statistic, shifted, lies beyond the edge.
// Both tails count: without any shift the test still calls alpha of the
// samples different.
func powerAt(shift, edge, freedom float64) float64 {
	return 1 - noncentralStudentCDF(edge, freedom, shift) + noncentralStudentCDF(-edge, freedom, shift)
}

// MinEffect is the smallest true mean difference that a two-sided paired
// t test at alpha over n pairs, whose differences spread by sd, calls with the
// given power: what this many rounds could have seen. It is NaN below two
// pairs and for a power that chance alone gives (at most alpha).
func MinEffect(n int, sd, alpha, power float64) float64 {
	if n < 2 || !(sd >= 0) || !(alpha > 0 && alpha < 1) || !(power > alpha && power < 1) {
		return math.NaN()
	}
	freedom := float64(n - 1)
	edge := StudentQuantile(1-alpha/2, freedom)
	low, high := 0.0, 1.0
	for powerAt(high, edge, freedom) < power {
		low, high = high, 2*high
	}
	for range 50 {
		if mid := (low + high) / 2; powerAt(mid, edge, freedom) < power {
			low = mid
		} else {
			high = mid
		}
	}
	return high * sd / math.Sqrt(float64(n))
}
