package stats

import (
	"math"
	"sort"
)

// QuantileInterval is a confidence interval of the p-quantile behind
// independent values in ascending order, between two of the values themselves:
// each side misses the quantile with a chance of at most half of what the level
// leaves. A side that no value can be sure enough for is infinite.
//
// It is for independent runs. Requests within a run depend on one another, and
// this interval is then far too narrow; see Batches.
func QuantileInterval(sorted []float64, p, level float64) (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(1)
	if !(p > 0 && p < 1 && level > 0 && level < 1) {
		return lo, hi
	}
	n, tail := float64(len(sorted)), (1-level)/2
	// The quantile lies below the value of index i where at most i values lie
	// below the quantile, and above it where at least i + 1 do.
	unsure := sort.Search(len(sorted), func(i int) bool { return BinomialAtMost(float64(i), n, p) > tail })
	if unsure > 0 {
		lo = sorted[unsure-1]
	}
	sure := sort.Search(len(sorted), func(i int) bool { return BinomialAtLeast(float64(i+1), n, p) <= tail })
	if sure < len(sorted) {
		hi = sorted[sure]
	}
	return lo, hi
}
