package account

import (
	"iter"
	"math"
	"slices"

	"redline/internal/judge/evidence"
	"redline/internal/judge/metric"
)

// source gives a figure's values in milliseconds, as often as it is asked, so
// that they need not be kept twice.
type source interface {
	// visit shows the values with the batch they belong to, n equal ones at
	// once.
	visit(b batches, see func(batch int, ms float32, n int))
	sample(w *workspace) sample
}

// values are those of requests, with the times by which they belong to a
// batch.
type values iter.Seq2[int64, float32]

func (v values) visit(b batches, see func(batch int, ms float32, n int)) {
	for at, ms := range v {
		see(b.of(at), ms, 1)
	}
}

func (v values) sample(w *workspace) sample { return w.sample(v) }

// lateTally are the values of a tally and those that it lacks: requests that are
// not ok and infinitely late, each as many times as it stands for.
type lateTally struct {
	tally
	late  values
	times int
}

func (c lateTally) visit(b batches, see func(batch int, ms float32, n int)) {
	c.tally.visit(b, see)
	if c.late == nil {
		return
	}
	for at, ms := range c.late {
		see(b.of(at), ms, c.times)
	}
}

// sample puts the runs together, and behind them what is infinitely late.
func (c lateTally) sample(w *workspace) sample {
	whole, space := w.runs[0][:0], w.runs[1]
	for _, r := range c.tally {
		whole, space = mergedInto(space, whole, r), whole
	}
	w.runs = [2]run{whole, space}
	w.values, w.upTo = w.values[:0], w.upTo[:0]
	sum, total := 0.0, 0
	add := func(v float32, n int) bool {
		total += n
		sum += float64(v) * float64(n)
		w.values, w.upTo = append(w.values, v), append(w.upTo, total)
		return true
	}
	whole.all(add)
	if c.late != nil {
		for _, v := range c.late {
			add(v, c.times)
		}
	}
	return sample{sorted: w.values, upTo: w.upTo, mean: sum / float64(total)}
}

// sample is a figure's values in ascending order. A float32 holds seven
// digits, one more than is ever shown.
type sample struct {
	sorted []float32
	// upTo is how many values there are up to each of the sorted ones and with
	// it; nil where each of them is one value.
	upTo []int
	mean float64
}

// workspace is memory that one sample after another is sorted in.
type workspace struct {
	values     []float32
	upTo       []int
	bits, rest []uint32
	runs       [2]run
}

// sample sorts the values. It is valid until the next one is made.
func (w *workspace) sample(from values) sample {
	w.values = w.values[:0]
	sum := 0.0
	for _, v := range from {
		w.values = append(w.values, v)
		sum += float64(v)
	}
	w.sort()
	return sample{sorted: w.values, mean: sum / float64(len(w.values))}
}

func (s sample) count() int {
	if s.upTo == nil || len(s.sorted) == 0 {
		return len(s.sorted)
	}
	return s.upTo[len(s.upTo)-1]
}

func (s sample) at(rank int) float64 {
	if s.upTo != nil {
		rank, _ = slices.BinarySearch(s.upTo, rank+1)
	}
	return float64(s.sorted[rank])
}

// quantile is Hyndman and Fan's type 7.
func (s sample) quantile(p float64) float64 {
	last := s.count() - 1
	h := min(max(p, 0), 1) * float64(last)
	low := int(h)
	a, b := s.at(low), s.at(min(low+1, last))
	if a == b || h == float64(low) {
		return a
	}
	return a + (h-float64(low))*(b-a)
}

func (s sample) above(limit float64) int {
	i, _ := slices.BinarySearchFunc(s.sorted, limit, func(v float32, limit float64) int {
		if float64(v) > limit {
			return 1
		}
		return -1
	})
	if i == 0 {
		return s.count()
	}
	if s.upTo == nil {
		return len(s.sorted) - i
	}
	return s.count() - s.upTo[i-1]
}

// trust is what a distribution needs to be called firm.
type trust struct {
	batches batches
	// sound is false where the window itself forbids any firm figure.
	sound bool
	// eventless is the share of values that stand for more than one token.
	eventless float64
}

// dist describes the sample at the percentiles given in percent, ascending.
func (s sample) dist(percentiles []float64) *metric.Dist {
	if len(s.sorted) == 0 {
		return nil
	}
	d := &metric.Dist{N: s.count(), Mean: round(s.mean), P: map[string]float64{},
		Max: round(float64(s.sorted[len(s.sorted)-1]))}
	for _, p := range percentiles {
		d.P[metric.PercentileKey(p)] = round(s.quantile(p / 100))
	}
	return d
}

// addIntervals adds the intervals of the percentiles that can have one. Which can is up to
// the number of requests and the length of the window, not to how calm it looks:
// intervals of calm windows alone would miss the truth too often. A window with a
// sign of something rarer than it can show has none.
func addIntervals(d *metric.Dist, percentiles []float64, t trust, observed func() *evidence.Sample) {
	if !t.sound || !t.batches.enough() {
		return
	}
	s := observed()
	for _, percent := range percentiles {
		p, key := percent/100, metric.PercentileKey(percent)
		// The hair's breadth forgives 1 - 0.99 being a little over 0.01.
		if _, known := d.P[key]; !known || !bears(t.eventless, percent) || s.Requests()*min(p, 1-p) < firmBeyond*(1-1e-9) || s.Sign(p) != evidence.NoSign {
			continue
		}
		q := evidence.Question{P: p, Alpha: (1 - confidence) / 2}
		lower, upper := s.Lower(q), s.Upper(q)
		if lower == 0 || upper > farthest*d.Max {
			continue
		}
		d.Firm = append(d.Firm, key)
		if d.CI == nil {
			d.CI = map[string][2]float64{}
		}
		d.CI[key] = [2]float64{round(min(lower, d.P[key])), round(max(upper, d.P[key]))}
	}
}

// sort brings the values into ascending order. None is negative or NaN, so that
// their bits have their order.
func (w *workspace) sort() {
	n := len(w.values)
	if n < radixFrom {
		slices.Sort(w.values)
		return
	}
	w.bits, w.rest = slices.Grow(w.bits[:0], n)[:n], slices.Grow(w.rest[:0], n)[:n]
	for i, v := range w.values {
		w.bits[i] = math.Float32bits(v)
	}
	w.bits, w.rest = radixSorted(w.bits, w.rest)
	for i, bits := range w.bits {
		w.values[i] = math.Float32frombits(bits)
	}
}

// digit is how many bits of a key one pass of a radix sort looks at.
const digit = 11

// radixFrom is the length from which a radix sort is faster.
const radixFrom = 512

// radixSorted brings keys into ascending order, several times faster than by
// comparison, and gives the one of the two slices that holds them. A digit in
// which all keys agree costs no pass.
func radixSorted[K uint32 | uint64](keys, spare []K) (sorted, rest []K) {
	var differ K
	for _, k := range keys {
		differ |= k ^ keys[0]
	}
	for shift := 0; differ>>shift != 0; shift += digit {
		if differ>>shift&(1<<digit-1) != 0 {
			byDigit(keys, spare, shift)
			keys, spare = spare, keys
		}
	}
	return keys, spare
}

// byDigit copies keys in the order of one digit, equal ones as they stand.
func byDigit[K uint32 | uint64](from, to []K, shift int) {
	var starts [1 << digit]int
	for _, k := range from {
		starts[k>>shift&(1<<digit-1)]++
	}
	sum := 0
	for i, n := range starts {
		starts[i] = sum
		sum += n
	}
	for _, k := range from {
		d := k >> shift & (1<<digit - 1)
		to[starts[d]] = k
		starts[d]++
	}
}

// minEndShare is the share of a figure by which an end has to differ to be stated.
const minEndShare = 0.005

// differences gives the statistics of another distribution that differ from those
// of d.
func differences(d, other *metric.Dist) (list map[string]float64) {
	if other == nil {
		return nil
	}
	for _, key := range append(d.Keys(), "mean", "max") {
		own, _ := d.Statistic(key)
		if v, ok := other.Statistic(key); ok && math.Abs(v-own) > minEndShare*own {
			if list == nil {
				list = map[string]float64{}
			}
			list[key] = v
		}
	}
	return list
}
