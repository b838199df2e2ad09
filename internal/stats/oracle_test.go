package stats

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/must"
)

// tenDigits compares figures to ten digits: what two correct programs agree on.
var tenDigits = cmpopts.EquateApprox(1e-10, 1e-14)

// oracle reads one block of testdata/oracles.json, which
// scripts/oracles/stats.py writes with the call that made each block.
func oracle[T any](t *testing.T, name string) []T {
	t.Helper()
	data := must.Read(t, "testdata/oracles.json")
	var blocks map[string]struct {
		Command string
		Cases   json.RawMessage
	}
	must.Do(t, json.Unmarshal(data, &blocks))
	var cases []T
	if err := json.Unmarshal(blocks[name].Cases, &cases); err != nil {
		t.Fatalf("block %s: %v", name, err)
	}
	if len(cases) == 0 {
		t.Fatalf("block %s has no cases", name)
	}
	return cases
}

func TestStudentIsScipys(t *testing.T) {
	t.Parallel()
	for _, c := range oracle[struct{ T, Freedom, Want float64 }](t, "student") {
		near(t, StudentCDF(c.T, c.Freedom), c.Want, 1e-10, "StudentCDF(%g, %g)", c.T, c.Freedom)
	}
	for _, c := range oracle[struct{ T, Freedom, Shift, Want float64 }](t, "noncentral") {
		if got := noncentralStudentCDF(c.T, c.Freedom, c.Shift); math.Abs(got-c.Want) > 1e-11 {
			t.Errorf("NoncentralStudentCDF(%g, %g, %g) = %v, want %v", c.T, c.Freedom, c.Shift, got, c.Want)
		}
	}
}

func TestPowerIsStatsmodels(t *testing.T) {
	t.Parallel()
	for _, c := range oracle[struct {
		N                        int
		SD, Alpha, Power, Effect float64
		AtOneSD                  float64 `json:"at_one_sd"`
	}](t, "power") {
		near(t, MinEffect(c.N, c.SD, c.Alpha, c.Power), c.Effect, 1e-9, "SmallestEffect(%d, %g, %g, %g)", c.N, c.SD, c.Alpha, c.Power)
		near(t, pairedPower(c.N, c.SD, c.SD, c.Alpha), c.AtOneSD, 1e-9, "PairedPower of one deviation over %d pairs at %g", c.N, c.Alpha)
	}
}

func TestSignedRankIsScipysAndTheCounts(t *testing.T) {
	t.Parallel()
	for block, exact := range map[string]bool{"signed_rank": true, "signed_rank_ties": true, "signed_rank_long": false} {
		for _, c := range oracle[struct {
			D            []float64
			Statistic, P float64
		}](t, block) {
			moved := 0
			for _, d := range c.D {
				if d != 0 {
					moved++
				}
			}
			want := RankTest{N: moved, Statistic: c.Statistic, P: c.P, Exact: exact}
			expect.NoDiff(t, cmp.Diff(want, SignedRank(c.D), tenDigits), "%s, %d differences (-want +got)", block, len(c.D))
		}
	}
}

func TestTwoSampleTestsAreScipysAndTheCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		block string
		test  func(a, b []float64) RankTest
		exact bool
	}{
		{"mann_whitney", MannWhitney, true},
		{"mann_whitney_ties", MannWhitney, true},
		{"mann_whitney_long", MannWhitney, false},
	} {
		for _, s := range oracle[struct {
			A, B         []float64
			Statistic, P float64
		}](t, c.block) {
			want := RankTest{N: len(s.A) + len(s.B), Statistic: s.Statistic, P: s.P, Exact: c.exact}
			expect.NoDiff(t, cmp.Diff(want, c.test(s.A, s.B), tenDigits), "%s of %d and %d values (-want +got)", c.block, len(s.A), len(s.B))
		}
	}
}

func TestHolmIsStatsmodels(t *testing.T) {
	t.Parallel()
	for _, c := range oracle[struct{ P, Want []float64 }](t, "holm") {
		expect.NoDiff(t, cmp.Diff(c.Want, Holm(c.P), tenDigits), "Holm(%v) (-want +got)", c.P)
	}
}

func TestTheilSenIsScipys(t *testing.T) {
	t.Parallel()
	for _, c := range oracle[struct {
		X, Y                            []float64
		Level, Slope, Intercept, Lo, Hi float64
	}](t, "theil_sen") {
		want := Line{Slope: c.Slope, Intercept: c.Intercept, Lo: c.Lo, Hi: c.Hi}
		expect.NoDiff(t, cmp.Diff(want, TheilSen(c.X, c.Y, c.Level), tenDigits), "%d points at %g (-want +got)", len(c.X), c.Level)
	}
}

func TestMannKendallIsPymannkendalls(t *testing.T) {
	t.Parallel()
	for _, c := range oracle[struct {
		Series []float64
		S      int
		Z, P   float64
		Exact  bool
	}](t, "mann_kendall") {
		want := Trend{S: c.S, Z: c.Z, P: c.P, Exact: c.Exact}
		expect.NoDiff(t, cmp.Diff(want, MannKendall(c.Series), tenDigits), "series of %d (-want +got)", len(c.Series))
	}
}

func TestPairedAnswersAreStatsmodelsAndTheScoreTests(t *testing.T) {
	t.Parallel()
	for _, c := range oracle[struct {
		B, C int
		Want float64
	}](t, "mcnemar") {
		near(t, McNemar(c.B, c.C), c.Want, 1e-12, "McNemar(%d, %d)", c.B, c.C)
	}
	// The oracle finds its shares by a numeric search, to about eight digits.
	for _, c := range oracle[struct {
		N, B, C       int
		Level, Lo, Hi float64
	}](t, "paired_shares") {
		lo, hi := PairedShares(c.N, c.B, c.C, c.Level)
		if math.Abs(lo-c.Lo) > 1e-6 || math.Abs(hi-c.Hi) > 1e-6 {
			t.Errorf("PairedShares(%d, %d, %d, %g) = (%v, %v), want (%v, %v)", c.N, c.B, c.C, c.Level, lo, hi, c.Lo, c.Hi)
		}
	}
}

// TestBootstrapIsTheExactOne holds 20,000 drawn resamples against all n^n of
// them. The distribution is discrete, so the tolerance is a twentieth of the
// interval, about the width of one of its steps in the tail.
func TestBootstrapIsTheExactOne(t *testing.T) {
	t.Parallel()
	for i, c := range oracle[struct {
		Values        []float64
		Level, Lo, Hi float64
	}](t, "bootstrap") {
		figures := resample(c.Values, Mean, 20_000, Rand(uint64(i), "bootstrap", 0))
		slices.Sort(figures)
		lo, hi := Quantile(figures, (1-c.Level)/2), Quantile(figures, (1+c.Level)/2)
		if tolerance := (c.Hi - c.Lo) / 20; math.Abs(lo-c.Lo) > tolerance || math.Abs(hi-c.Hi) > tolerance {
			t.Errorf("mean of %d values at %g: (%g, %g), want (%g, %g)", len(c.Values), c.Level, lo, hi, c.Lo, c.Hi)
		}
	}
}
