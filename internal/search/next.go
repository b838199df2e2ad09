package search

import (
	"math"
	"slices"
	"time"
)

// What a search spends before its sustained run.
const (
	// mostLoad is in seconds of load at the limit: a little less than half
	// of what twelve levels of a minute take, evenly spaced to twice the
	// limit.
	mostLoad = 330.0
	// probeStep is how much a probe that was kept is exceeded by the next.
	probeStep = 2.0
	// seenTwice is how many violations a level should be able to show where
	// it runs at the allowed share.
	seenTwice = 2.0
	// A probe sees fewestProbed requests, if that takes no longer than
	// longestProbe seconds.
	fewestProbed = 20.0
	longestProbe = 60.0
	// glances is how many short looks come before the long one.
	glances = 2
	// filling is the share of a level's requests that stays in flight where
	// the server cannot keep up, or has only begun to fill.
	filling = 0.15
	// sightFactor times the allowed share is broken at first sight, where a
	// short level shows at least fewestBroken.
	sightFactor  = 2.0
	fewestBroken = 3
	// mostSustained is how many sustained runs are made: one to confirm, and
	// more where that lowered the limit or left its interval wide.
	mostSustained = 3
	// mostLevels ends a search whose levels keep telling nothing.
	mostLevels = 40
)

// Next is the level to run, or nothing where the search is over.
func (s *Search) Next() (Level, bool) {
	level, ok := s.next()
	if !ok || len(s.seen) >= mostLevels {
		return Level{}, false
	}
	level.Rate = min(max(level.Rate, s.spec.Floor), s.spec.Ceiling)
	if s.spec.Budget > 0 {
		left := s.spec.Budget - s.spent
		if left < s.spec.Shortest || level.Purpose == Sustain && left < s.spec.Sustained {
			return Level{}, false
		}
		level.Duration = min(level.Duration, left)
	}
	return level, true
}

func (s *Search) next() (Level, bool) {
	if rate, ok := s.probe(); ok {
		return s.level(rate, min(fewestProbed/rate, longestProbe), Probe), true
	}
	if !s.bracket().closed() {
		return Level{}, false // the limit lies outside the rates that may be offered
	}
	believed := s.belief()
	if level, ok := s.narrow(believed); ok {
		return level, true
	}
	return s.sustain(believed)
}

// narrow proposes a look at where the limit is believed to be: two glances,
// and one long look with what the search may still spend.
func (s *Search) narrow(believed *belief) (Level, bool) {
	if s.made(Sustain) > 0 || believed.halfWidth() <= s.spec.Precision {
		return Level{}, false
	}
	b := s.bracket()
	rate := min(max(believed.quantile(0.5), b.kept), b.most())
	left := mostLoad
	for _, l := range s.seen {
		left -= l.Rate * l.Duration.Seconds() / rate
	}
	glance := max(3*s.spec.Shortest.Seconds(), seenTwice/(s.strictest()*rate))
	seconds := left
	if looks := s.made(Narrow); looks < glances && glance*float64(looks+1) < left/2 {
		seconds = glance * float64(looks+1)
	}
	if seconds < glance {
		return Level{}, false
	}
	return s.level(rate, seconds, Narrow), s.leaves(seconds)
}

// bracket is what the levels say at first sight: the highest rate that kept
// every objective, the lowest that did not, and what that one completed. A
// level whose requests in flight grew and grew counts as one that did not.
// Where a short level says one thing and one at least as long the other, the
// longer is believed: a queue takes its time to show.
type bracket struct {
	kept, broken, completed float64
	filled                  bool // the lowest broken one only filled up
}

func (s *Search) bracket() bracket {
	var kept, broken []seen
	for _, l := range s.seen {
		is, judged := l.broken(s.objectives, sightFactor)
		switch {
		case !judged:
		case is || l.fills():
			broken = append(broken, l)
		default:
			kept = append(kept, l)
		}
	}
	b := bracket{broken: math.Inf(1), completed: math.Inf(1)}
	for _, l := range kept {
		if !slices.ContainsFunc(broken, func(o seen) bool { return o.Rate <= l.Rate && o.Duration >= l.Duration }) {
			b.kept = max(b.kept, l.Rate)
		}
	}
	for _, l := range broken {
		if l.Rate < b.broken && !slices.ContainsFunc(kept, func(o seen) bool { return o.Rate >= l.Rate && o.Duration > l.Duration }) {
			growth := max(l.Growth/max(float64(l.Requests), 1), 0)
			b.broken, b.completed = l.Rate, l.Rate*(1-min(growth, 0.9))
			is, _ := l.broken(s.objectives, sightFactor)
			b.filled = !is
		}
	}
	return b
}

// fills reports whether so many requests stayed in flight, and so many more
// than chance leaves there, that the level says nothing of what it would have
// come to.
func (l seen) fills() bool {
	n := float64(l.Requests)
	return l.Growth > filling*n && l.Growth > 4*math.Sqrt(n)
}

// closed reports whether the limit is between two rates.
func (b bracket) closed() bool { return b.kept > 0 && !math.IsInf(b.broken, 1) }

// most is the highest rate worth a look: what a broken level completed, or the
// middle where that is more. One that only filled up may have been kept.
func (b bracket) most() float64 {
	switch {
	case !b.closed() || b.kept >= b.broken:
		return math.Inf(1)
	case b.filled:
		return b.broken
	}
	return max(b.completed, math.Sqrt(b.kept*b.broken))
}

// probe is the next rate while everything was kept, or everything broken.
func (s *Search) probe() (rate float64, ok bool) {
	b := s.bracket()
	switch {
	case len(s.seen) == 0:
		return s.spec.Start, true
	case b.closed():
		return 0, false
	case b.kept > 0:
		return b.kept * probeStep, b.kept < s.spec.Ceiling
	case math.IsInf(b.broken, 1):
		return 0, false // nothing was judged
	}
	return min(b.broken/probeStep, max(b.completed*0.9, b.broken/8)), b.broken > s.spec.Floor
}

// level is a level of so many seconds, within what is allowed.
func (s *Search) level(rate, seconds float64, purpose string) Level {
	length := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	return Level{Rate: rate, Duration: min(max(length, s.spec.Shortest), s.spec.Longest), Purpose: purpose}
}

// strictest is the smallest share that an objective allows.
func (s *Search) strictest() float64 {
	share := 1.0
	for _, o := range s.objectives {
		if kindOf(o) != rising {
			share = min(share, allowed(o))
		}
	}
	return share
}

// leaves reports whether the budget, where it was meant for a sustained run,
// still has room for it after so many seconds.
func (s *Search) leaves(seconds float64) bool {
	if s.spec.Budget < 2*s.spec.Sustained {
		return true
	}
	return (s.spec.Budget - s.spent - s.spec.Sustained).Seconds() >= seconds
}

// made counts the levels of a purpose.
func (s *Search) made(purpose string) int {
	n := 0
	for _, l := range s.seen {
		if l.Purpose == purpose {
			n++
		}
	}
	return n
}

// sustain proposes the run at the limit, again where one before lowered it or
// the interval is wider than asked for.
func (s *Search) sustain(believed *belief) (Level, bool) {
	// A wide belief is no reason for a leap.
	rate := min(believed.quantile(0.5), s.bracket().most())
	firm := s.confirmed(rate) && believed.halfWidth() <= s.spec.Precision
	if s.made(Sustain) >= mostSustained || firm {
		return Level{}, false
	}
	return Level{Rate: rate, Duration: s.spec.Sustained, Purpose: Sustain, Draw: 1 + s.made(Sustain)}, true
}

// confirmed reports whether a sustained run kept every objective at the rate,
// or below it by no more than the precision that is asked for.
func (s *Search) confirmed(rate float64) bool {
	for _, l := range s.seen {
		if l.Purpose != Sustain || l.Duration < s.spec.Sustained || l.Rate < rate*(1-s.spec.Precision) {
			continue
		}
		if broken, judged := l.broken(s.objectives, 1); judged && !broken {
			return true
		}
	}
	return false
}
