package search

import (
	"math"
	"slices"
	"testing"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
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
	if spec.Agents = e.lanes != nil; !spec.Agents {
		spec.Reply, spec.Pace = e.alone(t)
	}
	spec.Lengths = e.lengths()
	spec.Turns, spec.Settle = e.turns, e.settle
	s := must.Get(New(spec, objectives))(t)
	var got trial
	for level, ok := s.Next(); ok; level, ok = s.Next() {
		draw := 1000*seed + uint64(level.Draw)
		var o Observation
		if level.Purpose == Ramp {
			level, o = e.ramp(t, draw, level, s.Climber(level))
			o.Spent = level.Duration + setUp
		} else {
			g := e.level(t, draw, level)
			o = fromPoint(g.point(t, level.Rate, objectives), spec.Turns)
			if mean := spec.Lengths; mean.Prompt > 0 {
				prompt, output := g.meanShape()
				o.Work = luck(o.Work, prompt/mean.Prompt, output/mean.Output)
			}
			_, o.Resident = g.load(g.start, g.stop)
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

// firstSeed begins the seeds of the trials. Constants were chosen on lower ones.
const firstSeed = 7001

// trialCase is a search to play: the true limit, the budget, and what the limit
// was guessed to be over the truth, 0 for no guess.
type trialCase struct {
	truth
	budget time.Duration
	guess  float64
}

// outcome is what came of one search, as the state file has it.
type outcome struct {
	Engine    string        `json:"engine"`
	Objective string        `json:"objective"`
	Budget    time.Duration `json:"budget_ns"`
	Guess     float64       `json:"guess"`
	Seed      int           `json:"seed"`

	Rate     float64              `json:"rate"`
	Interval [2]float64           `json:"interval"`
	Standing result.LimitStanding `json:"standing"`
	Held     float64              `json:"held"`
	HeldS    float64              `json:"held_s"`
	Ramp     float64              `json:"ramp"` // the highest rate of the ramp
	Peak     float64              `json:"peak"` // the highest rate of any other level
	Clock    float64              `json:"clock_s"`
}

func (o outcome) of(c trialCase) bool {
	return o.Engine == c.Engine && o.Objective == c.Objective && o.Budget == c.budget && o.Guess == c.guess
}

func (c trialCase) play(t testing.TB, seed int) outcome {
	spec := Spec{Budget: c.budget, Guess: c.guess * c.Limit}
	got := runSearch(t, engineNamed(t, c.Engine), uint64(seed), spec, parseAll(t, c.Objective)...)
	a := got.answer
	o := outcome{Engine: c.Engine, Objective: c.Objective, Budget: c.budget, Guess: c.guess, Seed: seed,
		Rate: a.Rate, Interval: a.Interval, Standing: a.Standing, Clock: got.clock.Seconds()}
	if a.Held != nil {
		o.Held, o.HeldS = a.Held.Rate, a.Held.Seconds
	}
	turns := max(engineNamed(t, c.Engine).turns, 1) // a ramp has first turns alone
	for _, l := range got.levels {
		if l.Purpose == Ramp {
			o.Ramp = max(o.Ramp, l.RateAt(l.Duration)/turns)
		} else {
			o.Peak = max(o.Peak, l.Rate)
		}
	}
	return o
}

// score is how outcomes compare with the truth. Errors and half-widths are
// shares of the truth, clocks of the budget.
type score struct {
	trials, covered        int
	held                   int // near the limit
	open                   int // ended in "at least"
	errors, signed, halves []float64
	clocks                 []float64
	overshoots             []float64 // highest rate of the ramp over the truth
	peaks                  []float64 // highest rate of any level over the truth
	lengths                []float64 // of the runs that held a rate near the limit, in seconds
}

// heldWithin is how near to the limit a rate that was held must be.
const heldWithin = 0.15

func (s *score) add(o outcome, limit float64) {
	s.trials++
	if o.Interval[0] <= limit && (limit <= o.Interval[1] || o.Standing == atLeast) {
		s.covered++
	}
	if math.Abs(o.Held/limit-1) <= heldWithin {
		s.held++
		s.lengths = append(s.lengths, o.HeldS)
	}
	s.overshoots, s.peaks = append(s.overshoots, o.Ramp/limit), append(s.peaks, o.Peak/limit)
	s.errors = append(s.errors, math.Abs(o.Rate/limit-1))
	s.signed = append(s.signed, o.Rate/limit-1)
	half := (o.Interval[1] - o.Interval[0]) / 2 / limit
	if o.Standing == atLeast {
		half = 1 // nothing is known above
		s.open++
	}
	s.halves = append(s.halves, half)
	s.clocks = append(s.clocks, o.Clock/o.Budget.Seconds())
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
	s.overshoots = append(s.overshoots, other.overshoots...)
	s.peaks = append(s.peaks, other.peaks...)
	s.lengths = append(s.lengths, other.lengths...)
}

func quantile(values []float64, p float64) float64 {
	return stats.Quantile(slices.Sorted(slices.Values(values)), p)
}
