package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// within fails unless the mean of draws lies within five standard errors of
// want, which an honest sampler leaves once in two million.
func within(t *testing.T, draws []float64, want, deviation float64, what string, args ...any) {
	t.Helper()
	if got := Mean(draws); !(math.Abs(got-want) <= 5*deviation/math.Sqrt(float64(len(draws)))) {
		t.Errorf(what+": mean of %d draws is %v, want %v", append(args, len(draws), got, want)...)
	}
}

func draw(n int, next func() float64) []float64 {
	draws := make([]float64, n)
	for i := range draws {
		draws[i] = next()
	}
	return draws
}

func TestStreamsAreIndependent(t *testing.T) {
	t.Parallel()
	const n = 4096
	base := Rand(7, "workload", 0)
	first := draw(n, base.Float64)
	for _, other := range []struct {
		what string
		r    *rand.Rand
	}{
		{"the next index", Rand(7, "workload", 1)},
		{"an index far away", Rand(7, "workload", 1<<63)},
		{"the next seed", Rand(8, "workload", 0)},
		{"another name", Rand(7, "arrival", 0)},
		{"seed and index swapped", Rand(0, "workload", 7)},
	} {
		second := draw(n, other.r.Float64)
		products := make([]float64, n)
		for i := range products {
			products[i] = (first[i] - 0.5) * (second[i] - 0.5)
		}
		within(t, products, 0, 1.0/12, "covariance with %s", other.what)
	}
}

func TestNeighbouringStreamsFillTheUnitInterval(t *testing.T) {
	t.Parallel()
	index := uint64(0)
	firsts := draw(20000, func() float64 { index++; return Rand(1, "workload", index).Float64() })
	within(t, firsts, 0.5, math.Sqrt(1.0/12), "first number of each stream")
	if r := Autocorrelation(firsts, 1); math.Abs(r) > 5/math.Sqrt(20000) {
		t.Errorf("first numbers of neighbouring streams are correlated by %v", r)
	}
}

func TestDrawsHaveTheMomentsOfTheirDistribution(t *testing.T) {
	t.Parallel()
	const n = 100_000
	r := Rand(3, "moments", 0)
	exponential := draw(n, func() float64 { return Exponential(r) })
	within(t, exponential, 1, 1, "exponential")
	slices.Sort(exponential)
	near(t, Quantile(exponential, 0.99), math.Log(100), 0.05, "exponential p99")

	logs := draw(n, func() float64 { return math.Log(LogNormal(r, 6, 0.8)) })
	within(t, logs, 6, 0.8, "logarithm of a log-normal")
	near(t, Variance(logs), 0.64, 0.03, "variance of the logarithm of a log-normal")

	for _, shape := range []float64{0.01, 0.1, 0.5, 1, 2.5, 50} {
		gamma := draw(n, func() float64 { return Gamma(r, shape) })
		within(t, gamma, shape, math.Sqrt(shape), "gamma(%g)", shape)
		if shape < 0.1 {
			continue // the smallest of such draws are below the smallest float64
		}
		logs := draw(n, func() float64 { return math.Log(Gamma(r, shape)) })
		// The mean of the logarithm is the digamma function, which sees the
		// small values that the plain mean does not.
		digamma := (logGamma(shape*(1+1e-5)) - logGamma(shape*(1-1e-5))) / (2e-5 * shape)
		within(t, logs, digamma, math.Sqrt(Variance(logs)), "logarithm of gamma(%g)", shape)
	}
}

func logGamma(x float64) float64 {
	g, _ := math.Lgamma(x)
	return g
}

func TestGammaOfAnImpossibleShapeIsNaN(t *testing.T) {
	t.Parallel()
	for _, shape := range []float64{0, -1, math.NaN()} {
		if v := Gamma(Rand(1, "", 0), shape); !math.IsNaN(v) {
			t.Errorf("Gamma(%g) = %g, want NaN", shape, v)
		}
	}
}

func TestChooseFollowsTheWeights(t *testing.T) {
	t.Parallel()
	r := Rand(5, "choose", 0)
	const n = 100_000
	counts := make([]float64, 5)
	for range n {
		counts[Choose(r, []float64{3, 0, 1, -2, 4})]++
	}
	for i, share := range []float64{3.0 / 8, 0, 1.0 / 8, 0, 4.0 / 8} {
		if d := math.Abs(counts[i]/n - share); d > 5*math.Sqrt(share*(1-share)/n) {
			t.Errorf("index %d drawn with share %g, want %g", i, counts[i]/n, share)
		}
	}
	for _, none := range [][]float64{nil, {0}, {-1, math.NaN()}} {
		if got := Choose(r, none); got != -1 {
			t.Errorf("Choose(%v) = %d, want -1", none, got)
		}
	}
}
