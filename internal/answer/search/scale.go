package search

import (
	"math"

	"redline/internal/judge/slo"
)

// scale is what a ramp says of the limit before any level.
type scale struct {
	rate   float64 // about where the limit is, 0 where there was no ramp
	still  float64 // the rate at which the server would stand still; 0 is not known
	queued bool    // the limit is not far above it
	spread float64 // of its logarithm
}

// How a ramp is read. Where a queue formed the rate is probably queueOver times
// too high; where the pace tells, the limit is about stillPart of the rate at
// which the server would stand still, or where an objective on the pace has
// paceRoom left. Either by a factor of rampSpread or so, and the limit of an
// objective that is strict may lie far below.
const (
	queueOver  = 1.8
	stillPart  = 0.65
	paceRoom   = 1.15
	rampSpread = 0.35
	// toldSlowing is the slowing that tells anything of a ramp.
	toldSlowing = 1.15
)

// scale reads a ramp.
func (s *Search) scale(l Level, o Observation) scale {
	// It is over before many sessions go on: each of its requests stands for all
	// turns of one.
	turns := s.spec.Turns
	rate := l.RateAt(l.Duration)
	if o.E2E > 0 && o.InFlight > 0 && o.Queued {
		// It rises so fast that long replies have hardly begun to fill the server:
		// what it had in flight a steady load has at a lower rate, by Little's law.
		rate = min(rate, o.InFlight/o.E2E.Seconds())
	}
	crowded := o.Queued && o.Slowing < s.Climber(l).slow // the pace had not ended it yet
	if o.Slowing < toldSlowing || crowded || o.E2E <= 0 || o.Pace <= 0 {
		if o.Queued {
			rate /= queueOver
		}
		return scale{rate: rate / turns, queued: o.Queued, spread: rampSpread}
	}
	mean := l.RateAt(l.Duration-l.Stretch()/2) / turns
	still := s.standstillRate(mean, o.Slowing, s.memoryShare(o, mean, o.Slowing))
	return scale{rate: stillPart * still, still: still, queued: true, spread: math.Hypot(rampSpread, 1/math.Sqrt(max(o.InFlight, 1)))}
}

// about is where the ramp says that the limit by one objective is.
func (c scale) about(o slo.Objective, lone Observation) float64 {
	if by := allowedSlowing(o, lone.Pace); c.still > 0 && by > 0 {
		return c.still * min(stillPart, max(1-paceRoom/by, 0.05))
	}
	return c.rate
}

// prior is the log of how likely a limit is before any level.
func (s *Search) prior(objective int, limit, doubt float64) float64 {
	if s.ramped.rate == 0 {
		return 0
	}
	z := (limit - math.Log(s.ramped.about(s.objectives[objective], s.lone))) / (doubt * s.ramped.spread)
	if !s.ramped.queued {
		return math.Log(max(0.5*math.Erfc(-z/math.Sqrt2), 1e-300))
	}
	return -2 * math.Log1p(z*z/3) // Student's t, which leaves room for surprises
}
