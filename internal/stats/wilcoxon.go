package stats

import "math"

// exactPairs is the most pairs that SignedRank counts exactly. From
// there on the normal approximation is off by less than a hundredth.
const exactPairs = 50

// SignedRank is Wilcoxon's signed-rank test of whether paired differences lie
// symmetrically around 0. Differences of 0 are left out, as Wilcoxon did, and
// N counts the others. The statistic is the sum of the midranks of the positive
// differences.
//
// Up to 50 differences P is exact, with ties too: every assignment of signs to
// the midranks at hand is counted. Above, it is the normal approximation with
// corrections for ties and continuity.
func SignedRank(differences []float64) RankTest {
	var sizes, signs []float64
	for _, d := range differences {
		if d != 0 && !math.IsNaN(d) {
			sizes = append(sizes, math.Abs(d))
			signs = append(signs, d)
		}
	}
	n := len(sizes)
	if n == 0 {
		return RankTest{P: math.NaN()}
	}
	ranks := midranks(sizes)
	positive := 0.0
	for i, rank := range ranks {
		if signs[i] > 0 {
			positive += rank
		}
	}
	test := RankTest{N: n, Statistic: positive, Exact: n <= exactPairs}
	if test.Exact {
		test.P = twoSided(signedSums(ranks), int(2*positive))
		return test
	}
	k := float64(n)
	sd := math.Sqrt((k*(k+1)*(2*k+1) - cubedTies(sizes)/2) / 24)
	test.P = normalTwoSided(positive-k*(k+1)/4, sd)
	return test
}

// signedSums is the distribution of twice the sum of the ranks that a fair
// coin picks. Midranks are whole or half, so twice their sum is whole.
func signedSums(ranks []float64) []float64 {
	chances := make([]float64, len(ranks)*(len(ranks)+1)+1)
	chances[0] = 1
	for _, rank := range ranks {
		step := int(2 * rank)
		for s := len(chances) - 1; s >= 0; s-- {
			chances[s] /= 2
			if s >= step {
				chances[s] += chances[s-step] / 2
			}
		}
	}
	return chances
}
