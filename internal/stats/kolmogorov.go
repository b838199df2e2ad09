package stats

import (
	"math"
	"slices"
)

// exactLattice is the largest product of two sample sizes for which the paths
// through their lattice are counted, in a few milliseconds.
const exactLattice = 1_000_000

// KolmogorovSmirnov is the two-sample test of whether a and b come from one
// distribution, whatever the difference. The statistic is the largest distance
// between their empirical distributions.
//
// Up to a million pairs P is exact, with ties too: it is the share of all
// orders in which the pooled values at hand can fall to the two samples that
// reach this distance. Above, it is Kolmogorov's limit.
func KolmogorovSmirnov(a, b []float64) RankTest {
	m, n := len(a), len(b)
	test := RankTest{N: m + n, P: math.NaN()}
	if m == 0 || n == 0 {
		return test
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	pooled := slices.Sorted(slices.Values(slices.Concat(a, b)))
	// A NaN has no place among the others, and sorts first.
	if math.IsNaN(pooled[0]) {
		return test
	}
	far := farthestApart(a, b)
	pairs := float64(m) * float64(n)
	test.Statistic = float64(far) / pairs
	test.Exact = pairs <= exactLattice
	if test.Exact {
		test.P = reaching(far, m, n, pooled)
	} else {
		test.P = kolmogorovTail(test.Statistic * math.Sqrt(pairs/float64(m+n)))
	}
	return test
}

// farthestApart is the largest distance between two empirical distributions,
// in units of one over the product of the sample sizes: a whole number, which
// needs no tolerance when it is compared.
func farthestApart(a, b []float64) int {
	far, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		at := min(a[i], b[j])
		for i < len(a) && a[i] <= at {
			i++
		}
		for j < len(b) && b[j] <= at {
			j++
		}
		far = max(far, apart(i, j, len(a), len(b)))
	}
	return far
}

func apart(i, j, m, n int) int {
	return max(i*n-j*m, j*m-i*n)
}

// reaching is the share of lattice paths from (0, 0) to (m, n) that somewhere
// are at least far apart. Every term is positive, so a tiny share keeps its
// digits. Inside a group of equal values the two distributions have no
// distance to compare, so only the end of a group counts.
func reaching(far, m, n int, pooled []float64) float64 {
	if far == 0 {
		return 1
	}
	row := make([]float64, n+1)
	for i := 0; i <= m; i++ {
		for j := 0; j <= n; j++ {
			k := i + j
			ends := k > 0 && (k == m+n || pooled[k-1] != pooled[k])
			switch {
			case ends && apart(i, j, m, n) >= far:
				row[j] = 1
			case k == 0:
				row[j] = 0
			case j == 0:
				// Above it in the same column, where row[0] still stands.
			case i == 0:
				row[j] = row[j-1]
			default:
				row[j] = (float64(i)*row[j] + float64(j)*row[j-1]) / float64(k)
			}
		}
	}
	return row[n]
}

// kolmogorovTail is Kolmogorov's limit of P(√n·D > z). The alternating series
// is of no use near 0, where its terms do not shrink; there the theta function
// is turned over.
func kolmogorovTail(z float64) float64 {
	if z <= 0 {
		return 1
	}
	if z < 1 {
		total := 0.0
		for k := 1.0; k < 20; k += 2 {
			total += math.Exp(-k * k * math.Pi * math.Pi / (8 * z * z))
		}
		return 1 - math.Sqrt(2*math.Pi)/z*total
	}
	total, sign := 0.0, 1.0
	for k := 1.0; k < 20; k++ {
		total += sign * math.Exp(-2*k*k*z*z)
		sign = -sign
	}
	return min(2*total, 1)
}
