package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
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

func cut(series []float64, count int) [][]float64 {
	return slices.Collect(slices.Chunk(series, len(series)/count))
}

func TestResampledQuantileIsTheQuantileOfThePooledCopies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Few distinct values make ties; infinite ones are lost requests.
		value := rapid.OneOf(rapid.Float64Range(0, 10), rapid.SampledFrom([]float64{1, 2, 3, math.Inf(1)}))
		batches := rapid.SliceOfN(rapid.SliceOfN(value, 0, 400), 1, 6).Draw(t, "batches")
		times := rapid.SliceOfN(rapid.IntRange(0, 3), len(batches), len(batches)).Draw(t, "times")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		var pooled []float64
		for i, batch := range batches {
			for range times[i] {
				pooled = append(pooled, batch...)
			}
		}
		slices.Sort(pooled)
		got, want := NewBatches(batches).quantile(p, times), Quantile(pooled, p)
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("quantile %g of %v × %v = %g, want %g", p, batches, times, got, want)
		}
	})
}

func TestBatchQuantileIsThatOfAllValues(t *testing.T) {
	t.Parallel()
	values := remembering(Rand(1, "batches", 0), 5000, 0)
	b := NewBatches(cut(values, 20))
	slices.Sort(values)
	for _, p := range []float64{0, 0.5, 0.99, 1} {
		if got, want := b.Quantile(p), Quantile(values, p); got != want {
			t.Errorf("Quantile(%g) = %g, want %g", p, got, want)
		}
	}
}

// TestIntervalsCoverTheTruth draws many runs of a process whose quantiles are
// known and counts how often the 95 % interval holds them. The bounds are the
// nominal level less the known shortfall in far tails and three standard
// errors of 200 trials (1.5 points each).
func TestIntervalsCoverTheTruth(t *testing.T) {
	t.Parallel()
	const trials = 200
	for _, c := range []struct {
		count int
		phi   float64
		p     float64
		least float64
	}{
		{20, 0, 0.99, 0.88},
		{20, 0.9, 0.95, 0.90},
		{20, 0.9, 0.99, 0.86},
		{10, 0.9, 0.5, 0.90},
	} {
		held := 0
		for trial := range uint64(trials) {
			r := Rand(trial, "coverage", 0)
			lo, hi := BatchBootstrap(cut(remembering(r, 200*c.count, c.phi), c.count), c.p, 0.95, 300, r)
			if truth := NormalQuantile(c.p); lo <= truth && truth <= hi {
				held++
			}
		}
		if share := float64(held) / trials; share < c.least || share == 1 {
			t.Errorf("%d batches, correlation %g: the interval of p%g holds the truth in a share of %g, want at least %g",
				c.count, c.phi, 100*c.p, share, c.least)
		}
	}
}

func TestAnIntervalOfTooLittleExcludesNothing(t *testing.T) {
	t.Parallel()
	for name, batches := range map[string][][]float64{
		"nothing":          nil,
		"one batch":        {{1, 2, 3}},
		"one filled batch": {{1, 2, 3}, nil, nil},
	} {
		lo, hi := BatchBootstrap(batches, 0.5, 0.95, 100, Rand(1, "", 0))
		if !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
			t.Errorf("%s: (%g, %g), want (-Inf, +Inf)", name, lo, hi)
		}
	}
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

func TestTailsThatCrowdAreWorthLess(t *testing.T) {
	t.Parallel()
	even, crowded := make([][]float64, 20), make([][]float64, 20)
	for i := range even {
		for j := range 100 {
			even[i] = append(even[i], float64(j))
			crowded[i] = append(crowded[i], float64(100*i+j))
		}
	}
	if got := NewBatches(even).EffectiveN(1e9, 0.95); got != 2000 {
		t.Errorf("the same tail in every batch is worth %g, want all 2000", got)
	}
	// All 100 values above the p95 are the last batch: share 0.05, binomial
	// variance 4.75, squared deviations 19·5² + 95² over 19.
	near(t, NewBatches(crowded).EffectiveN(1e9, 0.95), 2000*4.75/((19*25+95*95)/19.0), 1e-12, "a tail in one batch")
}

// TestVerdictsAtTheLimitAreRarelyWrong holds the rule to its alpha where
// requests remember one another: the limit is the true p99, so both met and
// missed are wrong, and each should come about once in a hundred times.
// Counting violations alone would say met in more than half of these runs.
func TestVerdictsAtTheLimitAreRarelyWrong(t *testing.T) {
	t.Parallel()
	const trials, p = 400, 0.99
	limit := NormalQuantile(p)
	for _, phi := range []float64{0, 0.9, 0.98} {
		wrong := 0
		for trial := range uint64(trials) {
			values := remembering(Rand(trial, "verdict", 0), 600, phi)
			n := NewBatches(cut(values, 20)).EffectiveN(limit, p)
			above := 0
			for _, v := range values {
				if v > limit {
					above++
				}
			}
			if Decide(n, float64(above)*n/600, p, 0.01) != Undecided {
				wrong++
			}
		}
		if wrong > trials*4/100 {
			t.Errorf("correlation %g: %d of %d verdicts at the very limit, want about 2 in 100", phi, wrong, trials)
		}
	}
}

func BenchmarkInterval(b *testing.B) {
	batches := cut(remembering(Rand(1, "bench", 0), 1_000_000, 0), 20)
	b.Run("sort", func(b *testing.B) {
		for b.Loop() {
			NewBatches(batches)
		}
	})
	b.Run("resample", func(b *testing.B) {
		sorted, r := NewBatches(batches), Rand(1, "", 0)
		for b.Loop() {
			sorted.Interval(0.99, 0.95, 1000, r)
		}
	})
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
