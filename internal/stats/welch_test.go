package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
)

// The expected figures are those of scipy 1.17.1:
//
//	r = scipy.stats.ttest_ind(b, a, equal_var=False)
//	r.statistic, r.df, r.pvalue, r.confidence_interval(0.95)
func TestWelchT(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what                     string
		a, b                     []float64
		t, freedom, p, low, high float64
	}{
		{"samples of different size", []float64{5.1, 4.9, 5.6, 5.0}, []float64{5.9, 6.1, 5.5},
			2.906412940534176, 4.5026719727117674, 0.03800381438128572, 0.05831708963333926, 1.3083495770333262},
		{"two values each", []float64{1, 2}, []float64{1, 4},
			0.6324555320336759, 1.2195121951219512, 0.6248301115609279, -12.272108889547312, 14.272108889547312},
		{"b below a", []float64{0.12, 0.15, 0.11, 0.14, 0.13}, []float64{0.11, 0.125, 0.13, 0.12, 0.14, 0.135},
			-0.3999999999999992, 6.883259911894274, 0.7012785744437527, -0.02310648667076656, 0.016439820004099905},
	} {
		got := WelchT(c.a, c.b, 0.95)
		want := []float64{c.t, c.freedom, c.p, c.low, c.high}
		expect.NoDiff(t, cmp.Diff(want, []float64{got.T, got.Freedom, got.P, got.Lo, got.Hi}, tenDigits), "%s: t, freedom, p, low, high (-want +got)", c.what)
	}
}

func TestWelchTOfLittle(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		what string
		got  TTest
		want TTest
	}{
		{"one value on a side", WelchT([]float64{1}, []float64{2, 4}, 0.95),
			TTest{Mean: 2, SD: nan, T: nan, Freedom: nan, P: nan, Lo: -inf, Hi: inf, Dz: nan}},
		{"no spread and no difference", WelchT([]float64{2, 2}, []float64{2, 2}, 0.95),
			TTest{Freedom: 2, P: 1}},
		{"no spread, b above", WelchT([]float64{2, 2}, []float64{5, 5}, 0.95),
			TTest{Mean: 3, T: inf, Freedom: 2, Lo: 3, Hi: 3, Dz: inf}},
		{"no spread, b below", WelchT([]float64{5, 5}, []float64{2, 2}, 0.95),
			TTest{Mean: -3, T: -inf, Freedom: 2, Lo: -3, Hi: -3, Dz: -inf}},
		{"both values one apart, both pairs", WelchT([]float64{0, 2}, []float64{4, 6}, 0),
			TTest{Mean: 4, SD: math.Sqrt2, T: 2 * math.Sqrt2, Freedom: 2, P: 0.10557280900008412, Lo: -inf, Hi: inf, Dz: 2 * math.Sqrt2}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, c.got, cmpopts.EquateNaNs(), tenDigits), "%s (-want +got)", c.what)
	}
}
