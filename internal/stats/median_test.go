package stats

import (
	"math"
	"slices"
	"testing"
)

// TestMedianIntervalHolds: over many draws the interval holds the median as often as it
// says, and at least at the level where there are values enough.
func TestMedianIntervalHolds(t *testing.T) {
	for _, n := range []int{1, 2, 5, 6, 9, 20} {
		held, stated := 0, 0.0
		const draws = 4000
		for i := range draws {
			r := Rand(1, "median interval", uint64(i))
			values := make([]float64, n)
			for k := range values {
				values[k] = r.NormFloat64()
			}
			lo, hi, confidence := MedianInterval(values, 0.95)
			if !slices.Contains(values, lo) || !slices.Contains(values, hi) {
				t.Fatalf("%v to %v of %v", lo, hi, values)
			}
			stated = confidence
			if lo <= 0 && 0 <= hi {
				held++
			}
		}
		if got := float64(held) / draws; math.Abs(got-stated) > 0.02 || n >= 6 && stated < 0.95 {
			t.Errorf("n = %d: held in %g, stated %g", n, got, stated)
		}
	}
}
