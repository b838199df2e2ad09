package metric

import (
	"fmt"
	"math"
	"slices"

	"redline/internal/stats"
)

// Batches in time: requests of one run are not independent, so whole stretches
// of the window are drawn again, never single requests.
const (
	mostBatches   = 40 // beyond that, longer ones forget better than more ones help
	fewestBatches = 10 // fewer do not show their own spread: nothing is firm
	resamples     = 1000
	confidence    = 0.95
	// firmBeyond is how many independent values must be expected beyond a
	// percentile for it to be firm: 500 of them for a p99.
	firmBeyond = 5
)

// batches cuts the window into stretches of equal length.
type batches struct {
	start, end int64
	took       float64 // the mean request
	count      int
	// draws holds, resample after resample, how often each batch is drawn;
	// nothing where the batches are too few.
	draws []uint8
	// tails are those found so far, by their chance: few are asked for, and
	// many times.
	tails map[float64]float64
}

// evenly cuts the window into a given number of stretches.
func evenly(start, end int64, count int) batches {
	return batches{start: start, end: end, count: count}
}

// newBatches makes batches at least twice as long as the mean request.
func newBatches(start, end int64, meanE2E float64, seed uint64) batches {
	count := mostBatches
	if meanE2E > 0 {
		count = int(min(float64(end-start)/(2*meanE2E), mostBatches))
	}
	b := batches{start: start, end: end, took: meanE2E, count: max(count, 1), tails: map[float64]float64{}}
	if !b.enough() {
		return b
	}
	r := stats.Rand(seed, "metric batches", 0)
	b.draws = make([]uint8, resamples*b.count)
	for i := range resamples {
		drawn := b.draws[i*b.count : (i+1)*b.count]
		for range b.count {
			drawn[r.IntN(b.count)]++
		}
	}
	return b
}

// tail is the share of resamples that an interval leaves out at an end where
// the truth may lie outside it with chance alpha. It is smaller than alpha, as
// few batches make the plain percentile interval too narrow, by the ratio of
// Student's t to the normal quantile.
func (b batches) tail(alpha float64) float64 {
	known, ok := b.tails[alpha]
	if !ok {
		k := float64(b.count)
		known = stats.NormalCDF(-math.Sqrt(k/(k-1)) * stats.StudentQuantile(1-alpha, k-1))
		b.tails[alpha] = known
	}
	return known
}

// tooShort says how long the window is against what batches must last. Rounded
// down, so that what falls short never looks long enough.
func (b batches) tooShort() string {
	times := math.Floor(10*float64(b.end-b.start)/b.took) / 10
	return fmt.Sprintf("%g times the mean e2e, %d needed", times, 2*fewestBatches)
}

// enough reports whether the batches show their own spread.
func (b batches) enough() bool { return b.count >= fewestBatches }

// of gives the batch that a time of the window falls into.
func (b batches) of(at int64) int {
	i := int(float64(at-b.start) / float64(b.end-b.start) * float64(b.count))
	return min(max(i, 0), b.count-1)
}

// ratio is the interval of Σ above / Σ below over whole batches, outside which
// the truth may lie with chance alpha at each end; too few exclude nothing.
func (b batches) ratio(above, below []float64, alpha float64) (lo, hi float64) {
	if !b.enough() {
		return math.Inf(-1), math.Inf(1)
	}
	figures := make([]float64, 0, resamples)
	for i := range resamples {
		drawn := b.draws[i*b.count : (i+1)*b.count]
		num, den := 0.0, 0.0
		for j, times := range drawn {
			num += float64(times) * above[j]
			den += float64(times) * below[j]
		}
		if den > 0 {
			figures = append(figures, num/den)
		}
	}
	if len(figures) == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	slices.Sort(figures)
	tail := b.tail(alpha)
	return stats.Quantile(figures, tail), stats.Quantile(figures, 1-tail)
}

func floats(counts []int) []float64 {
	out := make([]float64, len(counts))
	for i, c := range counts {
		out[i] = float64(c)
	}
	return out
}
