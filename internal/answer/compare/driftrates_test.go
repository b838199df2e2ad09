package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"redline/docs/pages"
	"redline/internal/effort"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/stats"
)

// daily are the runs of one server whose figures vary from run to run by a
// spread, each run as like the one before it as alike says, and figures of a run
// as like each other as common says.
type daily struct{ spread, alike, common float64 }

// series are so many runs; from step on tpot:p50 is so many times as long.
func (d daily) series(r *rand.Rand, runs, step int, times float64) []Sample {
	course := func() func() float64 {
		level := r.NormFloat64()
		return func() float64 {
			now := level
			level = d.alike*level + math.Sqrt(1-d.alike*d.alike)*r.NormFloat64()
			return now
		}
	}
	day, own := course(), map[string]func() float64{}
	levels := Values{"ttft:p50": 100, "ttft:p95": 300, "tpot:p50": 20, "tpot:p95": 25, "e2e:p95": 5000, "throughput": 2000, "cost": 0.4}
	for _, f := range watchedCriteria() {
		own[f.name] = course()
	}
	var values []Values
	for i := range runs {
		v, today := Values{"fault:rate": 0}, day()
		for _, f := range watchedCriteria() { // in one order, so that a seed means one series
			if level := levels[f.name]; level > 0 {
				v[f.name] = level * math.Exp(d.spread*(math.Sqrt(d.common)*today+math.Sqrt(1-d.common)*own[f.name]()))
			}
		}
		if i >= step {
			v["tpot:p50"] *= times
		}
		values = append(values, v)
	}
	return months(values)
}

// driftRate is what came of many series of equal runs, and of such with a step.
type driftRate struct {
	daily
	series, alarms, odd, found, tripled int
}

// documented is how many series of a kind the table of the manual is of.
const documented = 1000

func (d *driftRate) try(seed uint64) {
	r := stats.Rand(seed, fmt.Sprint("drift rates ", d.daily), 0)
	equal := d.daily.series(r, driftRuns, driftRuns, 1)
	alarm, odd := false, false
	for n := 1; n <= driftRuns; n++ {
		got := Drift(equal[:n])
		alarm = alarm || len(got.Changes) > 0
		for _, e := range got.Early {
			odd = odd || e.Outside
		}
	}
	at := 10 + int(seed%8)
	step := d.daily.series(r, at+3, at, 1.1)
	found := calledSince(step, at, at+2)
	before := 3 + int(seed%5)
	slow := d.daily.series(r, before+2, before, 3)
	tripled := calledSince(slow[:before+1], before, before) && calledSince(slow, before, before+1)
	d.series++
	for count, is := range map[*int]bool{&d.alarms: alarm, &d.odd: odd, &d.found: found, &d.tripled: tripled} {
		if is {
			*count++
		}
	}
}

// calledSince reports whether any of the looks from one run to another says that
// tpot:p50 is worse.
func calledSince(series []Sample, from, to int) bool {
	for n := from + 1; n <= min(to+1, len(series)); n++ {
		got := Drift(series[:n])
		for _, m := range got.Changes {
			if m.Metric == "tpot:p50" && m.Standing == slo.Worse && got.Standing != slo.Same {
				return true
			}
		}
	}
	return false
}

// driftRates tries many series of each kind, on all cores.
func driftRates(first uint64, series int) []*driftRate {
	var all []*driftRate
	for _, spread := range []float64{0.02, 0.1} {
		for _, alike := range []float64{0, 0.7} {
			for _, common := range []float64{0, 0.8} {
				all = append(all, &driftRate{daily: daily{spread, alike, common}})
			}
		}
	}
	var busy sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, d := range all {
		slots <- struct{}{}
		busy.Go(func() {
			defer func() { <-slots }()
			for i := range series {
				d.try(first + uint64(i))
			}
		})
	}
	busy.Wait()
	return all
}

// TestDriftRates holds drift to its word: false alarms in at most 5 % of series
// of 20 equal runs, over all figures and looks, also where each run is like the
// one before it; a step of 10 % found within three runs in 80 % where runs vary
// by 2 %; a tripling called at once, each time. REDLINE_DRIFT=1000 tries as many
// and writes docs/measured/RATES.md.
func TestDriftRates(t *testing.T) {
	t.Parallel()
	series, _ := strconv.Atoi(os.Getenv("REDLINE_DRIFT"))
	series = max(series, effort.Of(20, 40))
	first := uint64(1000)
	if series >= documented {
		first = 9_000_000 // seeds that no rule was chosen on
	}
	rows := ""
	for _, d := range driftRates(first, series) {
		n := float64(series)
		rows += fmt.Sprintf("| %.0f%% | %g | %g | %.1f%% | %.1f%% | %.0f%% | %.0f%% |\n", 100*d.spread, d.alike, d.common,
			100*float64(d.alarms)/n, 100*float64(d.odd)/n, 100*float64(d.found)/n, 100*float64(d.tripled)/n)
		if d.alarms > maxFalseAlarms(series) || d.odd > maxFalseAlarms(series) || float64(d.tripled) < 0.99*n {
			t.Errorf("%+v: %d false alarms and %d odd runs in %d series, %d allowed; a tripling called at once in %d", d.daily, d.alarms, d.odd, series, maxFalseAlarms(series), d.tripled)
		}
		if d.spread == 0.02 && d.alike == 0 && float64(d.found) < 0.7*n {
			t.Errorf("%+v: a step of 10%% found in %d of %d series", d.daily, d.found, series)
		}
	}
	t.Log("\n" + rows)
	if series >= documented {
		head := "| runs vary by | correlation of a run with the next | of figures of one run | false alarms | called odd among the first nine | 10% steps found within 3 runs | triplings called at once, each time |\n|---|---|---|---|---|---|---|\n"
		must.Do(t, pages.Write("RATES.md", "drift rates", head+rows))
	}
}
