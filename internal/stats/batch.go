package stats

import (
	"math"
	"slices"
)

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

// EffectiveN is how many independent samples n are worth, for a limit that
// sizes[i] values of batch i were compared with and violations[i] broke: n
// times the variance that independent violations would have, over the variance
// seen between batches; at most n.
//
// Counts without a spread (no violation, nothing but violations, fewer than
// two batches) cannot show any dependence, so n is returned. Such an answer is
// an upper bound.
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
