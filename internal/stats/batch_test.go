package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// remembering is a stationary normal series in which neighbours are correlated
// by phi: what a queue does to latencies.
func remembering(r *rand.Rand, n int, phi float64) []float64 {
	series := make([]float64, n)
	v := r.NormFloat64()
	for i := range series {
		v = phi*v + math.Sqrt(1-phi*phi)*r.NormFloat64()
		series[i] = v
	}
	return series
}

func TestEffectiveN(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what              string
		violations, sizes []int
		want              float64
	}{
		// Share 0.1: the binomial variance is 9 a batch.
		{"spread as by chance: deviations of 3", []int{7, 13, 7, 13}, []int{100, 100, 100, 100}, 400 * 9 / 12.0},
		{"more even than by chance", []int{10, 10, 10, 10}, []int{100, 100, 100, 100}, 400},
		{"all in one batch", []int{40, 0, 0, 0}, []int{100, 100, 100, 100}, 400 * 9 / 400.0},
		{"in proportion to uneven batches", []int{5, 20, 15}, []int{50, 200, 150}, 400},
		{"no violation", []int{0, 0}, []int{100, 100}, 200},
		{"nothing but violations", []int{100, 100}, []int{100, 100}, 200},
		{"one batch", []int{5}, []int{100}, 100},
	} {
		n := 0
		for _, size := range c.sizes {
			n += size
		}
		near(t, EffectiveN(n, c.violations, c.sizes), c.want, 1e-12, "%s", c.what)
	}
}

// TestLeastEffectiveN: violations come in stretches of four batches, which
// batches joined two by two show more clearly, and four by four most. From
// numpy 2:
//
//	v = np.array([9,8,7,9,0,1,0,0,8,9,7,8,1,0,0,1,9,9,8,7]); s = np.full(20, 100)
//	def eff(v, s):
//	    p = v.sum()/s.sum(); b = ((v-s*p)**2).sum()/(len(v)-1)
//	    return s.mean()*p*(1-p)/b*s.sum()
//	[eff(v.reshape(-1,k).sum(1), s.reshape(-1,k).sum(1)) for k in (1,2,4)]
func TestLeastEffectiveN(t *testing.T) {
	t.Parallel()
	violations := []int{9, 8, 7, 9, 0, 1, 0, 0, 8, 9, 7, 8, 1, 0, 0, 1, 9, 9, 8, 7}
	sizes := slices.Repeat([]int{100}, 20)
	for _, tt := range []struct {
		fewest int
		want   float64
	}{{20, 605.4463}, {10, 292.1291}, {5, 131.5043}, {0, 131.5043}} {
		if got := LeastEffectiveN(2000, violations, sizes, tt.fewest); math.Abs(got-tt.want) > 1e-3 {
			t.Errorf("with at least %d batches: %.4f, want %.4f", tt.fewest, got, tt.want)
		}
	}
	if got := LeastEffectiveN(300, []int{0, 0, 0}, []int{100, 100, 100}, 1); got != 300 {
		t.Errorf("without a violation: %g, want 300", got)
	}
}
