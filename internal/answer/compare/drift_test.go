package compare

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/docs/pages"
	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

var update = flag.Bool("update", false, "write its table in docs/measured/RATES.md")

// months are runs of one plan, a month between any two.
func months(values []Values) []Sample {
	series := make([]Sample, len(values))
	for i, v := range values {
		series[i] = Sample{ID: fmt.Sprintf("run-%02d", i+1), At: time.Date(2026, time.Month(1+i), 1, 3, 0, 0, 0, time.UTC), Values: v}
	}
	return series
}

// runsMeasured are the figures of so many runs of one engine at 80 % of its
// limit: with the same requests at the same moments each time, as scheduled
// runs have them, or with fresh ones.
func runsMeasured(t testing.TB, e engine, n int, fresh bool) []Values {
	runs := make([]Values, n)
	for i := range runs {
		requests := uint64(1000)
		if fresh {
			requests += uint64(i)
		}
		p := e.point(t, requests, uint64(5000+i), 0.8*e.limit)
		runs[i] = WatchedValues(&result.Result{Points: []result.Point{p}})
	}
	return runs
}

// calls says after which run of a series a change is called that was not
// before, counted from 0, and -1 where none is.
func calls(series []Sample) int {
	for n := 1; n <= len(series); n++ {
		if len(Drift(series[:n]).Changes) > 0 {
			return n - 1
		}
	}
	return -1
}

// addNoise are runs as they would be if each day made every latency longer or
// shorter by some noise, and from step on the p95 of tpot a tenth longer.
func addNoise(runs []Values, noise float64, step int, r *rand.Rand) []Values {
	out := make([]Values, len(runs))
	for i, v := range runs {
		out[i] = Values{}
		day := math.Exp(noise * r.NormFloat64())
		for name, value := range v {
			if strings.Contains(name, ":p") {
				value *= day
			}
			out[i][name] = value
		}
		if i >= step {
			out[i]["tpot:p95"] *= 1.1
		}
	}
	return out
}

// driftTrial is what came of many series of 24 monthly runs.
type driftTrial struct {
	fresh          bool
	noise          float64
	alarms, called int
}

func tryDrift(runs []Values, fresh bool, noise float64, trials int) driftTrial {
	const length = 24
	r := rand.New(rand.NewPCG(7, 7))
	trial := driftTrial{fresh: fresh, noise: noise}
	for range trials {
		r.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		if calls(months(addNoise(runs[:length], noise, length, r))) >= 0 {
			trial.alarms++
		}
		step := 10 + r.IntN(10)
		if calls(months(addNoise(runs[:step+2], noise, step, r))) >= step {
			trial.called++
		}
	}
	return trial
}

// TestDriftOverTwoYears draws series of 24 monthly runs from runs of a simulated
// engine: as they are, and with a step of 10 % in the p95 of tpot. The bounds are
// those that the product promises where runs differ by 1 % from day to day:
// 10 false alarms in 200 series, 180 steps called within two runs.
func TestDriftOverTwoYears(t *testing.T) {
	t.Parallel()
	if !*update {
		effort.Long(t)
	}
	const trials = 200
	same := runsMeasured(t, small, 120, false)
	promised := tryDrift(same, false, 0.01, trials)
	if promised.alarms > 10 || promised.called < 180 {
		t.Errorf("%d false alarms in %d series, 10 allowed; %d steps called, 180 wanted", promised.alarms, trials, promised.called)
	}
	if !*update {
		return
	}
	all := []driftTrial{tryDrift(same, false, 0, trials), promised, tryDrift(same, false, 0.02, trials), tryDrift(same, false, 0.03, trials),
		tryDrift(runsMeasured(t, small, 400, true), true, 0, trials)}
	rows := ""
	for _, trial := range all {
		requests := "the same in every run"
		if trial.fresh {
			requests = "fresh in every run"
		}
		rows += fmt.Sprintf("| %s | %.0f %% | %d of %d | %d of %d |\n", requests, 100*trial.noise, trial.alarms, trials, trial.called, trials)
	}
	const head = "| requests | noise from day to day | false alarms | 10 % steps called within two runs |\n|---|---|---|---|\n"
	must.Do(t, pages.Write("RATES.md", "drift", head+rows))
}

// near1 is a level with a spread of about half a percent that no chance has a
// hand in.
func near1(level float64, i int) float64 {
	return level * (1 + 0.004*math.Sin(float64(2*i)))
}

func TestDriftNamesTheRunTheMetricAndTheCause(t *testing.T) {
	t.Parallel()
	var values []Values
	for i := range 14 {
		v := Values{"tpot:p95": near1(20, i), "ttft:p50": near1(100, i+3)}
		if i >= 12 {
			v["tpot:p95"] = near1(23, i)
		}
		values = append(values, v)
	}
	series := months(values)
	for i := range series {
		series[i].Settings = map[string]string{"engine version": "0.11", "driver": "550"}
		if i >= 12 {
			series[i].Settings = map[string]string{"engine version": "0.12"} // the driver is not told
		}
	}
	d := Drift(series)
	upgrade := result.Setting{Name: "engine version", Before: "0.11", After: "0.12", Run: "run-13", At: series[12].At}
	want := []result.MetricShift{{Metric: "tpot:p95", Unit: "ms", Before: 20, After: 23, Since: "run-13", At: series[12].At,
		Standing: slo.Worse, Causes: []result.Setting{upgrade}, Ratio: new(1.15)}}
	expect.Same(t, want, d.Changes, cmpopts.IgnoreFields(result.MetricShift{}, "P"), cmpopts.EquateApprox(0.01, 0))
	expect.Same(t, []result.Setting{upgrade}, d.Settings)
	if d.Standing != slo.Worse {
		t.Errorf("standing %s", d.Standing)
	}
}

// TestAPinAcceptsALevel shows that a change counts until a run of the new level
// is pinned, and that the next change is seen soon after: earlier levels lend
// their spread.
func TestAPinAcceptsALevel(t *testing.T) {
	t.Parallel()
	var values []Values
	for i := range 20 {
		level := 20.0
		if i >= 12 {
			level = 23
		}
		if i >= 17 {
			level = 26
		}
		values = append(values, Values{"tpot:p95": near1(level, i)})
	}
	since := func(d *result.Drift) (runs []string) {
		for _, m := range d.Changes {
			runs = append(runs, m.Since)
		}
		return runs
	}
	series := months(values)
	for _, c := range []struct {
		name   string
		length int
		pin    int // counted from 1, 0 for none
		want   []string
	}{
		{"before the change nothing is called", 12, 0, nil},
		{"the change stays until it is accepted", 17, 0, []string{"run-13"}},
		{"a pinned run of the new level is the baseline", 17, 14, nil},
		{"a later change counts from there", 20, 14, []string{"run-18"}},
		{"a pin on the old level leaves both changes", 20, 3, []string{"run-13", "run-18"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pinned := slices.Clone(series[:c.length])
			if c.pin > 0 {
				pinned[c.pin-1].Pinned = true
			}
			expect.Same(t, c.want, since(Drift(pinned)), cmpopts.EquateEmpty())
		})
	}
}

func TestACreepIsSeen(t *testing.T) {
	t.Parallel()
	var values []Values
	for i := range 24 {
		values = append(values, Values{"ttft:p95": near1(400, i) * math.Pow(1.006, float64(i))})
	}
	d := Drift(months(values))
	if d.Standing != slo.Worse {
		t.Errorf("0.6 %% more with each of 24 runs: %s", d.Verdict)
	}
}

func TestShortSeriesSayHowManyRunsAreMissing(t *testing.T) {
	t.Parallel()
	for runs, needs := range map[int]int{0: 10, 1: 9, 9: 1, 10: 0} {
		var values []Values
		for i := range runs {
			values = append(values, Values{"throughput": near1(1000, i)})
		}
		d := Drift(months(values))
		standing := slo.Undecided
		if needs == 0 {
			standing = slo.Same
		}
		if d.Needs != needs || d.Standing != standing {
			t.Errorf("%d runs: %d needed, %s", runs, d.Needs, d.Standing)
		}
	}
}

// Three runs say within which bounds the third moved, and no more: of two that
// differ by 2% the third may by chance be 20% off, and not three times as slow.
func TestAFewRunsGiveWideBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		third   float64
		outside bool
	}{{402, false}, {480, false}, {1300, true}} {
		var values []Values
		for _, v := range []float64{400, 408, c.third} {
			values = append(values, Values{"ttft:p95": v})
		}
		d := Drift(months(values))
		if len(d.Early) != 1 || d.Early[0].Outside != c.outside || d.Standing != slo.Undecided || d.Needs != 7 {
			t.Fatalf("%g: %+v, %s, %d needed", c.third, d.Early, d.Standing, d.Needs)
		}
		if e := d.Early[0]; !(e.Interval[0] < c.third/404-1 && c.third/404-1 < e.Interval[1]) || (e.Interval[0] > 0) != c.outside {
			t.Errorf("%g: %v", c.third, e.Interval)
		}
		if c.outside != strings.Contains(d.Verdict, "is not like the 2 before it") || !strings.Contains(d.Verdict, "7 more runs for confidence") {
			t.Errorf("%g: %s", c.third, d.Verdict)
		}
	}
	// What the machine may have done to the newest is no change, and what it measured is said.
	held := months([]Values{{"ttft:p95": 400}, {"ttft:p95": 400}, {"ttft:p95": 1300}})
	held[2].Ends = Ends{"ttft:p95": {380, 1300}}
	if e := Drift(held).Early[0]; math.Abs(e.After-400) > 1e-6 || e.Measured == nil || *e.Measured != 1300 {
		t.Errorf("held up: %+v", e)
	}
	if d := Drift(months([]Values{{"ttft:p95": 400}, {"ttft:p95": 900}})); d.Early != nil {
		t.Errorf("two runs: %+v", d.Early)
	}
}

// TestWhatDoesNotMatterIsNotCalled gives series without any spread, in which
// every difference exceeds it.
func TestWhatDoesNotMatterIsNotCalled(t *testing.T) {
	t.Parallel()
	series := func(before, after Values) []Sample {
		values := slices.Repeat([]Values{before}, 12)
		return months(append(values, after, after))
	}
	for _, c := range []struct {
		name          string
		before, after Values
		want          slo.Standing
	}{
		{"one percent", Values{"tpot:p50": 20}, Values{"tpot:p50": 20.2}, slo.Same},
		{"five percent", Values{"tpot:p50": 20}, Values{"tpot:p50": 21}, slo.Worse},
		{"one error in a thousand", Values{"fault:rate": 0}, Values{"fault:rate": 0.001}, slo.Same},
		{"one error in a hundred", Values{"fault:rate": 0}, Values{"fault:rate": 0.01}, slo.Worse},
		{"a higher limit", Values{"limit": 20}, Values{"limit": 22}, slo.Better},
		{"answers that got worse", Values{"quality": 0.95}, Values{"quality": 0.92}, slo.Worse},
		{"faster, but dearer", Values{"tpot:p50": 20, "cost": 2}, Values{"tpot:p50": 18, "cost": 3}, slo.Mixed},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := Drift(series(c.before, c.after)); d.Standing != c.want {
				t.Errorf("%s: %s, want %s", d.Standing, d.Verdict, c.want)
			}
		})
	}
}

// From three earlier runs on, or from a pinned one, a tripling is called with the
// first run that shows it and with each one after; a run that went astray is
// forgotten when the next is as before.
func TestATriplingIsCalledAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pinned bool
		levels []float64
		want   []slo.Standing // after each run
	}{
		{"three earlier runs", false, []float64{6.7, 6.8, 6.6, 19.1, 19.3, 19.2}, []slo.Standing{slo.Undecided, slo.Undecided, slo.Undecided, slo.Worse, slo.Worse, slo.Worse}},
		{"a pinned run", true, []float64{6.7, 19.1, 19.3}, []slo.Standing{slo.Undecided, slo.Worse, slo.Worse}},
		{"two earlier runs", false, []float64{6.7, 6.8, 19.1}, []slo.Standing{slo.Undecided, slo.Undecided, slo.Undecided}},
		{"one run gone astray", false, []float64{6.7, 6.8, 6.6, 19.1, 6.7}, []slo.Standing{slo.Undecided, slo.Undecided, slo.Undecided, slo.Worse, slo.Undecided}},
	} {
		var values []Values
		for _, v := range c.levels {
			values = append(values, Values{"tpot:p50": v, "ttft:p50": 100})
		}
		series := months(values)
		series[0].Pinned = c.pinned
		var got []slo.Standing
		for n := range series {
			got = append(got, Drift(series[:n+1]).Standing)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
