package compare

import (
	"math"
	"os"
	"redline/internal/judge/slo"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"redline/internal/effort"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// The engines on which comparisons are tried. The limit of the large one is
// that of the search's own trials.
var (
	small = engine{name: "8B, 8 at a time", spec: sim.Spec{MaxNumSeqs: 8}, output: 60, limit: 7.6, lead: 8 * time.Second, window: 30 * time.Second}
	large = engine{name: "8B", spec: sim.Spec{}, output: 200, limit: 24.96, lead: 15 * time.Second, window: 60 * time.Second}
)

// trialsAsked is how many comparisons the environment asks for, so many where
// it does not:
//
//	REDLINE_TRIALS=400 go test -run 'TestSame|TestFive|TestLimit|TestSingleRunsOfOne' -v -timeout 1h ./internal/answer/compare/
func trialsAsked(t testing.TB, usual int) (n int, full bool) {
	text := os.Getenv("REDLINE_TRIALS")
	if text == "" {
		return usual, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("REDLINE_TRIALS: %v", err)
	}
	return n, true
}

// firstOf is the side that answers first in a round: they take turns at that too.
func firstOf(round int) string { return "AB"[round%2 : round%2+1] }

// live compares two engines in rounds at 80 % of the limit. The requests of a
// round are the same for both, and no two engines share their own chance.
func live(t testing.TB, a, b engine, trial uint64) *Comparison {
	rounds := make([]Round, DefaultRounds)
	for i := range rounds {
		seed := trial*DefaultRounds + uint64(i)
		rounds[i] = Round{First: firstOf(i),
			A: a.values(t, seed, 2*seed+1, 0.8*a.limit),
			B: b.values(t, seed, 2*seed+2, 0.8*a.limit)}
	}
	return Live(rounds, Options{Seed: trial})
}

// compareTrials runs so many comparisons on all cores.
func compareTrials(t testing.TB, a, b engine, trials int) []*Comparison {
	all := make([]*Comparison, trials)
	var done sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for part := range cores {
		done.Go(func() {
			for i := part; i < trials; i += cores {
				all[i] = live(t, a, b, uint64(i))
			}
		})
	}
	done.Wait()
	return all
}

// maxFalseAlarms is the most false alarms of n comparisons that an alpha of 5 % makes
// with a chance of at least 1 %: 31 of 400.
func maxFalseAlarms(n int) int {
	for k := n / 20; ; k++ {
		if stats.BinomialAtLeast(float64(k+1), float64(n), 0.05) < 0.01 {
			return k
		}
	}
}

// enginesTried are all that were asked for: the large one takes minutes.
func enginesTried(full bool) []engine {
	if full {
		return []engine{small, large}
	}
	return []engine{small}
}

// TestSameEnginesAreNotCalledDifferent compares engines with themselves.
func TestSameEnginesAreNotCalledDifferent(t *testing.T) {
	t.Parallel()
	n, full := trialsAsked(t, effort.Of(8, 20))
	for _, e := range enginesTried(full) {
		alarms, by := 0, map[string]int{}
		for _, c := range compareTrials(t, e, e, n) {
			if c.Standing != slo.Same && c.Standing != slo.Undecided {
				alarms++
			}
			for _, m := range c.Metrics {
				if m.Standing == slo.Better || m.Standing == slo.Worse {
					by[m.Name]++
				}
			}
		}
		t.Logf("%s: %d of %d called different, at most %d allowed; by metric %v", e.name, alarms, n, maxFalseAlarms(n), by)
		if alarms > maxFalseAlarms(n) {
			t.Errorf("%s: %d of %d comparisons of an engine with itself call it different, want at most %d", e.name, alarms, n, maxFalseAlarms(n))
		}
	}
}

func TestAllowedIsTheBoundOfTheTrial(t *testing.T) {
	t.Parallel()
	if got := maxFalseAlarms(400); got != 31 {
		t.Errorf("of 400 comparisons %d false alarms are allowed, want 31", got)
	}
}

// slower gives the engine steps so much longer that the median time per token
// grows by a little less than 5 %.
func slower(e engine, factor float64) engine {
	e.spec.MemoryShare = 0.8 / factor
	return e
}

// TestFivePercentSlowerIsCalled plants a difference in the time per token.
func TestFivePercentSlowerIsCalled(t *testing.T) {
	t.Parallel()
	n, full := trialsAsked(t, 24)
	n /= 4 // it takes fewer to tell a power of 80 % from one of nearly 100 %
	factors := map[string]float64{small.name: 1.057, large.name: 1.065}
	for _, e := range enginesTried(full) {
		called := 0
		var planted []float64
		for _, c := range compareTrials(t, e, slower(e, factors[e.name]), n) {
			m := findMetric(t, c, "tpot:p50")
			planted = append(planted, math.Log(*m.Ratio))
			if m.Standing == slo.Worse {
				called++
			}
		}
		effect := math.Expm1(stats.Mean(planted))
		t.Logf("%s: tpot:p50 slower by %.2f %%: called in %d of %d", e.name, 100*effect, called, n)
		if effect > 0.05 {
			t.Errorf("%s: tpot:p50 is slower by %.2f %%, which is more than was to be planted", e.name, 100*effect)
		}
		if float64(called) < 0.8*float64(n) {
			t.Errorf("%s: %d of %d comparisons call a tpot:p50 that is 5 %% slower, want 80 %%", e.name, called, n)
		}
	}
}

func findMetric(t testing.TB, c *Comparison, name string) Metric {
	for _, m := range c.Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no metric %s", name)
	return Metric{}
}

// TestLimitOfTheSmallEngine holds the rate that the trials call its limit to
// what a limit is.
func TestLimitOfTheSmallEngine(t *testing.T) {
	_, full := trialsAsked(t, 0)
	if !full {
		t.Skip("set REDLINE_TRIALS=400 to measure it")
	}
	e := small
	e.window = 300 * time.Second
	late, all := 0, 0
	for seed := range uint64(200) {
		for _, one := range e.play(t, seed, seed, e.limit, func(*trip, sim.Token) {}) {
			if one.within(int64(e.lead), int64(e.lead+e.window)) {
				all++
				if one.first-one.due > int64(500*time.Millisecond) {
					late++
				}
			}
		}
	}
	share := float64(late) / float64(all)
	t.Logf("at %.2f/s %.2f %% wait longer than 500 ms", e.limit, 100*share)
	if share < 0.007 || share > 0.014 {
		t.Errorf("at %.2f/s %.2f %% wait longer than 500 ms; at the limit it is 1 %%", e.limit, 100*share)
	}
}
