package stats

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// golden holds values from numpy, scipy and exact arithmetic, written by
// testdata/golden.py.
type golden struct {
	Streams []struct {
		Seed  uint64 `json:",string"`
		Name  string
		Index uint64 `json:",string"`
		Words []json.Number
	}
	Quantiles []struct {
		Sorted  []float64
		P, Want float64
	}
	Moments []struct {
		Values         []float64
		Mean, Variance float64
	}
	Beta     []struct{ A, B, X, Want float64 }
	Binomial []struct {
		T, N, P float64
		AtMost  float64 `json:"at_most"`
		AtLeast float64 `json:"at_least"`
	}
	Fractional []struct {
		T, N, Q float64
		AtMost  float64 `json:"at_most"`
		AtLeast float64 `json:"at_least"`
	}
	Student []struct{ P, Freedom, Want float64 }
	Normal  []struct{ P, Want float64 }
	MSER5   []struct {
		Series []float64
		Want   int
	}
	Slope []struct {
		Series []float64
		Want   float64
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	data := must.Read(t, "testdata/golden.json")
	var g golden
	must.Do(t, json.Unmarshal(data, &g))
	return g
}

// near fails unless got is want within a relative tolerance.
func near(t *testing.T, got, want, tolerance float64, what string, args ...any) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(math.Abs(want), 1e-300)) {
		t.Errorf(what+": got %v, want %v", append(args, got, want)...)
	}
}

func TestRandGivesTheDocumentedStreams(t *testing.T) {
	t.Parallel()
	for _, s := range readGolden(t).Streams {
		r := Rand(s.Seed, s.Name, s.Index)
		got := make([]json.Number, len(s.Words))
		for i := range got {
			text, _ := json.Marshal(r.Uint64())
			got[i] = json.Number(text)
		}
		expect.NoDiff(t, cmp.Diff(s.Words, got), "Rand(%d, %q, %d) (-want +got)", s.Seed, s.Name, s.Index)
	}
}

func TestQuantilesAndMomentsAreNumpys(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	for _, q := range g.Quantiles {
		near(t, Quantile(q.Sorted, q.P), q.Want, 1e-14, "Quantile of %d values at %g", len(q.Sorted), q.P)
	}
	for _, m := range g.Moments {
		near(t, Mean(m.Values), m.Mean, 1e-14, "Mean of %d values", len(m.Values))
		near(t, Variance(m.Values), m.Variance, 1e-13, "Variance of %d values", len(m.Values))
	}
}

func TestTailsAreScipysAndExact(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	for _, b := range g.Beta {
		near(t, regIncBeta(b.A, b.B, b.X), b.Want, 1e-12, "RegIncBeta(%g, %g, %g)", b.A, b.B, b.X)
	}
	for _, b := range g.Binomial {
		near(t, BinomialAtMost(b.T, b.N, 1-b.P), b.AtMost, 1e-11, "P(Bin(%g, 1-%g) <= %g)", b.N, b.P, b.T)
		near(t, BinomialAtLeast(b.T, b.N, 1-b.P), b.AtLeast, 1e-11, "P(Bin(%g, 1-%g) >= %g)", b.N, b.P, b.T)
	}
	for _, b := range g.Fractional {
		near(t, BinomialAtMost(b.T, b.N, b.Q), b.AtMost, 1e-11, "P(Bin(%g, %g) <= %g)", b.N, b.Q, b.T)
		near(t, BinomialAtLeast(b.T, b.N, b.Q), b.AtLeast, 1e-11, "P(Bin(%g, %g) >= %g)", b.N, b.Q, b.T)
	}
	for _, s := range g.Student {
		if math.Abs(StudentQuantile(s.P, s.Freedom)-s.Want) > 1e-9*(1+math.Abs(s.Want)) {
			t.Errorf("StudentQuantile(%g, %g) = %v, want %v", s.P, s.Freedom, StudentQuantile(s.P, s.Freedom), s.Want)
		}
	}
	for _, n := range g.Normal {
		if math.Abs(NormalQuantile(n.P)-n.Want) > 1e-12*(1+math.Abs(n.Want)) {
			t.Errorf("NormalQuantile(%g) = %v, want %v", n.P, NormalQuantile(n.P), n.Want)
		}
		near(t, NormalCDF(n.Want), n.P, 1e-12, "NormalCDF(%g)", n.Want)
	}
}

func TestSeriesFiguresAreTheReferences(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	for _, m := range g.MSER5 {
		if cut, ok := MSER5(m.Series); cut != m.Want || !ok {
			t.Errorf("MSER5 of %d points = %d, %t, want %d, true", len(m.Series), cut, ok, m.Want)
		}
	}
	for _, s := range g.Slope {
		near(t, Slope(s.Series), s.Want, 1e-11, "Slope of %d points", len(s.Series))
	}
}
