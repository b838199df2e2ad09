package stats

import (
	"math"
	"slices"
)

// exactValues is the most values of both samples together that MannWhitney
// counts exactly: the number of ways to part them is still a whole float64.
const exactValues = 50

// MannWhitney is the test of whether values of a tend to be larger or smaller
// than values of b. The statistic is U of a: the number of pairs in which a is
// larger, and half of those in which the two are equal.
//
// Up to 50 values P is exact, with ties too: every way to part the midranks at
// hand into samples of these sizes is counted, and the smaller tail doubled.
// Above, it is the normal approximation with corrections for ties and
// continuity.
func MannWhitney(a, b []float64) RankTest {
	m, n := len(a), len(b)
	test := RankTest{N: m + n, P: math.NaN()}
	if m == 0 || n == 0 {
		return test
	}
	pooled := slices.Concat(a, b)
	ranks := midranks(pooled)
	least := float64(m) * float64(m+1) / 2
	test.Statistic = sum(ranks[:m]) - least
	test.Exact = m+n <= exactValues
	if test.Exact {
		test.P = twoSided(partedSums(ranks, m), int(2*(test.Statistic+least)))
		return test
	}
	pairs, all := float64(m)*float64(n), float64(m+n)
	sd := math.Sqrt(pairs / 12 * (all + 1 - cubedTies(pooled)/(all*(all-1))))
	test.P = normalTwoSided(test.Statistic-pairs/2, sd)
	return test
}

// partedSums counts, for every twice-sum, the ways to take m of the ranks that
// have it.
func partedSums(ranks []float64, m int) []float64 {
	most := len(ranks)*(len(ranks)+1) + 1
	ways := make([][]float64, m+1)
	for taken := range ways {
		ways[taken] = make([]float64, most)
	}
	ways[0][0] = 1
	for _, rank := range ranks {
		step := int(2 * rank)
		for taken := m; taken > 0; taken-- {
			for s := step; s < most; s++ {
				ways[taken][s] += ways[taken-1][s-step]
			}
		}
	}
	return ways[m]
}
