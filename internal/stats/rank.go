package stats

import (
	"cmp"
	"math"
	"slices"
)

// RankTest is the answer of a test on ranks or on empirical distributions.
type RankTest struct {
	// N counts the values that took part.
	N         int
	Statistic float64
	// P is the two-sided chance of a statistic at least as far out, NaN where
	// too few values took part for any statement.
	P float64
	// Exact says that P was counted over all arrangements of the values at
	// hand, ties included; otherwise it is the large-sample approximation.
	Exact bool
}

// midranks are the ranks of values from 1, where equal values share the mean
// of the ranks that they take up.
func midranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to+1) / 2
		}
		from = to
	}
	return ranks
}

// tieSizes are the sizes of the groups of equal values, singles included.
func tieSizes(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	var sizes []float64
	for i, v := range sorted {
		if i > 0 && v == sorted[i-1] {
			sizes[len(sizes)-1]++
		} else {
			sizes = append(sizes, 1)
		}
	}
	return sizes
}

// cubedTies is the sum of t³ − t over the groups of t equal values: how much
// ties take from the variance of a rank sum.
func cubedTies(values []float64) float64 {
	total := 0.0
	for _, t := range tieSizes(values) {
		total += t*t*t - t
	}
	return total
}

// twoSided doubles the smaller of the two tails of a discrete distribution at
// the place at, which both tails include.
func twoSided(chances []float64, at int) float64 {
	below, above := sum(chances[:at+1]), sum(chances[at:])
	return min(2*min(below, above)/sum(chances), 1)
}

// normalTwoSided is the two-sided chance of a statistic that lies off its mean
// by distance, with Yates's half step towards the mean, because the statistic
// moves in whole steps. Without any spread there is no evidence.
func normalTwoSided(distance, sd float64) float64 {
	if !(sd > 0) {
		return 1
	}
	return 2 * NormalCDF(-max(math.Abs(distance)-0.5, 0)/sd)
}
