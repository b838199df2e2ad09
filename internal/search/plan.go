package search

import (
	"math"
	"time"

	"redline/internal/slo"
)

// Plan is what a search expects to do.
type Plan struct {
	// Levels are those that follow, if the limit lies where it is guessed.
	Levels []Level
	// Load is how long they take, without warm-up and cool-down.
	Load time.Duration
	// Guess is the limit that the plan supposes.
	Guess float64
}

// What a plan supposes where nothing is known.
const (
	supposedStep  = 16.0 // times the first rate
	supposedSlope = 40.0
	mostPlanned   = 40
)

// Plan rehearses what follows against a server whose limit lies where it is
// believed to be, or at some multiple of the first rate while nothing is
// known. The real search takes another course as soon as levels say so.
func (s *Search) Plan() Plan {
	p := Plan{Guess: min(supposedStep*s.spec.Start, s.spec.Ceiling)}
	if s.bracket().closed() {
		p.Guess = s.belief().quantile(0.5)
	}
	rehearsal := *s
	rehearsal.seen = append([]seen(nil), s.seen...)
	for len(p.Levels) < mostPlanned {
		level, ok := rehearsal.Next()
		if !ok {
			break
		}
		rehearsal.Observe(level, s.suppose(level, p.Guess))
		p.Levels = append(p.Levels, level)
		p.Load += level.Duration
	}
	return p
}

// suppose is what a level would show of a server with that limit.
func (s *Search) suppose(l Level, limit float64) Observation {
	n := max(int(math.Round(l.Rate*l.Duration.Seconds())), 1)
	o := Observation{Requests: n, Completed: l.Rate}
	for _, objective := range s.objectives {
		share := logistic(logit(allowed(objective)) + supposedSlope*math.Log(l.Rate*(1+1e-3)/limit))
		v := slo.Verdict{Objective: objective.Text, Scope: objective.Scope, Standing: slo.Met, N: n}
		worth := float64(n) / mostUnseen
		v.Violations, v.NEff = int(share*float64(n)), &worth
		if share > allowed(objective) {
			v.Standing = slo.Missed
		}
		o.Objectives = append(o.Objectives, v)
	}
	return o
}
