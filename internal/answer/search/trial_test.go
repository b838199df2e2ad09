package search

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/stats"
)

// trial is one whole search in virtual time, and how long it took by the clock.
type trial struct {
	answer Limit
	levels []Level
	clock  time.Duration
}

// setUp is the time that the program takes between two stages.
const setUp = 400 * time.Millisecond

// runSearch conducts a search against an engine as the program does it: the
// ramp is watched, every level has its warm-up, window and drain and is measured
// by package metric, the luck of its draw is told, and all of it takes time.
func runSearch(t testing.TB, e engine, seed uint64, spec Spec, objectives ...slo.Objective) trial {
	t.Helper()
	s, err := New(spec, objectives)
	if err != nil {
		t.Fatal(err)
	}
	var got trial
	for level, ok := s.Next(); ok; level, ok = s.Next() {
		draw := 1000*seed + uint64(level.Draw)
		var o Observation
		if level.Purpose == Ramp {
			level.Duration, o = e.ramp(t, draw, level)
			o.Spent = level.Duration + setUp
		} else {
			g := e.level(t, draw, level)
			o = FromPoint(g.point(t, level.Rate, objectives))
			if e.drawsLengths {
				prompt, output := g.meanShape()
				mean := chatMean()
				o.Work = Luck(o.Work, prompt/mean[0], output/mean[1])
			}
			o.Spent = time.Duration(g.over) + setUp
		}
		s.Observe(level, o)
		got.clock += o.Spent
		if got.levels = append(got.levels, level); len(got.levels) > 60 {
			t.Fatalf("no end after %v", got.levels)
		}
	}
	got.answer = s.Answer()
	return got
}

// chatMean is the mean prompt and output of the workload.
var chatMean = sync.OnceValue(func() [2]float64 {
	r, sum := stats.Rand(1, "mean", 0), [2]int{}
	for range 1_000_000 {
		s := chatShape(r)
		sum[0] += s.prompt
		sum[1] += s.output
	}
	return [2]float64{float64(sum[0]) / 1e6, float64(sum[1]) / 1e6}
})

// meanShape is the mean prompt and output of the window's requests.
func (g stage) meanShape() (prompt, output float64) {
	n, sum := 0, [2]int{}
	for _, one := range g.trips {
		if one.due >= g.start && one.due < g.stop {
			n++
			sum[0] += one.prompt
			sum[1] += one.output
		}
	}
	return float64(sum[0]) / float64(max(n, 1)), float64(sum[1]) / float64(max(n, 1))
}

// firstSeed begins the seeds of the trials. The constants of the belief were
// chosen on the seeds from 1 to 100 (REDLINE_LIMIT_SEED=1).
const firstSeed = 6001

func first(t testing.TB) int { return cmp.Or(count(t, "REDLINE_LIMIT_SEED"), firstSeed) }

// runTrials runs n searches, one on each processor.
func runTrials(t testing.TB, e engine, n int, budget time.Duration, o slo.Objective) []trial {
	trials := make([]trial, n)
	seed := first(t)
	parts := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for part := range parts {
		all.Go(func() {
			for i := part; i < n; i += parts {
				trials[i] = runSearch(t, e, uint64(seed+i), Spec{Budget: budget}, o)
			}
		})
	}
	all.Wait()
	return trials
}

// score is how trials compare with the truth. Errors and half-widths are
// shares of the truth, clocks of the budget.
type score struct {
	trials, covered        int
	held                   int // near the limit
	open                   int // ended in "at least"
	errors, signed, halves []float64
	clocks                 []float64
}

// heldWithin is how near to the limit a rate that was held must be.
const heldWithin = 0.15

func (s *score) add(g trial, limit float64, budget time.Duration) {
	a := g.answer
	s.trials++
	if a.Interval[0] <= limit && (limit <= a.Interval[1] || a.Standing == atLeast) {
		s.covered++
	}
	if a.Held != nil && math.Abs(a.Held.Rate/limit-1) <= heldWithin {
		s.held++
	}
	s.errors = append(s.errors, math.Abs(a.Rate/limit-1))
	s.signed = append(s.signed, a.Rate/limit-1)
	half := (a.Interval[1] - a.Interval[0]) / 2 / limit
	if a.Standing == atLeast {
		half = 1 // nothing is known above
		s.open++
	}
	s.halves = append(s.halves, half)
	s.clocks = append(s.clocks, g.clock.Seconds()/budget.Seconds())
}

func (s *score) join(other score) {
	s.trials += other.trials
	s.covered += other.covered
	s.held += other.held
	s.open += other.open
	s.errors = append(s.errors, other.errors...)
	s.signed = append(s.signed, other.signed...)
	s.halves = append(s.halves, other.halves...)
	s.clocks = append(s.clocks, other.clocks...)
}

func quantile(values []float64, p float64) float64 {
	return stats.Quantile(slices.Sorted(slices.Values(values)), p)
}
