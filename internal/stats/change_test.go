package stats

import (
	"math"
	"testing"
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

// runsUntilCall is the number of runs after which the monitor first calls a change,
// 0 where it never does.
func runsUntilCall(m Monitor, series []float64) int {
	for n := range len(series) + 1 {
		if m.Judge(series[:n]).P <= 0.04 {
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
			if runsUntilCall(Monitor{Runs: runs}, series) > 0 {
				alarms++
			}
			if (Monitor{}).Judge(series).P <= 0.04 {
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
			if runsUntilCall(Monitor{Runs: c.runs}, series) > c.at {
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
		if (Monitor{}).Judge(monthly(trial, "once", 22, 20, 0.03)).P <= 0.04 {
			called++
		}
		if (Monitor{}).Judge(monthly(trial, "once", 22, never, 0.03)).P <= 0.04 {
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
	m := Monitor{Runs: 24}
	series := []float64{10, 11, 10, 9, 10, 11, 9, 10, 10, 11, 20, 21}
	got := m.Judge(series)
	if !(got.P <= 0.05) || got.At != 10 || got.Before != 10 || got.After != 20.5 {
		t.Errorf("a doubling at the last two of twelve runs: %+v", got)
	}
	stray := append(line(20, 10, 0.01), 10.1, 1000)
	if got := m.Judge(stray); got.P <= 0.05 {
		t.Errorf("one run gone astray was called a change: %+v", got)
	}
	if early := m.Judge(series[:9]); !math.IsNaN(early.P) || early.P <= 1 {
		t.Errorf("nine runs leave no two to judge: %+v", early)
	}
	if equal := m.Judge(line(12, 7, 0)); equal.P != 1 {
		t.Errorf("a series that never moves: %+v, want P 1", equal)
	}
}

// Alike is 0 of draws that have nothing to do with each other but for its margin,
// and finds most of a correlation of 0.7 that many short series share: the margin
// stands for the rest.
func TestAlikeIsThatOfManyShortSeries(t *testing.T) {
	t.Parallel()
	series := func(trial uint64, correlation float64) []float64 {
		r := Rand(trial, "alike", 0)
		list, level := make([]float64, 12), r.NormFloat64()
		for i := range list {
			list[i] = level
			level = correlation*level + math.Sqrt(1-correlation*correlation)*r.NormFloat64()
		}
		return list
	}
	for _, correlation := range []float64{0, 0.7} {
		var all [][]float64
		for trial := range uint64(400) {
			all = append(all, series(trial, correlation))
		}
		if got := Alike(all); got < correlation-0.05 || got > correlation+alikeMargin+0.05 {
			t.Errorf("a correlation of %g is taken for %.2f", correlation, got)
		}
	}
	if got := Alike([][]float64{{1, 2, 3, 4}, {5, 5, 5, 5, 5}}); got != 0 {
		t.Errorf("series that say nothing: %g", got)
	}
}
