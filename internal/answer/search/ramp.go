package search

import (
	"math"
	"time"
)

// doubling is how long a ramp takes to double its rate: slow enough that a queue
// shows before the rate is many times too high.
const doubling = 1200 * time.Millisecond

// ramp is the rising load that finds the scale of the server, and warms it.
func (s *Search) ramp() Level {
	doublings := math.Log2(s.spec.Ceiling / s.spec.Start)
	longest := s.spec.Budget / 4
	length := min(time.Duration(doublings*float64(doubling)), longest).Round(time.Millisecond)
	l := Level{From: s.spec.Start, Duration: max(length, time.Second), Purpose: Ramp}
	l.Rate = min(l.RateAt(l.Duration), s.spec.Ceiling)
	return l
}

// RateAt is the rate that the level offers so long after its start.
func (l Level) RateAt(after time.Duration) float64 {
	if l.From == 0 {
		return l.Rate
	}
	return l.From * math.Exp2(after.Seconds()/doubling.Seconds())
}

// scale is the rate that a ramp speaks of. It rises so fast that long replies
// have hardly begun to fill the server: what it had in flight at its end a
// steady load has at a lower rate, by Little's law.
func scale(l Level, o Observation) float64 {
	rate := l.RateAt(l.Duration)
	if o.E2E > 0 && o.InFlight > 0 && o.Queued {
		rate = min(rate, o.InFlight/o.E2E.Seconds())
	}
	return rate
}

// Climber watches a ramp and says when it has risen far enough: when a queue
// forms, so that more requests wait for their first output than the rate and
// the time to a first output at a lighter load explain, or when requests fail.
// Its zero value is ready.
type Climber struct {
	last    time.Duration
	waited  float64 // waiting requests times seconds
	means   []mean
	crowded bool
}

// mean is the mean time to a first output when so many had had it, in seconds.
type mean struct {
	answered int
	seconds  float64
}

// When waiting is a queue.
const (
	queueLeast  = 8 // requests
	queueFactor = 4 // times what a lighter load explains
	// queueMost of all requests is a queue whatever explains it: a ramp has most
	// of them in its last seconds.
	queueMost = 0.6
	// blindQueue wait before queueKnown were answered: the server is slow, or
	// far too small.
	blindQueue = 64
	queueKnown = 10
)

// Enough takes in a moment of the ramp: how long it has run, how many requests
// wait for their first output, have had it, and have failed. It is asked several
// times a second.
func (c *Climber) Enough(l Level, elapsed time.Duration, waiting, answered, failed int) bool {
	c.waited += float64(waiting) * (elapsed - c.last).Seconds()
	c.last = elapsed
	if failed > queueLeast && failed > answered/10 {
		return true
	}
	if answered < queueKnown {
		return waiting > blindQueue
	}
	// By Little's law.
	c.means = append(c.means, mean{answered, c.waited / float64(answered)})
	light := c.means[0].seconds
	for _, m := range c.means {
		if m.answered <= answered/2 {
			light = m.seconds
		}
	}
	before := c.crowded
	usual := min(queueFactor*light*l.RateAt(elapsed), queueMost*float64(waiting+answered))
	c.crowded = float64(waiting) > queueLeast+usual
	return c.crowded && before
}
