package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"redline/internal/expect"
)

func TestTheilSenIsNotMovedByWildPoints(t *testing.T) {
	t.Parallel()
	x, y := line(20, 0, 1), line(20, 3, 2)
	y[4], y[11], y[17] = 1e9, -1e9, 1e9
	got := TheilSen(x, y, 0.95)
	expect.NoDiff(t, cmp.Diff(Line{Slope: 2, Intercept: 3, Lo: 2, Hi: 2}, got, tenDigits), "three of twenty points are wild (-want +got)")
}

func TestTheilSenMovesWithItsPoints(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y := coarse(t, "y", 3, 25)
		x := line(len(y), 0, 1)
		plain := TheilSen(x, y, 0.9)
		want := Line{Slope: -2 * plain.Slope, Intercept: 5 - 2*plain.Intercept, Lo: -2 * plain.Hi, Hi: -2 * plain.Lo}
		turned := TheilSen(x, each(y, func(v float64) float64 { return 5 - 2*v }), 0.9)
		if diff := cmp.Diff(want, turned, tenDigits); diff != "" {
			t.Fatalf("turned over (-want +got):\n%s", diff)
		}
		if !(plain.Lo <= plain.Slope && plain.Slope <= plain.Hi) {
			t.Fatalf("the slope %g lies outside of (%g, %g)", plain.Slope, plain.Lo, plain.Hi)
		}
	})
}

func TestTheilSenIntervalCoversTheSlope(t *testing.T) {
	t.Parallel()
	const trials = 500
	held := 0
	for trial := range uint64(trials) {
		r := Rand(trial, "theil-sen", 0)
		x, y := line(20, 0, 1), line(20, 0, 0.3)
		for i := range y {
			y[i] += Exponential(r)
		}
		if got := TheilSen(x, y, 0.95); got.Lo <= 0.3 && 0.3 <= got.Hi {
			held++
		}
	}
	if held < trials*92/100 || held == trials {
		t.Errorf("the 95 %% interval holds the slope in %d of %d", held, trials)
	}
}

func TestMannKendallTurnsWithTheSeries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		series := coarse(t, "series", 2, 50)
		want := MannKendall(series)
		if diff := cmp.Diff(want, MannKendall(each(series, math.Exp)), tenDigits); diff != "" {
			t.Fatalf("of exponentials (-want +got):\n%s", diff)
		}
		want.S, want.Z = -want.S, -want.Z
		back := slices.Clone(series)
		slices.Reverse(back)
		if diff := cmp.Diff(want, MannKendall(back), tenDigits); diff != "" {
			t.Fatalf("backwards (-want +got):\n%s", diff)
		}
	})
}

func TestTrendsOfLittle(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for what, c := range map[string][2]Line{
		"no points":               {TheilSen(nil, nil, 0.95), {Slope: nan, Intercept: nan, Lo: -inf, Hi: inf}},
		"points above each other": {TheilSen([]float64{1, 1}, []float64{2, 3}, 0.95), {Slope: nan, Intercept: nan, Lo: -inf, Hi: inf}},
		"more x than y":           {TheilSen([]float64{1, 2}, []float64{2}, 0.95), {Slope: nan, Intercept: nan, Lo: -inf, Hi: inf}},
		"no level":                {TheilSen([]float64{1, 2}, []float64{2, 4}, 1), {Slope: 2, Lo: -inf, Hi: inf}},
	} {
		expect.NoDiff(t, cmp.Diff(c[1], c[0], cmpopts.EquateNaNs(), tenDigits), "%s (-want +got)", what)
	}
	for what, c := range map[string][2]Trend{
		"one value":    {MannKendall([]float64{1}), {Z: nan, P: nan}},
		"always equal": {MannKendall([]float64{4, 4, 4}), {P: 1}},
		"four rising":  {MannKendall([]float64{1, 2, 3, 4}), {S: 6, Z: 5 / math.Sqrt(4*3*13/18.0), P: 2.0 / 24, Exact: true}},
	} {
		expect.NoDiff(t, cmp.Diff(c[1], c[0], cmpopts.EquateNaNs(), tenDigits), "%s (-want +got)", what)
	}
}
