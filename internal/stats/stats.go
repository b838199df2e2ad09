// Package stats is the arithmetic of chance: seeded streams of random numbers
// and the distributions drawn from them, exact quantiles, binomial tails,
// intervals and effective sample sizes from batches in time, and tests for a
// series that settles or grows. It takes and gives plain numbers; it knows no
// request, no objective and no clock.
//
// A figure that cannot be computed (the mean of nothing) is NaN; an interval
// that cannot be computed is (-Inf, +Inf), the one that excludes nothing.
package stats

import "math"

// Mean is the arithmetic mean, NaN for no values. It sums with compensation,
// so that a million nanosecond stamps lose nothing.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return sum(values) / float64(len(values))
}

// Variance is the sample variance (divisor n − 1), NaN below two values.
func Variance(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	mean := Mean(values)
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return squares / float64(len(values)-1)
}

// sum is Neumaier's compensated sum. An infinite value makes the compensation
// meaningless, so it is then left out.
func sum(values []float64) float64 {
	total, lost := 0.0, 0.0
	for _, v := range values {
		t := total + v
		if math.Abs(total) >= math.Abs(v) {
			lost += (total - t) + v
		} else {
			lost += (v - t) + total
		}
		total = t
	}
	if math.IsInf(total, 0) || math.IsNaN(total) {
		return total
	}
	return total + lost
}

// Quantile is the p-quantile (0 ≤ p ≤ 1) of values in ascending order by
// Hyndman and Fan's type 7, the definition of numpy and R. It is NaN for no
// values or a p outside [0, 1].
func Quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	h := p * float64(len(sorted)-1)
	below := int(math.Floor(h))
	return interpolate(sorted[below], sorted[min(below+1, len(sorted)-1)], h-math.Floor(h))
}

// interpolate interpolates linearly. Equal ends and a zero share are answered
// first because infinite ends, which stand for requests that never came back,
// have no difference.
func interpolate(low, high, share float64) float64 {
	if low == high || share == 0 {
		return low
	}
	return low + share*(high-low)
}

// Finite is a number that a document can carry, nil for any other.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
