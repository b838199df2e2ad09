package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"redline/internal/expect"
)

func TestStudentIsSymmetricAndInvertsItsQuantile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		freedom := rapid.Float64Range(0.5, 500).Draw(t, "freedom")
		at := rapid.Float64Range(-40, 40).Draw(t, "t")
		if both := StudentCDF(at, freedom) + StudentCDF(-at, freedom); math.Abs(both-1) > 1e-14 {
			t.Fatalf("the tails at ±%g add up to %v", at, both)
		}
		p := rapid.Float64Range(0.001, 0.999).Draw(t, "p")
		if again := StudentCDF(StudentQuantile(p, freedom), freedom); math.Abs(again-p) > 1e-9 {
			t.Fatalf("CDF of the %v-quantile is %v", p, again)
		}
	})
}

func TestNoncentralStudentMirrorsAndMoves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		freedom := rapid.Float64Range(1, 100).Draw(t, "freedom")
		at := rapid.Float64Range(-20, 20).Draw(t, "t")
		shift := rapid.Float64Range(-20, 20).Draw(t, "shift")
		got := noncentralStudentCDF(at, freedom, shift)
		if mirrored := 1 - noncentralStudentCDF(-at, freedom, -shift); math.Abs(got-mirrored) > 1e-12 {
			t.Fatalf("%v, mirrored %v", got, mirrored)
		}
		if higher := noncentralStudentCDF(at+0.5, freedom, shift); higher < got-1e-12 {
			t.Fatalf("fell from %v to %v as t grew", got, higher)
		}
		if shifted := noncentralStudentCDF(at, freedom, shift+0.5); shifted > got+1e-12 {
			t.Fatalf("rose from %v to %v as the shift grew", got, shifted)
		}
	})
	near(t, noncentralStudentCDF(2, math.Inf(1), 1.5), NormalCDF(0.5), 1e-14, "without end of freedom")
	near(t, noncentralStudentCDF(2, 9, 0), StudentCDF(2, 9), 1e-14, "without a shift")
	// Far shifts leave the series; the two must meet there.
	near(t, noncentralStudentCDF(500, 30, 500.001), noncentralStudentCDF(500, 30, 499.999), 0.03, "at the farthest shift")
}

func TestOneSampleTOfLittle(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		what string
		got  TTest
		want TTest
	}{
		{"nothing", OneSampleT(nil, 0.95), TTest{Mean: nan, SD: nan, T: nan, Freedom: -1, P: nan, Lo: -inf, Hi: inf, Dz: nan}},
		{"one value", OneSampleT([]float64{3}, 0.95), TTest{Mean: 3, SD: nan, T: nan, P: nan, Lo: -inf, Hi: inf, Dz: nan}},
		{"always 3", OneSampleT([]float64{3, 3, 3}, 0.95), TTest{Mean: 3, T: inf, Freedom: 2, P: 0, Lo: 3, Hi: 3, Dz: inf}},
		{"always 0", OneSampleT([]float64{0, 0, 0}, 0.95), TTest{Freedom: 2, P: 1}},
		{"no level", OneSampleT([]float64{-1, 1}, 0), TTest{SD: math.Sqrt2, Freedom: 1, P: 1, Lo: -inf, Hi: inf}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, c.got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-15, 0)), "%s (-want +got)", c.what)
	}
}

func TestIntervalAndTestAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1, 3), 2, 20).Draw(t, "values")
		test := OneSampleT(values, 0.95)
		if math.Abs(test.P-0.05) < 1e-9 || test.SD < 1e-9 {
			return
		}
		if excluded := test.Lo > 0 || test.Hi < 0; excluded != (test.P < 0.05) {
			t.Fatalf("P is %g and the 95 %% interval (%g, %g)", test.P, test.Lo, test.Hi)
		}
	})
}

// pairedPower is the chance that a two-sided paired t test at alpha calls a
// true mean difference.
func pairedPower(n int, effect, sd, alpha float64) float64 {
	freedom := float64(n - 1)
	return powerAt(effect/sd*math.Sqrt(float64(n)), StudentQuantile(1-alpha/2, freedom), freedom)
}

func TestSmallestEffectIsJustSeen(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 10, 100} {
		effect := MinEffect(n, 0.02, 0.05, 0.8)
		near(t, pairedPower(n, effect, 0.02, 0.05), 0.8, 1e-9, "power over %d pairs at the smallest effect %g", n, effect)
		near(t, pairedPower(n, -effect, 0.02, 0.05), 0.8, 1e-9, "power of the same effect the other way over %d pairs", n)
		near(t, pairedPower(n, 0, 0.02, 0.05), 0.05, 1e-9, "power of no effect over %d pairs", n)
	}
	if more, fewer := MinEffect(20, 1, 0.05, 0.8), MinEffect(10, 1, 0.05, 0.8); more >= fewer {
		t.Errorf("20 pairs see %g and 10 pairs %g", more, fewer)
	}
	for what, v := range map[string]float64{
		"one pair":            MinEffect(1, 1, 0.05, 0.8),
		"a power below alpha": MinEffect(10, 1, 0.05, 0.05),
		"a negative spread":   MinEffect(10, -1, 0.05, 0.8),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s: %g, want NaN", what, v)
		}
	}
}
