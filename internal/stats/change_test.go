package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// monthly is a series of logarithms of latencies that spread by noise from run
// to run and step up by a tenth at the run `at`.
func monthly(trial uint64, name string, runs, at int, noise float64) []float64 {
	r := Rand(trial, name, 0)
	series := make([]float64, runs)
	for i := range series {
		series[i] = math.Log(0.02) + noise*r.NormFloat64()
		if i >= at {
			series[i] += math.Log(1.1)
		}
	}
	return series
}

const (
	seriesTried = 200
	never       = math.MaxInt
)

func TestChangePointAlarmsSeldomWithoutAChange(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{12, 24, 40} {
		alarms := 0
		for trial := range uint64(seriesTried) {
			series := monthly(trial, "steady", runs, never, 0.03)
			if ChangePoint(series, 499, Rand(trial, "orders", 0)).Called(0.03) {
				alarms++
			}
		}
		if alarms > 10 {
			t.Errorf("%d runs without a change: %d alarms in %d series, want at most 10", runs, alarms, seriesTried)
		}
	}
}

// TestChangePointFindsTheRun plants a step of 10 % under a noise of 3 %.
func TestChangePointFindsTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ runs, at int }{{16, 8}, {24, 12}, {24, 18}, {40, 10}, {40, 30}} {
		found := 0
		for trial := range uint64(seriesTried) {
			series := monthly(trial, "step", c.runs, c.at, 0.03)
			change := ChangePoint(series, 499, Rand(trial, "orders", 0))
			if off := change.At - c.at; change.Called(0.03) && off >= -2 && off <= 2 {
				found++
			}
		}
		if found < 180 {
			t.Errorf("a step at run %d of %d was found within two runs in %d of %d series, want at least 180",
				c.at, c.runs, found, seriesTried)
		}
	}
}

func TestChangePointKnowsItsOrders(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, c := range []struct {
		what   string
		series []float64
		want   Change
	}{
		{"too short", line(7, 0, 1), Change{P: nan, Before: nan, After: nan}},
		{"always equal", line(9, 5, 0), Change{P: 1, Before: nan, After: 5}},
		{"five low, five high", []float64{1, 2, 1, 2, 1, 8, 9, 8, 9, 8}, Change{At: 5, P: 2.0 / 252, Before: 1, After: 8}},
	} {
		// Two of the 252 ways to part ten values into fives are so clear. The
		// tolerance is for the draw.
		got := ChangePoint(c.series, 19_999, Rand(1, "orders", 0))
		if diff := cmp.Diff(c.want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 0.002)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

// watched is the number of runs after which the monitor first calls a change,
// 0 where it never does.
func watched(m Monitor, series []float64) int {
	for n := range len(series) + 1 {
		if m.Judge(series[:n]).Called(m.Alpha) {
			return n
		}
	}
	return 0
}

func TestMonitorAlarmsSeldomWithoutAChange(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{12, 24, 40} {
		const trials = 5 * seriesTried
		alarms, once := 0, 0
		for trial := range uint64(trials) {
			series := monthly(trial, "quiet", runs, never, 0.03)
			if watched(Monitor{Alpha: 0.04, Runs: runs}, series) > 0 {
				alarms++
			}
			if (Monitor{Alpha: 0.04}).Judge(series).Called(0.04) {
				once++
			}
		}
		// The level, and a standard error and a half above it.
		if most := trials*4/100 + 9; alarms > most || once > most {
			t.Errorf("%d runs without a change: watched, alarms in %d of %d series; judged once, in %d; want at most %d",
				runs, alarms, trials, once, most)
		}
	}
}

// TestMonitorAlarmsSoon plants a step of 10 % and counts the alarms that come
// in time: with the second changed run, or with the third.
func TestMonitorAlarmsSoon(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		runs  int
		at    int
		noise float64
		soon  int
		tried int
		least int
	}{
		{"watched for two years, a noise of 1 %", 24, 12, 0.01, 2, seriesTried, 180},
		{"watched for two years, a noise of 2 %", 24, 20, 0.02, 2, seriesTried, 180},
		{"watched for three years, a noise of 2 %", 36, 30, 0.02, 2, seriesTried, 180},
		{"watched for two years, a noise of 2.5 % and a third run", 24, 20, 0.025, 3, seriesTried, 180},
		// Just short of nine in ten (0.896 of 16,000 series), so it takes more
		// series to hold it to that: four standard errors below.
		{"watched for two years, a noise of 3 % and a third run", 24, 20, 0.03, 3, 2000, 1740},
	} {
		soon := 0
		for trial := range uint64(c.tried) {
			series := monthly(trial, "soon", c.at+c.soon, c.at, c.noise)
			if watched(Monitor{Alpha: 0.04, Runs: c.runs}, series) > c.at {
				soon++
			}
		}
		if soon < c.least {
			t.Errorf("%s: %d alarms in time of %d, want at least %d", c.what, soon, c.tried, c.least)
		}
	}
}

// TestMonitorAsksOnce judges 22 runs of 3 % noise a single time, when the last
// two of them are slower by 10 %.
func TestMonitorAsksOnce(t *testing.T) {
	t.Parallel()
	called, wrong := 0, 0
	for trial := range uint64(seriesTried) {
		if (Monitor{Alpha: 0.04}).Judge(monthly(trial, "once", 22, 20, 0.03)).Called(0.04) {
			called++
		}
		if (Monitor{Alpha: 0.04}).Judge(monthly(trial, "once", 22, never, 0.03)).Called(0.04) {
			wrong++
		}
	}
	if called < 180 || wrong > 10 {
		t.Errorf("of %d series, %d with a step were called and %d without; want at least 180 and at most 10",
			seriesTried, called, wrong)
	}
}

func TestMonitorSaysWhereItBegan(t *testing.T) {
	t.Parallel()
	m := Monitor{Alpha: 0.05, Runs: 24}
	series := []float64{10, 11, 10, 9, 10, 11, 9, 10, 10, 11, 20, 21}
	got := m.Judge(series)
	if !got.Called(m.Alpha) || got.At != 10 || got.Before != 10 || got.After != 20.5 {
		t.Errorf("a doubling at the last two of twelve runs: %+v", got)
	}
	stray := append(line(20, 10, 0.01), 10.1, 1000)
	if got := m.Judge(stray); got.Called(m.Alpha) {
		t.Errorf("one run gone astray was called a change: %+v", got)
	}
	if early := m.Judge(series[:9]); !math.IsNaN(early.P) || early.Called(1) {
		t.Errorf("nine runs leave no two to judge: %+v", early)
	}
	if equal := m.Judge(line(12, 7, 0)); equal.P != 1 {
		t.Errorf("a series that never moves: %+v, want P 1", equal)
	}
}
