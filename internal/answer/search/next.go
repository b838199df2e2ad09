package search

import (
	"cmp"
	"math"
	"slices"
	"time"

	"redline/internal/judge/slo"
)

// How levels are placed.
const (
	// stepUp is by how much the next level exceeds the highest that nothing
	// broke, at most.
	stepUp = 2.0
	// stepDown is by how much it falls below what was broken, where a second
	// level was and none was kept.
	stepDown = 3.0
	// stepBack of a rate with which the server did not keep up is offered next,
	// where nothing was broken.
	stepBack = 0.8
	// Up to mostShort looks are as short as may be, and up to mostLooks more are
	// planned, each lookGrowth times as long as the one before it.
	mostShort = 4
	// fewestLooks of the shortest must fit beside two sustained runs.
	fewestLooks = 4
	mostLooks   = 3
	lookGrowth  = 1.5
	// aimHigh and aimLow are where looks go before anything was broken, or kept.
	// Lateness takes a queue, and that a higher rate: aimLate.
	aimLate = 0.8
	aimHigh = 0.7
	aimLow  = 0.4
	// A sustained run goes to this quantile of the belief: to firstHold before
	// one was met or missed, to lowHold after one was missed, and to nextHold
	// to raise the rate that was held.
	firstHold = 0.25
	lowHold   = 0.05
	nextHold  = 0.6
	// leastHold of the middle is the lowest that a sustained run goes, so that
	// what it holds is worth something and what it shows informs the limit.
	leastHold, lowestHold = 0.85, 0.75
	// mostLevels ends a search whose levels keep telling nothing.
	mostLevels = 60
	// filling is the share of a level's requests that stays in flight where
	// the server cannot keep up, or has only begun to fill.
	filling = 0.15
	// sameRate is how far apart rates are that count as one.
	sameRate = 0.02
)

// Next is the level to run, or nothing where the search is over.
func (s *Search) Next() (Level, bool) {
	if s.ramped == 0 && len(s.seen) == 0 {
		return s.ramp(), true
	}
	if len(s.seen) >= mostLevels || s.left() < s.cost(s.spec.Shortest) || len(s.seen) > 0 && !s.judged() {
		return Level{}, false
	}
	b := s.belief()
	if s.content(b) {
		return Level{}, false
	}
	if looks := s.forLooks(); looks >= s.cost(s.spec.Shortest) {
		return s.look(b, looks), true
	}
	return s.sustain(b), true
}

// forLooks is the time that looks have before the sustained runs, 0 where that
// is over.
func (s *Search) forLooks() time.Duration {
	if s.made(Sustain) > 0 {
		return 0
	}
	run, look := s.cost(s.sustained()), s.cost(s.spec.Shortest)
	if s.spec.Budget >= likelyRamp+fewestLooks*look+2*run {
		return s.left() - 2*run
	}
	if len(s.seen) == 0 {
		return max(s.left()-run, look) // the run is then a little shorter
	}
	return s.left() - run
}

// look goes to where the limit is believed to be. Until the limit is between two
// rates a short one tells enough; then looks grow, the better it is known.
func (s *Search) look(b *belief, left time.Duration) Level {
	shortest := s.cost(s.spec.Shortest)
	whole := shortest
	if kept, broken := s.bracket(); kept > 0 && (!math.IsInf(broken, 1) || len(s.seen) >= mostShort) {
		weights, weight := 1.0, 1.0
		for n := min(int(left/(2*shortest)), mostLooks-s.long()); n > 1; n-- {
			weight *= lookGrowth
			weights += weight
		}
		whole = max(time.Duration(float64(left)/weights), shortest)
	}
	if left-whole < shortest {
		whole = left
	}
	return s.within(whole, s.reach(b.quantile(s.aim())), Look)
}

// long counts the looks that were longer than the shortest.
func (s *Search) long() int {
	n := 0
	for _, l := range s.seen {
		if l.Duration > s.spec.Shortest*3/2 {
			n++
		}
	}
	return n
}

// aim is the quantile of the belief that a look goes to: the middle once the
// limit is between two rates, and towards the side that is open before.
func (s *Search) aim() float64 {
	switch kept, broken := s.bracket(); {
	case kept == 0 && len(s.seen) > 0:
		return aimLow
	case math.IsInf(broken, 1):
		return s.upward()
	}
	return 0.5
}

// upward is the quantile that goes on where nothing was broken.
func (s *Search) upward() float64 {
	if s.allLate() {
		return aimLate
	}
	return aimHigh
}

// allLate reports whether a queue breaks every objective that load can break.
func (s *Search) allLate() bool {
	return !slices.ContainsFunc(s.objectives, func(o slo.Objective) bool { return !late(o) && kindOf(o) != rising })
}

// sustain holds a rate that is likely to be met, as long as a sustained run is,
// or as long as time is left. While nothing was broken it goes on upward.
func (s *Search) sustain(b *belief) Level {
	held, missed := s.held(), s.missed()
	quantile, least := firstHold, leastHold
	_, broken := s.bracket()
	switch {
	case math.IsInf(broken, 1):
		quantile = s.upward()
	case held != nil:
		quantile = nextHold
	case missed:
		quantile, least = lowHold, lowestHold
	}
	rate := max(b.quantile(quantile), least*b.quantile(0.5))
	if held != nil {
		rate = max(rate, held.Rate*(1+sameRate))
	}
	l := s.within(min(s.left(), s.cost(s.sustained())), s.reach(rate), Sustain)
	if !s.lasts(l) {
		l.Purpose = Look
	}
	return l
}

// content reports whether more time would tell nothing that is asked for: the
// limit is known well enough and a rate was held, or lies outside the rates
// that may be offered.
func (s *Search) content(b *belief) bool {
	held := s.held()
	kept, broken := s.bracket()
	switch {
	case kept >= s.spec.Ceiling*(1-sameRate) && held != nil && held.Rate >= kept*(1-sameRate):
		return true
	case broken <= s.spec.Floor*(1+sameRate) && kept == 0:
		return true
	}
	return held != nil && b.halfWidth() <= s.spec.Precision
}

// reach is a rate within what may be offered: no more than a step above what
// nothing broke, and below what the server could not keep up with.
func (s *Search) reach(rate float64) float64 {
	kept, broken := s.bracket()
	filled := s.filled()
	switch {
	case kept == 0 && len(s.seen) == 1:
		rate = min(rate, filled/stepUp)
	case kept == 0 && len(s.seen) > 1 && !s.paced():
		rate = min(rate, min(broken, filled)/stepDown)
	case kept > 0 && math.IsInf(broken, 1):
		rate = min(rate, stepUp*kept, max(stepBack*filled, kept))
	}
	return min(max(rate, s.spec.Floor), s.spec.Ceiling)
}

// level is a level whose load settles for so long before its window.
func (s *Search) level(rate float64, settle, window time.Duration, purpose string) Level {
	return Level{Rate: rate, Duration: round(window), Warmup: settle, Drain: s.drain(), Purpose: purpose, Draw: 1 + s.offered}
}

// bracket is the highest rate at which the levels together kept every objective
// and the server kept up, and the lowest at which one was broken.
func (s *Search) bracket() (kept, broken float64) {
	broken = math.Inf(1)
	for _, g := range s.pooled() {
		switch {
		case !g.judged:
		case g.broken:
			broken = min(broken, g.rate)
		case !g.fills:
			kept = max(kept, g.rate)
		}
	}
	return kept, broken
}

// filled is the lowest rate with which the server did not keep up, though no
// objective was broken: those on the pace of tokens stand any queue.
func (s *Search) filled() float64 {
	filled := math.Inf(1)
	for _, g := range s.pooled() {
		if g.judged && !g.broken && g.fills {
			filled = min(filled, g.rate)
		}
	}
	return filled
}

// group is several levels at nearly one rate.
type group struct {
	rate                  float64
	judged, broken, fills bool
}

// pooled adds levels of nearly one rate up, by ascending rate.
func (s *Search) pooled() []group {
	order := slices.SortedFunc(slices.Values(s.seen), func(a, b seen) int { return cmp.Compare(a.Rate, b.Rate) })
	var groups []group
	for first := 0; first < len(order); {
		last := first + 1
		for last < len(order) && order[last].Rate <= order[first].Rate*(1+sameRate) {
			last++
		}
		groups = append(groups, s.together(order[first:last]))
		first = last
	}
	return groups
}

// together judges levels by their requests together.
func (s *Search) together(levels []seen) group {
	g := group{rate: levels[len(levels)-1].Rate}
	g.fills = slices.ContainsFunc(levels, seen.fills)
	for i, o := range s.objectives {
		if kindOf(o) == rising {
			continue
		}
		n, broken := 0.0, 0.0
		for _, l := range levels {
			n += l.evidence[i].n
			broken += l.evidence[i].n * l.evidence[i].share
		}
		g.judged = g.judged || n > 0
		overrun := slices.ContainsFunc(levels, func(l seen) bool { return s.overruns(l, i) })
		g.broken = g.broken || n > 0 && (overrun || broken > allowed(o)*n+1e-9)
	}
	return g
}

// judged reports whether any level said anything about an objective.
func (s *Search) judged() bool {
	return slices.ContainsFunc(s.pooled(), func(g group) bool { return g.judged })
}

// fills reports whether so many requests stayed in flight, beyond what chance
// leaves there and beyond a server that has only begun to fill, that it cannot
// keep up.
func (l seen) fills() bool {
	n := float64(l.Requests)
	growth := l.Growth - l.begun()
	return growth > filling*n && growth > 4*math.Sqrt(n)
}

// overruns reports whether the queue of a level would outgrow what an objective
// on lateness allows before a sustained run is over.
func (s *Search) overruns(l seen, objective int) bool {
	o := s.objectives[objective]
	if !late(o) || !l.fills() {
		return false
	}
	perSecond := (l.Growth - l.begun()) / l.Duration.Seconds()
	wait := perSecond * s.spec.Sustained.Seconds() / max(l.Rate-perSecond, l.Rate/10)
	return wait > o.Limit/1e9
}

// unseenE2E is by how much the mean request exceeds that of those that ended: in
// a short level the long ones have not.
const unseenE2E = 1.4

// begun is by how many the requests in flight grow over the window only because
// the load began a short while before it.
func (l seen) begun() float64 {
	mean := unseenE2E * l.E2E.Seconds()
	if mean <= 0 {
		return 0
	}
	from, to := l.Warmup.Seconds(), (l.Warmup + l.Duration).Seconds()
	return l.Rate * mean * (math.Exp(-from/mean) - math.Exp(-to/mean))
}

// met reports whether every objective that was judged was met by the level's
// own requests.
func (s *Search) met(l seen) bool {
	return s.together([]seen{l}).judged && !s.together([]seen{l}).broken
}

// held is the highest rate at which a sustained run was met, nil where none was.
func (s *Search) held() *Held {
	var held *Held
	for _, l := range s.seen {
		if !s.lasts(l.Level) || !s.met(l) || held != nil && held.Rate >= l.Rate {
			continue
		}
		held = &Held{Rate: l.Rate, Seconds: l.Duration.Seconds()}
	}
	return held
}

// lasts reports whether a level is as long as a sustained run, but for what
// warm-up and drain took more than was planned.
func (s *Search) lasts(l Level) bool { return l.Duration >= s.sustained()*3/4 }

// missed reports whether a sustained run was not met.
func (s *Search) missed() bool {
	return slices.ContainsFunc(s.seen, func(l seen) bool { return s.lasts(l.Level) && !s.met(l) })
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
