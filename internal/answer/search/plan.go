package search

import (
	"math"
	"time"

	"redline/internal/judge/slo"
)

// Plan is what a search expects to do.
type Plan struct {
	// Levels are those that follow, the ramp first, if the limit lies where it
	// is guessed.
	Levels []Level
	// Sustained is how long the sustained runs are, and Budget the wall-clock
	// time of everything.
	Sustained, Budget time.Duration
	// Guess is the limit that the plan supposes.
	Guess float64
}

// What a plan supposes where nothing is known.
const (
	supposedStep  = 16.0 // times the first rate
	supposedSlope = 40.0
	supposedCycle = 20.0 // seconds from one request of an agent to the next
	maxPlanned    = 60
)

// Plan rehearses what follows against a server whose limit lies where it is
// believed to be, or at some multiple of the first rate while nothing is
// known. The real search takes another course as soon as levels say so.
func (s *Search) Plan() Plan { return s.rehearse(maxPlanned) }

// Ahead is the first levels of a plan, n of them or fewer.
func (s *Search) Ahead(n int) []Level { return s.rehearse(n).Levels }

func (s *Search) rehearse(limit int) Plan {
	p := Plan{Sustained: s.sustainedLength(), Budget: s.spec.Budget, Guess: min(supposedStep*s.spec.Start, s.spec.Ceiling)}
	if kept, broken := s.bracket(); kept > 0 && !math.IsInf(broken, 1) {
		p.Guess = s.belief().quantile(0.5)
	}
	rehearsal := *s
	rehearsal.levels = append([]levelResult(nil), s.levels...)
	for len(p.Levels) < limit {
		level, ok := rehearsal.Next()
		if !ok {
			break
		}
		if level.Purpose == Ramp {
			level = level.Until(min(level.Duration, time.Duration(math.Log2(max(queueOver*p.Guess/level.From, 2))*float64(doubling))))
		}
		o := s.suppose(level, p.Guess)
		o.Spent = level.Warmup + level.Duration + level.Drain + pauseBetweenLevels
		rehearsal.Observe(level, o)
		p.Levels = append(p.Levels, level)
	}
	return p
}

// suppose is what a level would show of a server with that limit.
func (s *Search) suppose(l Level, limit float64) Observation {
	n := max(int(math.Round(l.Rate*s.requestsPerLoad()*l.Duration.Seconds())), 1)
	o := Observation{Requests: n, Queued: true}
	for _, objective := range s.objectives {
		share := logistic(logit(allowedShare(objective)) + supposedSlope*math.Log(l.Rate*(1+1e-3)/limit))
		v := slo.Verdict{Objective: objective.Text, Scope: objective.Scope, Standing: slo.Met, N: n}
		v.Violations, v.NEff = int(share*float64(n)), new(float64(n)/maxUnseen)
		if share > allowedShare(objective) {
			v.Standing = slo.Missed
		}
		o.Objectives = append(o.Objectives, v)
	}
	return o
}
