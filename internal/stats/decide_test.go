package stats

import (
	"math"
	"testing"
)

// smallest finds, by stepping, how few samples show a percentile met in spite
// of t violations.
func smallest(p float64, t, from int) int {
	for n := from; ; n++ {
		if BinomialAtMost(float64(t), float64(n), 1-p) <= 0.01 {
			return n
		}
	}
}

// TestSamplesThatDecide holds the rule to the sample sizes that MLPerf's
// formula gives, for 0, 1, 2, 5 and 10 violations.
func TestSamplesThatDecide(t *testing.T) {
	t.Parallel()
	violations := []int{0, 1, 2, 5, 10}
	for p, want := range map[float64][]int{
		0.99: {459, 662, 838, 1307, 2010},
		0.95: {90, 130, 165, 259, 398},
		0.90: {44, 64, 81, 127, 197},
	} {
		for i, v := range violations {
			if got := smallest(p, v, v+1); got != want[i] {
				t.Errorf("p%g with %d violations: %d samples, want %d", 100*p, v, got, want[i])
			}
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		n, t float64
		want bool
	}{
		{"no samples", 0, 0, false},
		{"one sample short of enough", 458, 0, false},
		{"enough", 459, 0, true},
		{"as many violations as allowed", 10000, 100, false},
		{"half of those allowed", 10000, 50, true},
		{"twice those allowed", 10000, 200, true},
		{"a fraction of a violation still decides", 600, 0.25, true},
		{"nothing but violations", 10, 10, true},
		{"an unknown sample size", math.NaN(), 0, false},
	} {
		if got := isDecided(c.n, c.t, 0.99, 0.01); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

func TestNeededIsTheSmallestThatDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ p, share float64 }{
		{0.99, 0}, {0.95, 0}, {0.9, 0}, {0.999, 0}, {0.99, 0.002}, {0.99, 0.0069}, {0.99, 0.0141}, {0.99, 0.05}, {0.9, 0.5},
	} {
		n, ok := samplesNeeded(c.p, c.share, 0.01)
		if !ok || !isDecided(float64(n), c.share*float64(n), c.p, 0.01) {
			t.Errorf("Needed(%g, %g) = %d, %t, which does not decide", c.p, c.share, n, ok)
		}
		for fewer := range n {
			if isDecided(float64(fewer), c.share*float64(fewer), c.p, 0.01) {
				t.Errorf("Needed(%g, %g) = %d, but %d decide", c.p, c.share, n, fewer)
				break
			}
		}
	}
	if n, _ := samplesNeeded(0.99, 0, 0.01); n != 459 {
		t.Errorf("Needed(0.99, 0) = %d, want 459", n)
	}
}

func TestNeededIsSilentAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0.0071, 0.01, 0.0139, -0.1, 1.1, math.NaN()} {
		if n, ok := samplesNeeded(0.99, share, 0.01); ok {
			t.Errorf("Needed(0.99, %g) = %d, want none", share, n)
		}
	}
}

func TestMore(t *testing.T) {
	t.Parallel()
	type answer struct {
		more int
		ok   bool
	}
	for _, c := range []struct {
		what       string
		n          int
		effective  float64
		violations int
		want       answer
	}{
		{"independent, none broken", 400, 400, 0, answer{59, true}},
		{"each two worth one", 400, 200, 0, answer{518, true}},
		{"already decided", 500, 500, 0, answer{0, true}},
		{"at the limit", 1000, 1000, 10, answer{0, false}},
		{"nothing yet", 0, 0, 0, answer{0, false}},
	} {
		more, ok := MoreNeeded(c.n, c.effective, c.violations, 0.99, 0.01)
		if got := (answer{more, ok}); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

func TestTailsAtTheEdges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"at most fewer than none", BinomialAtMost(-1, 10, 0.1), 0},
		{"at most all", BinomialAtMost(10, 10, 0.1), 1},
		{"at most none, certain", BinomialAtMost(0, 10, 1), 0},
		{"at most none, impossible", BinomialAtMost(0, 10, 0), 1},
		{"at least none", BinomialAtLeast(0, 10, 0.1), 1},
		{"at least more than all", BinomialAtLeast(11, 10, 0.1), 0},
		{"at least one, impossible", BinomialAtLeast(1, 10, 0), 0},
		{"at least all, certain", BinomialAtLeast(10, 10, 1), 1},
		{"beta below its range", regIncBeta(2, 3, -1), 0},
		{"beta above its range", regIncBeta(2, 3, 2), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: %g, want %g", c.what, c.got, c.want)
		}
	}
	for what, v := range map[string]float64{
		"beta of a negative parameter": regIncBeta(-1, 1, 0.5),
		"beta of an infinite one":      regIncBeta(math.Inf(1), 1, 0.5),
		"a chance above 1":             BinomialAtMost(1, 10, 1.5),
		"an unknown count":             BinomialAtLeast(math.NaN(), 10, 0.5),
		"Student's t at 1":             StudentQuantile(1, 5),
		"the mean of nothing":          Mean(nil),
		"the variance of one value":    Variance([]float64{1}),
		"a quantile of nothing":        Quantile(nil, 0.5),
		"a quantile above 1":           Quantile([]float64{1}, 1.5),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s is %g, want NaN", what, v)
		}
	}
}

func TestFewestToMeet(t *testing.T) {
	t.Parallel()
	for p, want := range map[float64]int{0.99: 299, 0.95: 59, 0.9: 29} {
		if got := MinToMeet(p, 0.05); got != want {
			t.Errorf("p%g: %d, want %d", 100*p, got, want)
		}
	}
}
