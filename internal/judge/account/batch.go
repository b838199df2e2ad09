package account

import (
	"fmt"
	"math"
)

// Batches in time: requests of one run are not independent, so a window must hold
// several times what one of them takes.
const (
	maxBatches = 40   // that gaps are counted by
	minBatches = 10   // fewer do not show how they depend on one another: nothing is firm
	resamples  = 1000 // of residuals, for slopes
	confidence = 0.95 // of intervals
	// firmBeyond is how many requests must be expected beyond a percentile for it to
	// have an interval: 500 of them for a p99.
	firmBeyond = 5
	// farthest is how far above the largest value an interval may end to say anything.
	farthest = 3
)

// batches cuts the window into stretches of equal length.
type batches struct {
	start, end int64
	took       float64 // the mean request
	count      int
}

// evenBatches cuts the window into a given number of stretches.
func evenBatches(start, end int64, count int) batches {
	return batches{start: start, end: end, count: count}
}

// newBatches makes batches at least twice as long as the mean request.
func newBatches(start, end int64, meanE2E float64) batches {
	count := maxBatches
	if meanE2E > 0 {
		count = int(min(float64(end-start)/(2*meanE2E), maxBatches))
	}
	return batches{start: start, end: end, took: meanE2E, count: max(count, 1)}
}

// tooShort says how long the window is against what batches must last. Rounded
// down, so that what falls short never looks long enough.
func (b batches) tooShort() string {
	times := math.Floor(10*float64(b.end-b.start)/b.took) / 10
	return fmt.Sprintf("%g × the mean e2e where %d × are needed", times, 2*minBatches)
}

func (b batches) enough() bool { return b.count >= minBatches }

// of gives the batch that a time of the window falls into.
func (b batches) of(at int64) int {
	i := int(float64(at-b.start) / float64(b.end-b.start) * float64(b.count))
	return min(max(i, 0), b.count-1)
}
