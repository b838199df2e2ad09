package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Batches are the values of one figure, cut into batches in time. Requests of
// one run are not independent (a queue remembers), so what is drawn again in
// a bootstrap is a whole batch, never a single value. Values may be +Inf, for
// a request that never came back, but not NaN.
//
// The pooled values are sorted once. At every stride-th place of that order
// the table notes how many values of each batch lie before it, so the quantile
// of one resample is a search in the table and a short walk, not a sort.
type Batches struct {
	count  int
	sizes  []int
	pooled []member
	before [][]int
}

type member struct {
	value float64
	batch int
}

const stride = 128

// NewBatches pools and sorts the batches. An empty batch counts as one: a
// stretch of time in which nothing came is drawn again like any other.
func NewBatches(batches [][]float64) *Batches {
	b := &Batches{count: len(batches), sizes: make([]int, len(batches))}
	total := 0
	for i, batch := range batches {
		b.sizes[i] = len(batch)
		total += len(batch)
	}
	b.pooled = make([]member, 0, total)
	for i, batch := range batches {
		for _, v := range batch {
			b.pooled = append(b.pooled, member{v, i})
		}
	}
	slices.SortFunc(b.pooled, func(x, y member) int { return cmp.Compare(x.value, y.value) })
	seen := make([]int, len(batches))
	for i, m := range b.pooled {
		if i%stride == 0 {
			b.before = append(b.before, slices.Clone(seen))
		}
		seen[m.batch]++
	}
	return b
}

// Quantile is the type 7 quantile of all values.
func (b *Batches) Quantile(p float64) float64 {
	once := make([]int, b.count)
	for i := range once {
		once[i] = 1
	}
	return b.quantile(p, once)
}

// Interval is a confidence interval of the p-quantile at the given level, by
// resampling whole batches. It is (-Inf, +Inf) where fewer than two batches
// hold values.
func (b *Batches) Interval(p, level float64, resamples int, r *rand.Rand) (lo, hi float64) {
	filled := 0
	for _, n := range b.sizes {
		if n > 0 {
			filled++
		}
	}
	if filled < 2 || !(p >= 0 && p <= 1) {
		return math.Inf(-1), math.Inf(1)
	}
	figures := make([]float64, 0, max(resamples, 0))
	times := make([]int, b.count)
	for range resamples {
		clear(times)
		for range b.count {
			times[r.IntN(b.count)]++
		}
		if v := b.quantile(p, times); !math.IsNaN(v) {
			figures = append(figures, v)
		}
	}
	return spread(figures, level, b.count)
}

// quantile is the type 7 quantile of the multiset in which batch i comes
// times[i] times.
func (b *Batches) quantile(p float64, times []int) float64 {
	n := dot(b.sizes, times)
	below, above, share, ok := ranks(n, p)
	if !ok {
		return math.NaN()
	}
	// The last noted place with at most `below` values before it.
	at, _ := slices.BinarySearchFunc(b.before, below+1, func(before []int, rank int) int {
		return cmp.Compare(dot(before, times), rank)
	})
	at = max(at-1, 0)
	passed := dot(b.before[at], times)
	low := math.NaN()
	for _, m := range b.pooled[at*stride:] {
		passed += times[m.batch]
		if math.IsNaN(low) && passed > below {
			low = m.value
		}
		if passed > above {
			return between(low, m.value, share)
		}
	}
	return math.NaN()
}

func dot(counts, times []int) int {
	total := 0
	for i, n := range counts {
		total += n * times[i]
	}
	return total
}

// spread is the percentile interval of bootstrap figures drawn from the given
// number of independent pieces. Few pieces make the plain percentile interval
// too narrow, so its tails are taken further out by the ratio of Student's t
// to the normal quantile (Hesterberg's expanded interval).
func spread(figures []float64, level float64, pieces int) (lo, hi float64) {
	if len(figures) == 0 || pieces < 2 || !(level > 0 && level < 1) {
		return math.Inf(-1), math.Inf(1)
	}
	slices.Sort(figures)
	k := float64(pieces)
	tail := NormalCDF(-math.Sqrt(k/(k-1)) * StudentQuantile((1+level)/2, k-1))
	return Quantile(figures, tail), Quantile(figures, 1-tail)
}

// BatchBootstrap is the interval of one quantile of values that are used once.
func BatchBootstrap(batches [][]float64, p, level float64, resamples int, r *rand.Rand) (lo, hi float64) {
	return NewBatches(batches).Interval(p, level, resamples, r)
}

// EffectiveN is how many independent samples n are worth, for a limit that
// sizes[i] values of batch i were held against and violations[i] broke: n
// times the variance that independent violations would have, over the variance
// seen between batches; at most n.
//
// Counts without a spread (no violation, nothing but violations, fewer than
// two batches) cannot show any dependence, so n is returned. Such an answer is
// an upper bound; where the values are at hand, Batches.EffectiveN looks at
// the crowding of their own tail instead.
func EffectiveN(n int, violations, sizes []int) float64 {
	total, broken := 0, 0
	for i, size := range sizes {
		total += size
		broken += violations[i]
	}
	if len(sizes) < 2 || broken == 0 || broken == total {
		return float64(n)
	}
	share := float64(broken) / float64(total)
	between := 0.0
	for i, size := range sizes {
		d := float64(violations[i]) - float64(size)*share
		between += d * d
	}
	between /= float64(len(sizes) - 1)
	binomial := float64(total) / float64(len(sizes)) * share * (1 - share)
	if between <= binomial {
		return float64(n)
	}
	return float64(n) * binomial / between
}

// LeastEffectiveN is the smallest EffectiveN over the batches as they are and
// as they are joined two by two, while at least fewest of them are left. Where
// violations depend on one another over more than a batch, short batches look
// independent and only the longer ones show it.
func LeastEffectiveN(n int, violations, sizes []int, fewest int) float64 {
	least := EffectiveN(n, violations, sizes)
	for fewest = max(fewest, 2); ; {
		violations, sizes = joined(violations), joined(sizes)
		if len(sizes) < fewest {
			return least
		}
		least = min(least, EffectiveN(n, violations, sizes))
	}
}

// joined adds neighbours up two by two; a last one without a neighbour stays.
func joined(counts []int) []int {
	pairs := make([]int, (len(counts)+1)/2)
	for i, n := range counts {
		pairs[i/2] += n
	}
	return pairs
}

// EffectiveN is how many independent samples the values are worth for the
// question whether their p-quantile lies below limit. Where the limit is
// broken less often than 1 − p, its few violations say little about how
// violations crowd together; then the values above their own p-quantile, of
// which there are enough, are counted in their place.
func (b *Batches) EffectiveN(limit, p float64) float64 {
	limit = min(limit, b.Quantile(p))
	above, _ := slices.BinarySearchFunc(b.pooled, limit, func(m member, limit float64) int {
		if m.value <= limit {
			return -1
		}
		return 1
	})
	violations := make([]int, b.count)
	for _, m := range b.pooled[above:] {
		violations[m.batch]++
	}
	return EffectiveN(len(b.pooled), violations, b.sizes)
}
