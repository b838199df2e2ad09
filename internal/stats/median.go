package stats

import "slices"

// MedianInterval holds the median of the distribution that values come from, with at
// least the level where there are enough of them, by their ranks alone. Of few values
// it is all of them; confidence is what the interval really has.
func MedianInterval(values []float64, level float64) (lo, hi, confidence float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0, 0, 0
	}
	// Beyond the rank on either side lie as many values as heads of n coins.
	at := func(rank int) float64 { return 1 - 2*BinomialAtMost(float64(rank), float64(n), 0.5) }
	rank := 0
	for 2*(rank+1) < n && at(rank+1) >= level {
		rank++
	}
	return sorted[rank], sorted[n-1-rank], at(rank)
}
