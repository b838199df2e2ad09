package dist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"redline/internal/must"
)

// every is each kind of distribution, with and without a clip.
var every = []string{"fixed(64)", "uniform(20,400)", "uniform(7,7)", "lognormal(300,1.2)", "lognormal(500,0.8,50..4000)",
	"normal(300,120,9..500)", "normal(50,5)", "normal(10,1000,5..20)", "gamma(300,0.5,3..2000)", "gamma(90,4)", "gamma(3,0.05)",
	"zipf(1.4,16..4096)", "zipf(2.5)", "zipf(1.01,1..10)", "choice(512:0.7,4096:0.3)", "choice(0..512:0.4,512..2048:0.6)",
	"choice(5:1,10..20:3,30..31:0)"}

func TestDrawsFollowTheirParameters(t *testing.T) {
	t.Parallel()
	for _, text := range every {
		d := must.Get(ParseTokens(text))(t)
		r := rand.New(rand.NewPCG(1, 2))
		sample := make([]float64, 50_000)
		for i := range sample {
			sample[i] = float64(d.Sample(r))
		}
		checkSample(t, text, d, sample)
	}
}

// TestNormalAndGammaHaveTheirSpread holds the second parameter, which the mean
// does not see.
func TestNormalAndGammaHaveTheirSpread(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"normal(5000,200)": 200, "gamma(5000,4)": 2500, "gamma(5000,0.25)": 10000} {
		d := must.Get(ParseTokens(text))(t)
		r := rand.New(rand.NewPCG(3, 4))
		const n = 200_000
		sum, squares := 0.0, 0.0
		for range n {
			x := float64(d.Sample(r))
			sum += x
			squares += x * x
		}
		if got := math.Sqrt(squares/n - sum/n*sum/n); math.Abs(got/want-1) > 0.02 {
			t.Errorf("%s: standard deviation %v, want %v", text, got, want)
		}
	}
}

// TestZipfWeighsByRank compares shares with the definition.
func TestZipfWeighsByRank(t *testing.T) {
	t.Parallel()
	d := Tokens{Zipf: 2, Min: 2, Max: 5}
	total := 1.0/4 + 1.0/9 + 1.0/16 + 1.0/25
	const n = 100_000
	counts := map[int]float64{}
	r := rand.New(rand.NewPCG(5, 6))
	for range n {
		counts[d.Sample(r)]++
	}
	for k := 2; k <= 5; k++ {
		want := 1 / float64(k*k) / total
		if got := counts[k] / n; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n) {
			t.Errorf("length %d has the share %v, want %v", k, got, want)
		}
	}
}

// TestBucketsShareNoLength holds that lo..hi begins above lo, so that
// 0..2 and 2..4 meet without overlap.
func TestBucketsShareNoLength(t *testing.T) {
	t.Parallel()
	d := must.Get(ParseTokens("choice(0..2:1,2..4:3)"))(t)
	counts := map[int]float64{}
	r := rand.New(rand.NewPCG(7, 8))
	const n = 80_000
	for range n {
		counts[d.Sample(r)]++
	}
	for length, want := range map[int]float64{1: 0.125, 2: 0.125, 3: 0.375, 4: 0.375} {
		if got := counts[length] / n; math.Abs(got-want) > 0.01 {
			t.Errorf("length %d has the share %v, want %v", length, got, want)
		}
	}
	if len(counts) != 4 {
		t.Errorf("drew %v, want 1 to 4 alone", counts)
	}
}

// TestPowerSum compares the shortened sum with the long one.
func TestPowerSum(t *testing.T) {
	t.Parallel()
	for _, e := range []float64{-0.2, -1, -1.5, -4} {
		want := 0.0
		for k := 7; k <= 50_000; k++ {
			want += math.Pow(float64(k), e)
		}
		if got := powerSum(7, 50_000, e); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("exponent %v: %v, want %v", e, got, want)
		}
	}
}

func checkSample(t *testing.T, what string, d Tokens, sample []float64) {
	t.Helper()
	slices.Sort(sample)
	lo, hi := support(d)
	if sample[0] < float64(lo) || sample[len(sample)-1] > float64(hi) {
		t.Errorf("%s: %v to %v drawn, outside %d..%d", what, sample[0], sample[len(sample)-1], lo, hi)
	}
	if d.kind() == lognormal && d.Sigma < 1 {
		median := sample[len(sample)/2]
		if math.Abs(median/d.Median-1) > 0.03 {
			t.Errorf("%s: median %v, want %v", what, median, d.Median)
		}
	}
	sum, squares := 0.0, 0.0
	for _, x := range sample {
		sum += x
		squares += x * x
	}
	n := float64(len(sample))
	mean := sum / n
	standardError := math.Sqrt((squares/n - mean*mean) / n)
	if math.Abs(mean-d.Mean()) > 4*standardError+1e-9*mean {
		t.Errorf("%s: mean %v ± %v, want %v", what, mean, standardError, d.Mean())
	}
}

func support(d Tokens) (lo, hi int) {
	switch d.kind() {
	case fixed:
		return d.Fixed, d.Fixed
	case choice:
		lo, hi = maxTokens, 0
		for i := range d.Weights {
			if d.Buckets != nil {
				lo, hi = min(lo, d.Buckets[i].Lo+1), max(hi, d.Buckets[i].Hi)
			} else {
				lo, hi = min(lo, d.TokenCounts[i]), max(hi, d.TokenCounts[i])
			}
		}
		return lo, hi
	}
	return d.clip()
}

// TestLogNormalMeanIsTheSumOfItsTail compares the closed form with the
// definition E[N] = lo + Σ P(N ≥ k) over the whole tokens k above lo.
func TestLogNormalMeanIsTheSumOfItsTail(t *testing.T) {
	t.Parallel()
	for _, d := range []Tokens{{Median: 500, Sigma: 0.8, Min: 50, Max: 4000}, {Median: 150, Sigma: 0.8, Min: 50, Max: 500}, {Median: 16000, Sigma: 0.8, Min: 2000, Max: 128000},
		{Median: 30, Sigma: 1.5, Min: 1, Max: 300}, {Median: 1000, Sigma: 0.2, Min: 1200, Max: 2000}} {
		want := float64(d.Min)
		for k := d.Min + 1; k <= d.Max; k++ {
			want += math.Erfc(math.Log(float64(k)/d.Median)/d.Sigma/math.Sqrt2) / 2
		}
		if got := d.Mean(); math.Abs(got/want-1) > 2e-3 {
			t.Errorf("%v: mean %v, want %v", d, got, want)
		}
	}
}

func TestHugeDrawsAreClipped(t *testing.T) {
	t.Parallel()
	d := Tokens{Median: maxTokens, Sigma: maxSigma}
	r := rand.New(rand.NewPCG(1, 1))
	for range 10000 {
		if n := d.Sample(r); n < 1 || n > maxTokens {
			t.Fatalf("drew %d", n)
		}
	}
}
