package search

import (
	"math"
	"time"

	"redline/internal/judge/slo"
)

// How a ramp rises. What a server has taken on shows only while it works on it:
// its rate doubles every doubling, or every doublingPart of the time that a
// reply takes alone where that is longer.
const (
	doubling     = 1500 * time.Millisecond
	doublingPart = 0.7
	// openingFlight is how many requests the first rate keeps in flight at most,
	// and guessPart of a guess of the limit is the first rate where there is one.
	openingFlight = 8.0
	guessPart     = 1.0 / 6
	// rampPart of the budget is the most that it takes.
	rampPart = 4
)

// ramp is the rising load that finds the scale of the server, and warms it.
func (s *Search) ramp() Level {
	l := Level{From: s.spec.Start, Purpose: Ramp}
	double := max(doubling, time.Duration(doublingPart*float64(s.spec.Reply)))
	most := min(s.spec.Budget/rampPart, s.spec.Budget-2*s.cost(s.spec.MinWindow)-pauseBetweenLevels)
	length := min(time.Duration(math.Log2(s.spec.Ceiling/l.From)*float64(double)), most)
	l.Duration = max(length.Round(time.Millisecond), time.Second)
	l.Rate = min(l.From*math.Exp2(l.Duration.Seconds()/double.Seconds()), s.spec.Ceiling)
	return l
}

// RateAt is the rate that the level offers so long after its start.
func (l Level) RateAt(after time.Duration) float64 {
	if l.From == 0 {
		return l.Rate
	}
	return l.From * math.Pow(l.Rate/l.From, after.Seconds()/l.Duration.Seconds())
}

// Until is the ramp as far as it had risen after so long.
func (l Level) Until(after time.Duration) Level {
	l.Rate, l.Duration = l.RateAt(after), after
	return l
}

// Moment is a ramp at one time: how many of its requests were due, have had
// output, have ended and have failed so far, and the output events of all.
type Moment struct {
	Elapsed                      time.Duration
	Due, Answered, Ended, Failed int
	Events                       int
}

func (m Moment) waiting() float64 { return float64(m.Due - m.Answered - m.Failed) }

// Climber watches a ramp and says when it has risen far enough: when a queue
// forms, so that more requests wait for their first output than the rate and
// the time to a first output at a lighter load explain; when replies come so
// much slower than a lone one that more load would bring the server to its
// limit; or when requests fail.
type Climber struct {
	level Level
	slow  float64 // the slowing that is enough
	lone  float64 // the pace of a lone reply in seconds, 0 while it is not known

	moments []moment
	crowded bool
}

// moment is one with the waiting and the running requests before it, each times
// seconds.
type moment struct {
	Moment
	waited, ran float64
}

// When waiting is a queue, and slowness enough.
const (
	queueLeast  = 4 // requests
	queueFactor = 2 // times what a lighter load explains
	// queueMost of all requests is a queue whatever explains it: more are in
	// flight than a ramp leaves there whose replies take half as long again as a
	// lone one.
	queueMost  = 0.77
	queueKnown = 10 // requests that were answered
	blindQueue = 16 // is a queue before that
	// A server is behind that answers less than answeredLeast of what was due, of
	// fewDue at least.
	answeredLeast = 0.72
	fewDue        = 30
	// A pace is that of a stretch, which lasts as long as the rate takes to rise
	// by about a half, at least a second; of fewRunning replies and fewEvents.
	stretchPart = 1.5
	fewRunning  = 6
	fewEvents   = 40
	// enoughSlowing is when the pace has told enough, and slowingPart of what an
	// objective on it allows.
	enoughSlowing = 1.35
	slowingPart   = 0.35
)

// Climber watches this search's ramp.
func (s *Search) Climber(l Level) *Climber {
	c := &Climber{level: l, slow: enoughSlowing, lone: s.spec.Pace.Seconds()}
	for _, o := range s.objectives {
		if by := allowedSlowing(o, s.spec.Pace); by > 1 {
			c.slow = min(c.slow, 1+slowingPart*(by-1))
		}
	}
	return c
}

// allowedSlowing is by how much an objective on the pace allows it to exceed that
// of a lone reply, 0 where it says nothing about it.
func allowedSlowing(o slo.Objective, lone time.Duration) float64 {
	if o.Metric != "tpot" || lone <= 0 || o.Above {
		return 0
	}
	return o.Limit / float64(lone)
}

// Enough takes in a moment of the ramp. It is asked several times a second.
func (c *Climber) Enough(m Moment) bool {
	c.add(m)
	if m.Failed > queueLeast && m.Failed > m.Answered/10 {
		return true
	}
	before := c.crowded
	c.crowded = c.hasQueue()
	return c.crowded && before || c.slowing() >= c.slow
}

func (c *Climber) add(m Moment) {
	now := moment{Moment: m}
	if n := len(c.moments); n > 0 {
		last := c.moments[n-1]
		span := (m.Elapsed - last.Elapsed).Seconds()
		now.waited, now.ran = last.waited+m.waiting()*span, last.ran+float64(m.Answered-m.Ended)*span
	}
	c.moments = append(c.moments, now)
}

func (c *Climber) hasQueue() bool {
	now := c.moments[len(c.moments)-1]
	if now.Answered < queueKnown {
		return now.waiting() > blindQueue
	}
	usual := min(queueFactor*c.light(2)*c.rate(), queueMost*(now.waiting()+float64(now.Answered)))
	return now.waiting() > queueLeast+usual || c.behind()
}

// rate is how many requests are due per second: those of the ramp, or of the last
// stretch where sessions go on.
func (c *Climber) rate() float64 {
	now := c.moments[len(c.moments)-1]
	from := c.since(now.Elapsed - c.level.Stretch())
	return max(c.level.RateAt(now.Elapsed), float64(now.Due-from.Due)/max(now.Elapsed-from.Elapsed, c.level.Stretch()).Seconds())
}

// light is the mean time to a first output when a part of what was answered was,
// by Little's law.
func (c *Climber) light(part int) float64 {
	now, light := c.moments[len(c.moments)-1], 0.0
	for _, m := range c.moments {
		if m.Answered >= queueKnown && (light == 0 || m.Answered <= now.Answered/part) {
			light = m.waited / float64(m.Answered)
		}
	}
	return light
}

// behind reports whether the server answers fewer requests than were due as long
// before as an answer takes at a light load.
func (c *Climber) behind() bool {
	now := c.moments[len(c.moments)-1]
	from := c.since(now.Elapsed - c.level.Stretch())
	wait := time.Duration(c.light(4) * float64(time.Second))
	due := c.since(now.Elapsed-wait).Due - c.since(from.Elapsed-wait).Due
	return due >= fewDue && float64(now.Answered-from.Answered) < answeredLeast*float64(due)
}

// since is the last moment before a time, or the first.
func (c *Climber) since(at time.Duration) moment {
	before := c.moments[0]
	for _, m := range c.moments {
		if m.Elapsed <= at {
			before = m
		}
	}
	return before
}

// Stretch is how long the last part of a ramp is that its pace is taken from.
func (l Level) Stretch() time.Duration {
	if l.Rate <= l.From {
		return l.Duration
	}
	double := float64(l.Duration) / math.Log2(l.Rate/l.From)
	return min(max(time.Second, time.Duration(double/stretchPart)), l.Duration)
}

// Review is by how much the pace at the end of a ramp exceeds that of a lone
// reply, by its moments, 0 where it is not known; and whether requests failed or a
// queue formed.
func Review(l Level, lone time.Duration, moments []Moment) (slowing float64, queued bool) {
	c := Climber{level: l, lone: lone.Seconds()}
	for _, m := range moments {
		c.add(m)
		queued = queued || m.Failed > 0 || c.hasQueue()
	}
	return c.slowing(), queued
}

// slowing is by how much the pace of the last stretch exceeds that of a lone
// reply, 0 where it is not known.
func (c *Climber) slowing() float64 {
	if len(c.moments) == 0 {
		return 0
	}
	now := c.moments[len(c.moments)-1]
	from := c.since(now.Elapsed - c.level.Stretch())
	events, ran, span := now.Events-from.Events, now.ran-from.ran, now.Elapsed-from.Elapsed
	if events < fewEvents || ran < fewRunning*span.Seconds() || span < c.level.Stretch()/2 {
		return 0
	}
	pace := ran / float64(events)
	if c.lone == 0 || pace < c.lone {
		c.lone = pace
	}
	return pace / c.lone
}
