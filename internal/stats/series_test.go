package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func line(n int, start, step float64) []float64 {
	series := make([]float64, n)
	for i := range series {
		series[i] = start + step*float64(i)
	}
	return series
}

func TestMSER5CutsTheStart(t *testing.T) {
	t.Parallel()
	step := line(100, 10, 0)
	for i := range 20 {
		step[i] = 0
	}
	for _, c := range []struct {
		what   string
		series []float64
		cut    int
		ok     bool
	}{
		{"twenty seconds of silence first", step, 20, true},
		{"flat", line(100, 10, 0), 0, true},
		{"growing to the end", line(90, 0, 1), 60, true},
		{"too short to tell", line(54, 10, 0), 0, false},
		{"nothing", nil, 0, false},
	} {
		if cut, ok := MSER5(c.series); cut != c.cut || ok != c.ok {
			t.Errorf("%s: %d, %t, want %d, %t", c.what, cut, ok, c.cut, c.ok)
		}
	}
}

func TestMSER5SeldomCallsASteadyMinuteUnsettled(t *testing.T) {
	t.Parallel()
	const trials = 1000
	for _, c := range []struct {
		seconds int
		most    float64
	}{{60, 0.12}, {300, 0.02}} {
		wrong := 0
		for trial := range uint64(trials) {
			if cut, _ := MSER5(correlatedSeries(Rand(trial, "steady", 0), c.seconds, 0.5)); cut > c.seconds/2 {
				wrong++
			}
		}
		if share := float64(wrong) / trials; share > c.most {
			t.Errorf("%d steady seconds called unsettled in a share of %g, want at most %g", c.seconds, share, c.most)
		}
	}
}

func TestSlope(t *testing.T) {
	t.Parallel()
	near(t, Slope(line(60, 1e9, 2.5)), 2.5, 1e-9, "slope far from 0")
	near(t, Slope([]float64{0, 3}), 3, 1e-15, "slope of two points")
	if v := Slope([]float64{1}); !math.IsNaN(v) {
		t.Errorf("slope of one point is %g, want NaN", v)
	}
}

// TestSlopeIntervalTellsGrowthFromMemory counts how often the 95 % interval of
// a steady but remembering queue holds 0, and how often that of a growing one
// excludes it. Blocks are twice as long as the memory, as for requests in
// flight and blocks of twice the mean e2e.
func TestSlopeIntervalTellsGrowthFromMemory(t *testing.T) {
	t.Parallel()
	const trials, seconds, block = 200, 120, 10
	held, found := 0, 0
	for trial := range uint64(trials) {
		r := Rand(trial, "slope", 0)
		series := correlatedSeries(r, seconds, math.Exp(-2.0/block))
		if lo, hi := SlopeInterval(series, block, 0.95, 300, r); lo <= 0 && 0 <= hi {
			held++
		}
		for i := range series {
			series[i] += 0.05 * float64(i)
		}
		if lo, _ := SlopeInterval(series, block, 0.95, 300, r); lo > 0 {
			found++
		}
	}
	if held < trials*83/100 || held == trials {
		t.Errorf("the interval of a steady queue holds 0 in %d of %d runs, want about 9 in 10", held, trials)
	}
	if found < trials*98/100 {
		t.Errorf("growth by six deviations was found in %d of %d runs, want nearly all", found, trials)
	}
}

func TestSlopeIntervalOfTooLittleExcludesNothing(t *testing.T) {
	t.Parallel()
	lo, hi := SlopeInterval(line(59, 0, 1), 10, 0.95, 100, Rand(1, "", 0))
	if !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("five blocks: (%g, %g), want (-Inf, +Inf)", lo, hi)
	}
}

func TestIndexOfDispersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		times []int64
		want  float64
	}{
		{"one in each window", []int64{0, 10, 20, 30, 40}, 0},
		{"two, none, two, none", []int64{0, 1, 20, 21, 40}, 4.0 / 3},
	} {
		if got := IndexOfDispersion(c.times, 10); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s: %g, want %g", c.what, got, c.want)
		}
	}
	for what, v := range map[string]float64{
		"no times":       IndexOfDispersion(nil, 10),
		"one window":     IndexOfDispersion([]int64{0, 5, 15}, 10),
		"no window size": IndexOfDispersion([]int64{0, 5, 15}, 0),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s: %g, want NaN", what, v)
		}
	}
}

// correlatedSeries is a stationary normal series in which neighbours are correlated
// by phi: what a queue does to latencies.
func correlatedSeries(r *rand.Rand, n int, phi float64) []float64 {
	series := make([]float64, n)
	v := r.NormFloat64()
	for i := range series {
		v = phi*v + math.Sqrt(1-phi*phi)*r.NormFloat64()
		series[i] = v
	}
	return series
}
