package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"redline/internal/expect"
)

// coarse draws samples in which ties are common.
func coarse(t *rapid.T, name string, least, limit int) []float64 {
	values := make([]float64, rapid.IntRange(least, limit).Draw(t, name+" size"))
	for i := range values {
		values[i] = float64(rapid.IntRange(-6, 6).Draw(t, name))
	}
	return values
}

func each(values []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out
}

func negate(v float64) float64 { return -v }

func TestMidranks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ values, want []float64 }{
		{nil, []float64{}},
		{[]float64{30, 10, 20}, []float64{3, 1, 2}},
		{[]float64{5, 5, 1, 5}, []float64{3, 3, 1, 3}},
		{[]float64{2, 2}, []float64{1.5, 1.5}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, midranks(c.values)), "Midranks(%v) (-want +got)", c.values)
	}
}

func TestSignedRankIsSymmetricAndKnowsNoUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := coarse(t, "d", 1, 70)
		test, other := SignedRank(d), SignedRank(each(d, negate))
		if test.N == 0 {
			return
		}
		want := test
		want.Statistic = float64(test.N*(test.N+1))/2 - test.Statistic
		if diff := cmp.Diff(want, other, tenDigits); diff != "" {
			t.Fatalf("negated (-want +got):\n%s", diff)
		}
		scaled := SignedRank(each(d, func(v float64) float64 { return 1e-9 * v }))
		if diff := cmp.Diff(test, scaled); diff != "" {
			t.Fatalf("in other units (-want +got):\n%s", diff)
		}
		if !(test.P > 0 && test.P <= 1) {
			t.Fatalf("P is %g", test.P)
		}
	})
}

func TestTwoSampleTestsAreSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := coarse(t, "a", 1, 30), coarse(t, "b", 1, 30)
		test, swapped := MannWhitney(a, b), MannWhitney(b, a)
		test.Statistic = float64(len(a)*len(b)) - test.Statistic
		if diff := cmp.Diff(test, swapped, tenDigits); diff != "" {
			t.Fatalf("Mann-Whitney of swapped samples (-want +got):\n%s", diff)
		}
		if !(swapped.P > 0 && swapped.P <= 1) {
			t.Fatalf("P is %g", swapped.P)
		}
	})
}

// TestApproximationsMeetTheExactTests holds each normal approximation against
// the count at the size where the one hands over to the other.
func TestApproximationsMeetTheExactTests(t *testing.T) {
	t.Parallel()
	r := Rand(3, "handover", 0)
	for range 8 {
		a, b := make([]float64, 30), make([]float64, 30)
		for i := range a {
			a[i], b[i] = math.Round(4*r.NormFloat64()), math.Round(4*r.NormFloat64()+2)
		}
		ranks := midranks(append(append([]float64{}, a...), b...))
		whole := twoSided(partedSums(ranks, len(a)), int(2*sum(ranks[:len(a)])))
		if got := MannWhitney(a, b); got.Exact || math.Abs(got.P-whole) > 0.01 {
			t.Errorf("Mann-Whitney of 60 values: approximated %g, counted %g", got.P, whole)
		}
		d := make([]float64, len(a))
		for i := range a {
			d[i] = a[i] - b[i]
		}
		d = append(d, each(d, func(v float64) float64 { return v + 1 })...)
		moved := SignedRank(d)
		if ranks, at := positiveRanks(d); moved.Exact || math.Abs(moved.P-twoSided(signedSums(ranks), at)) > 0.01 {
			t.Errorf("signed ranks of %d: approximated %g, counted %g", moved.N, moved.P, twoSided(signedSums(ranks), at))
		}
	}
}

// positiveRanks are the midranks of the differences that are not 0, and twice
// the sum of those of the positive ones.
func positiveRanks(d []float64) (ranks []float64, at int) {
	var moved []float64
	for _, v := range d {
		if v != 0 {
			moved = append(moved, v)
		}
	}
	ranks = midranks(each(moved, math.Abs))
	for i, v := range moved {
		if v > 0 {
			at += int(2 * ranks[i])
		}
	}
	return ranks, at
}

func TestRankTestsOfLittle(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	same := []float64{7, 7, 7}
	for _, c := range []struct {
		what string
		got  RankTest
		want RankTest
	}{
		{"no differences", SignedRank(nil), RankTest{P: nan}},
		{"nothing but zeros", SignedRank([]float64{0, 0}), RankTest{P: nan}},
		{"three of three positive", SignedRank([]float64{1, 2, 3}), RankTest{N: 3, Statistic: 6, P: 0.25, Exact: true}},
		{"an empty sample", MannWhitney(nil, same), RankTest{N: 3, P: nan}},
		{"samples that are all tied", MannWhitney(same, same), RankTest{N: 6, Statistic: 4.5, P: 1, Exact: true}},
		{"all of three below all of three", MannWhitney([]float64{1, 2, 3}, []float64{4, 5, 6}), RankTest{N: 6, Statistic: 0, P: 0.1, Exact: true}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, c.got, cmpopts.EquateNaNs(), tenDigits), "%s (-want +got)", c.what)
	}
}

func TestHolmKeepsTheOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		chances := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "chances")
		adjusted := Holm(chances)
		for i, p := range chances {
			if !(adjusted[i] >= p && adjusted[i] <= 1 && adjusted[i] <= float64(len(chances))*p+1e-15) {
				t.Fatalf("%g of %d became %g", p, len(chances), adjusted[i])
			}
			for j, q := range chances {
				if p < q && adjusted[i] > adjusted[j] {
					t.Fatalf("%g < %g became %g > %g", p, q, adjusted[i], adjusted[j])
				}
			}
		}
	})
	got := Holm([]float64{0.03, math.NaN(), 0.02})
	expect.NoDiff(t, cmp.Diff([]float64{0.04, math.NaN(), 0.04}, got, cmpopts.EquateNaNs()), "a test that could not be made (-want +got)")
}
