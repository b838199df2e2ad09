package metric

import (
	"iter"
	"math"
	"slices"

	"redline/internal/stats"
)

// values are one figure's values in milliseconds with the times by which they
// belong to a batch. They are walked several times instead of being kept
// twice.
type values iter.Seq2[int64, float32]

// sample is a figure's values in ascending order. A float32 holds seven
// digits, one more than is ever shown, in the four bytes that a long run can
// afford for every gap between tokens.
type sample struct {
	from   values
	sorted []float32
	mean   float64
}

// workspace is memory that one sample after another is sorted in.
type workspace struct{ values, spare []float32 }

// sample sorts the values. It is valid until the next one is made.
func (w *workspace) sample(from values) sample {
	w.values = w.values[:0]
	sum := 0.0
	for _, v := range from {
		w.values = append(w.values, v)
		sum += float64(v)
	}
	w.sort()
	return sample{from: from, sorted: w.values, mean: sum / float64(len(w.values))}
}

// quantile is Hyndman and Fan's type 7.
func (s sample) quantile(p float64) float64 {
	h := min(max(p, 0), 1) * float64(len(s.sorted)-1)
	low := int(h)
	a, b := float64(s.sorted[low]), float64(s.sorted[min(low+1, len(s.sorted)-1)])
	if a == b || h == float64(low) {
		return a
	}
	return a + (h-float64(low))*(b-a)
}

// beyond counts, by batch, all values and those above each of the ascending
// limits.
func (s sample) beyond(b batches, limits []float64) (sizes []int, above [][]int) {
	sizes = make([]int, b.count)
	above = make([][]int, len(limits))
	for i := range above {
		above[i] = make([]int, b.count)
	}
	for at, v := range s.from {
		batch := b.of(at)
		sizes[batch]++
		for i, limit := range limits {
			if float64(v) <= limit {
				break
			}
			above[i][batch]++
		}
	}
	return sizes, above
}

// trust is what a distribution needs to be called firm.
type trust struct {
	batches batches
	// sound is false where the window itself forbids any firm figure.
	sound bool
	// coalesced is the share of values whose time is only bounded.
	coalesced float64
}

// dist describes the sample at the percentiles given in percent, ascending.
func (s sample) dist(percentiles []float64, t trust) *Dist {
	if len(s.sorted) == 0 {
		return nil
	}
	d := &Dist{N: len(s.sorted), Mean: round(s.mean), P: map[string]float64{},
		Max: round(float64(s.sorted[len(s.sorted)-1]))}
	limits := make([]float64, len(percentiles))
	for i, p := range percentiles {
		limits[i] = s.quantile(p / 100)
		d.P[PercentileKey(p)] = round(limits[i])
	}
	if !t.sound || !t.batches.enough() {
		return d
	}
	sizes, above := s.beyond(t.batches, limits)
	for i, percent := range percentiles {
		p := percent / 100
		if t.coalesced >= (1-p)/2 || !firmTail(stats.LeastEffectiveN(d.N, above[i], sizes, fewestBatches), p) {
			continue
		}
		key := PercentileKey(percent)
		d.Firm = append(d.Firm, key)
		lo, hi := s.interval(t.batches, p, sizes, above[i])
		if d.CI == nil {
			d.CI = map[string][2]float64{}
		}
		d.CI[key] = [2]float64{round(min(lo, limits[i])), round(max(hi, limits[i]))}
	}
	return d
}

// firmTail asks for enough independent values on both sides of a percentile.
func firmTail(effective, p float64) bool {
	// The hair's breadth forgives 1 - 0.99 being a little over 0.01.
	return effective*min(p, 1-p) >= firmBeyond*(1-1e-9)
}

// interval bootstraps the share of values above the percentile over whole
// batches and reads the values off at the shares that mirror it: a resample
// with more values above would have had its percentile higher up.
func (s sample) interval(b batches, p float64, sizes, above []int) (lo, hi float64) {
	total := 0
	for _, n := range above {
		total += n
	}
	share := float64(total) / float64(len(s.sorted))
	shareLo, shareHi := b.ratio(floats(above), floats(sizes), (1-confidence)/2)
	return s.quantile(p + shareLo - share), s.quantile(p + shareHi - share)
}

// radixFrom is the length from which a radix sort is faster.
const radixFrom = 512

// sort brings the values into ascending order; NaN must not occur. Many are
// sorted by digits of eleven bits, several times faster than by comparison.
func (w *workspace) sort() {
	if len(w.values) < radixFrom {
		slices.Sort(w.values)
		return
	}
	from, to := w.values, slices.Grow(w.spare[:0], len(w.values))[:len(w.values)]
	for shift := 0; shift < 33; shift += 11 {
		var starts [1 << 11]int
		for _, x := range from {
			starts[ordered(x)>>shift&0x7ff]++
		}
		sum := 0
		for i, n := range starts {
			starts[i] = sum
			sum += n
		}
		for _, x := range from {
			digit := ordered(x) >> shift & 0x7ff
			to[starts[digit]] = x
			starts[digit]++
		}
		from, to = to, from
	}
	w.values, w.spare = from, to
}

// ordered maps a float to an integer of the same order.
func ordered(x float32) uint32 {
	bits := math.Float32bits(x)
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}
