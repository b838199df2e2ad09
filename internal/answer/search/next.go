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
	// broke, at most, and blindStep where it is over before two replies are.
	stepUp    = 2.0
	blindStep = 1.5
	// stepDown is by how much it falls below what was broken, where a second
	// level was and none was kept.
	stepDown = 3.0
	// stepBack of a rate with which the server did not keep up is offered next,
	// where nothing was broken.
	stepBack = 0.8
	// Up to maxShort looks are as short as may be, and up to maxLooks more are
	// planned, each lookGrowth times as long as the one before it.
	maxShort   = 4
	maxLooks   = 3
	minLooks   = 2
	lookGrowth = 1.5
	// aimHigh and aimLow are where looks go before anything was broken, or kept.
	// Lateness takes a queue, and that a higher rate: aimLate.
	aimLate   = 0.8
	aimHigh   = 0.7
	aimLow    = 0.4
	aimMiddle = 0.5
	// aimFirst is where the first goes where the pace of the ramp tells the scale.
	aimFirst = 0.5
	// Up to maxRuns sustained runs are planned, of minRunPart of their length
	// or more.
	maxRuns    = 3
	minRunPart = 0.75
	// A higher rate is worth holding that is near the limit with so much more
	// chance than the one that was held.
	worthHolding = 0.03
	// firstAgents is the first number of agents, and agentStep is stepUp of such
	// numbers: a closed loop offers a slow server less, so that one which is far beyond
	// the limit does no harm.
	firstAgents = 4
	agentStep   = 4.0
	// maxLevels ends a search whose levels keep telling nothing.
	maxLevels = 60
	// filling is the share of a level's requests that stays in flight where
	// the server cannot keep up, or has only begun to fill.
	filling = 0.15
	// An agent crawls that waits for tools for less than 1/crawling of the share of
	// time that it did at the lightest load, where that was minIdle at least.
	crawling = 4
	minIdle  = 0.1
	// sameRate is how far apart rates are that count as one.
	sameRate = 0.02
)

// Next is the level to run, or nothing where the search is over.
func (s *Search) Next() (Level, bool) {
	switch {
	case len(s.levels) > 0 || s.ramped.rate > 0:
	case !s.spec.Agents:
		return s.ramp(), true
	case s.budgetLeft() >= s.cost(s.minWindow()):
		return s.levelWithin(s.cost(s.minWindow()), s.spec.Start, Look), true
	}
	if len(s.levels) >= maxLevels || s.budgetLeft() < s.cost(s.minWindow()) || len(s.levels) > 0 && !s.isJudged() {
		return Level{}, false
	}
	b := s.belief()
	if s.content(b) {
		return Level{}, false
	}
	if looks := s.forLooks(); looks >= s.cost(s.minWindow()) {
		return s.look(b, looks), true
	}
	return s.sustain(b), true
}

// forLooks is the time that looks have before the sustained runs, 0 where that
// is over: what as many runs as fit leave, or one while the limit is far above, and
// at least one look.
func (s *Search) forLooks() time.Duration {
	if s.countSustained() > 0 || s.long() >= maxLooks {
		return 0
	}
	runs := s.runs(s.spec.Budget - s.first())
	if s.isFarBelow() {
		runs = 1
	}
	left := s.budgetLeft() - runs*s.fullCost(s.minRun())
	if len(s.levels) == 0 {
		left = max(left, s.cost(s.minWindow()))
	}
	return left
}

// first is what the ramp and the first looks took, or are to take.
func (s *Search) first() time.Duration {
	return s.rampSpent + minLooks*s.cost(s.minWindow())
}

func (s *Search) minRun() time.Duration {
	return time.Duration(minRunPart * float64(s.sustainedLength()))
}

func (s *Search) runs(within time.Duration) time.Duration {
	return min(max(within/s.fullCost(s.minRun()), 1), maxRuns)
}

// look goes to where the limit is believed to be. Until the limit is between two
// rates a short one tells enough; then looks grow, the better it is known.
func (s *Search) look(b *belief, left time.Duration) Level {
	shortest := s.cost(s.minWindow())
	whole := shortest
	if kept, broken := s.bracket(); kept > 0 && !s.isFarBelow() && (!math.IsInf(broken, 1) || len(s.levels) >= maxShort || s.locatesLimit(b)) {
		weights, weight := 1.0, 1.0
		for n := min(int(left/(2*shortest)), maxLooks-s.long()); n > 1; n-- {
			weight *= lookGrowth
			weights += weight
		}
		whole = max(time.Duration(float64(left)/weights), shortest)
	}
	if left-whole < shortest {
		whole = left
	}
	whole = min(whole, max(s.cost(s.minRun())*2/3, shortest))
	return s.levelWithin(whole, s.reach(b.quantile(s.aim())), Look)
}

// long counts the looks that were longer than the shortest.
func (s *Search) long() int {
	n := 0
	for _, l := range s.levels {
		if l.Duration > s.minWindow()*3/2 {
			n++
		}
	}
	return n
}

// aim is the quantile of the belief that a look goes to: the middle once the
// limit is between two rates, and towards the side that is open before.
func (s *Search) aim() float64 {
	switch kept, broken := s.bracket(); {
	case len(s.levels) == 0 && s.ramped.still > 0:
		return aimFirst
	case kept == 0 && len(s.levels) > 0:
		return aimLow
	case math.IsInf(broken, 1):
		return s.upward()
	}
	return aimMiddle
}

// upward is the quantile to try next while no objective has been missed.
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

// sustain holds the rate that is most likely to be near the limit and to be met,
// as long as a sustained run is or as the time that is left gives each of the
// runs. Where such a rate was held already it looks on instead, too briefly to
// hold anything. While nothing tells where the limit is it goes on upward.
func (s *Search) sustain(b *belief) Level {
	held := s.heldRate()
	rate, gain := b.hold(s.metSpread(b), held)
	_, broken := s.bracket()
	switch {
	case math.IsInf(broken, 1) && !s.locatesLimit(b):
		rate = b.quantile(s.upward())
		if held != nil {
			rate = max(rate, held.Rate*(1+sameRate))
		}
		rate = s.reach(rate)
	case held != nil && gain < worthHolding:
		most := s.cost(s.sustainedLength() * 3 / 5)
		return s.levelWithin(min(s.budgetLeft(), most), s.reach(b.quantile(s.aim())), Look)
	}
	rate = min(max(rate, s.spec.Floor), s.spec.Ceiling)
	l := s.levelWithin(min(s.budgetLeft()/s.runs(s.budgetLeft()), s.cost(s.sustainedLength())), rate, Sustain)
	if !s.lasts(l) {
		l.Purpose = Look
	}
	return l
}

// metSpread is by how much the rate differs, in logarithms, that two runs of one
// server just meet: by the number of requests that may break an objective, and
// the less the steeper their share rises.
func (s *Search) metSpread(b *belief) float64 {
	requests := b.quantile(0.5) * s.requestsPerLoad() * s.sustainedLength().Seconds()
	fewest := math.Inf(1)
	for _, o := range s.objectives {
		if kindOf(o) == counted {
			fewest = min(fewest, allowedShare(o)*requests)
		}
	}
	return max(0.02, math.Hypot(0.3, 2/math.Sqrt(max(fewest, 1)))/b.slope)
}

// content reports whether more time would tell nothing that is asked for: the
// limit is known well enough and a rate was held, or lies outside the rates
// that may be offered.
func (s *Search) content(b *belief) bool {
	held := s.heldRate()
	kept, broken := s.bracket()
	switch {
	case kept >= s.spec.Ceiling*(1-sameRate) && held != nil && held.Rate >= kept*(1-sameRate):
		return true
	case kept == 0 && s.missesFloor(b, broken):
		return true
	}
	return held != nil && b.halfWidth() <= max(s.spec.Precision, s.grain()/b.quantile(0.5))
}

// missesFloor reports whether the lowest load that may be offered was broken. Few
// agents send few requests: of them the belief tells.
func (s *Search) missesFloor(b *belief, broken float64) bool {
	if s.spec.Agents {
		_, hi := b.interval()
		return hi < s.spec.Floor
	}
	return broken <= s.spec.Floor*(1+sameRate)
}

// grain is half of the smallest difference of two loads that can be offered.
func (s *Search) grain() float64 {
	if s.spec.Agents {
		return 0.5
	}
	return 0
}

// requestsPerLoad is how many requests a second a load of 1 brings: the turns of a
// session, or what an agent was seen to send.
func (s *Search) requestsPerLoad() float64 {
	if !s.spec.Agents {
		return s.spec.Turns
	}
	requests, time := 1.0, supposedCycle
	for _, l := range s.levels {
		requests, time = requests+float64(l.Requests), time+l.Rate*l.Duration.Seconds()
	}
	return requests / time
}

// reach is a rate within what may be offered: no more than a step above what
// nothing broke, and below what the server could not keep up with. Few agents send so
// few requests that what these broke says little: the belief alone leads down.
func (s *Search) reach(rate float64) float64 {
	kept, broken := s.bracket()
	filled := s.minFillingRate()
	switch {
	case len(s.levels) == 0 && !s.ramped.queued:
		rate = min(rate, s.stepUp()*s.ramped.rate)
	case kept == 0 && len(s.levels) == 1:
		rate = min(rate, filled/stepUp)
	case kept == 0 && len(s.levels) > 1 && !s.spec.Agents && !s.hasPace() && !s.hasNearLevel():
		rate = min(rate, min(broken, filled)/stepDown)
	case kept > 0 && math.IsInf(broken, 1):
		rate = min(max(rate, s.clearRate(kept)), s.stepUp()*kept, stepBack*filled)
	}
	return min(max(rate, s.spec.Floor), s.spec.Ceiling)
}

// clearRate is up to which rate a level that nothing broke shows by itself that
// every objective is met, whatever is believed: tokens came nearly as fast as to a
// lone reply, and first tokens nowhere near their limit. 0 is not known.
func (s *Search) clearRate(kept float64) float64 {
	clear := math.Inf(1)
	for _, l := range s.levels {
		slowing := s.slowing(l.Observation)
		switch {
		case l.Rate > kept || l.Rate < kept*(1-sameRate):
			continue
		case slowing == 0 || s.lone.E2E <= 0:
			return 0
		}
		slowing = max(slowing, 1) + 2*paceNoise
		rate, _ := l.workRate()
		still := s.standstillRate(rate, slowing, s.memoryShare(l.Observation, rate, slowing))
		for i, o := range s.objectives {
			if late(o) && l.evidence[i].value > 1/nearFactor {
				return 0
			}
			clear = min(clear, scale{rate: stillPart * still, still: still}.about(o, s.lone))
		}
	}
	if math.IsInf(clear, 1) {
		return 0
	}
	return clear
}

// isFarBelow reports whether a step above all that was offered is still clear, and may be
// taken.
func (s *Search) isFarBelow() bool {
	kept, broken := s.bracket()
	next := s.stepUp() * kept
	return math.IsInf(broken, 1) && kept > 0 && s.clearRate(kept) >= next && next <= min(s.spec.Ceiling, stepBack*s.minFillingRate())
}

// stepUp is by how much the next level exceeds the highest that nothing broke,
// at most: less where it is too short for replies to warn.
func (s *Search) stepUp() float64 {
	switch {
	case s.spec.Agents:
		return agentStep
	case s.minWindow() < 2*s.lone.E2E:
		return blindStep
	}
	return stepUp
}

// level is a level whose load settles for so long before its window.
func (s *Search) level(rate float64, settle, window time.Duration, purpose string) Level {
	window = floor(window)
	if s.spec.Agents {
		rate = min(max(math.Round(rate), s.spec.Floor), s.spec.Ceiling)
	}
	return Level{Rate: rate, Duration: window, Warmup: settle, Drain: s.drain(), Purpose: purpose, Draw: 1 + s.offered}
}

// bracket is the highest rate at which the levels together kept every objective
// and the server kept up, and the lowest at which one was broken.
func (s *Search) bracket() (kept, broken float64) {
	broken = math.Inf(1)
	filled := s.minFillingRate()
	for _, g := range s.groupByRate() {
		switch {
		case !g.judged:
		case g.missed:
			broken = min(broken, g.rate)
		case g.met && g.rate < filled:
			kept = max(kept, g.rate)
		}
	}
	return kept, broken
}

// MaxMetRate is the highest rate at which a level met every objective and the server
// kept up, 0 where none did.
func (s *Search) MaxMetRate() float64 {
	kept, _ := s.bracket()
	return kept
}

// minFillingRate is the lowest rate with which the server did not keep up, though no
// objective was broken: those on the pace of tokens stand any queue.
func (s *Search) minFillingRate() float64 {
	filled := math.Inf(1)
	for _, g := range s.groupByRate() {
		if g.judged && !g.missed && g.fills {
			filled = min(filled, g.rate)
		}
	}
	return filled
}

// group is several levels at nearly one rate. Objectives are broken where even the
// low ends of the figures break one, and kept where even the high ends keep all.
type group struct {
	rate                       float64
	judged, met, missed, fills bool
}

// groupByRate adds levels of nearly one rate up, by ascending rate.
func (s *Search) groupByRate() []group {
	order := slices.SortedFunc(slices.Values(s.levels), func(a, b levelResult) int { return cmp.Compare(a.Rate, b.Rate) })
	var groups []group
	for first := 0; first < len(order); {
		last := first + 1
		for last < len(order) && order[last].Rate <= order[first].Rate*(1+sameRate) {
			last++
		}
		groups = append(groups, s.judgeGroup(order[first:last]))
		first = last
	}
	return groups
}

func (s *Search) judgeGroup(levels []levelResult) group {
	g := group{rate: levels[len(levels)-1].Rate, met: true}
	g.fills = slices.ContainsFunc(levels, s.fills)
	for i, o := range s.objectives {
		if kindOf(o) == rising {
			continue
		}
		n, low, high := 0.0, 0.0, 0.0
		for _, l := range levels {
			n += l.evidence[i].n
			low += l.evidence[i].n * l.evidence[i].low
			high += l.evidence[i].n * l.evidence[i].high
		}
		most := allowedShare(o)*n + 1e-9
		overrun := n > 0 && slices.ContainsFunc(levels, func(l levelResult) bool { return s.overruns(l, i) })
		g.judged = g.judged || n > 0
		g.missed = g.missed || overrun || low > most
		g.met = g.met && !overrun && high <= most
	}
	return g
}

// isJudged reports whether any level said anything about an objective.
func (s *Search) isJudged() bool {
	return slices.ContainsFunc(s.groupByRate(), func(g group) bool { return g.judged })
}

// fills reports whether so many requests stayed in flight, beyond what chance
// leaves there and beyond a server that has only begun to fill, that it cannot
// keep up.
func (s *Search) fills(l levelResult) bool {
	n := float64(l.Requests)
	if s.spec.Agents {
		return s.crawls(l)
	}
	growth := l.Growth - s.startupGrowth(l)
	return growth > filling*n && growth > 4*math.Sqrt(n)
}

// crawls reports whether agents wait for tools so much less of their time than at
// the lightest load that the server decides when they go on: most of their requests
// may not have ended in the level, and show nothing of what they break.
func (s *Search) crawls(l levelResult) bool {
	idle := func(l levelResult) float64 { return 1 - l.InFlight/l.Rate }
	light := idle(slices.MinFunc(s.levels, func(a, b levelResult) int { return cmp.Compare(a.Rate, b.Rate) }))
	return light > minIdle && idle(l) < light/crawling
}

// overruns reports whether the queue of a level would outgrow what an objective
// on lateness allows before a sustained run is over.
func (s *Search) overruns(l levelResult, objective int) bool {
	o := s.objectives[objective]
	if !late(o) || !s.fills(l) {
		return false
	}
	perSecond := (l.Growth - s.startupGrowth(l)) / l.Duration.Seconds()
	rate := l.Rate * s.spec.Turns
	wait := perSecond * s.spec.Sustained.Seconds() / max(rate-perSecond, rate/10)
	return wait > o.Limit/1e9
}

// unseenE2E is by how much the mean request exceeds that of those that ended: in
// a short level the long ones have not.
const unseenE2E = 1.4

// startupGrowth is by how many the requests in flight grow over the window only because
// the load began a short while before it.
func (s *Search) startupGrowth(l levelResult) float64 {
	mean := unseenE2E * l.E2E.Seconds()
	if slowing := s.slowing(l.Observation); slowing > 0 {
		mean = max(mean, s.lone.E2E.Seconds()*slowing)
	}
	if mean <= 0 {
		return 0
	}
	from, to := l.Warmup.Seconds(), (l.Warmup + l.Duration).Seconds()
	return l.Rate * s.spec.Turns * mean * (math.Exp(-from/mean) - math.Exp(-to/mean))
}

// isMet reports whether every objective that was judged was met by the level's
// own requests, whatever this machine did.
func (s *Search) isMet(l levelResult) bool {
	g := s.judgeGroup([]levelResult{l})
	return g.judged && g.met
}

// heldRate is the highest rate at which a sustained run was met, nil where none was.
func (s *Search) heldRate() *Held {
	var held *Held
	for _, l := range s.levels {
		if !s.lasts(l.Level) || !s.isMet(l) || held != nil && held.Rate >= l.Rate {
			continue
		}
		held = &Held{Rate: l.Rate, Seconds: l.Duration.Seconds()}
	}
	return held
}

// lasts reports whether a level is as long as a sustained run, but for what
// warm-up and drain took more than was planned.
func (s *Search) lasts(l Level) bool { return l.Duration >= s.sustainedLength()*2/3 }

// sustainedRange is between which lengths the sustained runs were.
func (s *Search) sustainedRange() (shortest, longest time.Duration) {
	for _, l := range s.levels {
		if l.Purpose == Sustain {
			shortest, longest = min(cmp.Or(shortest, l.Duration), l.Duration), max(longest, l.Duration)
		}
	}
	return shortest, longest
}

func (s *Search) countSustained() int {
	n := 0
	for _, l := range s.levels {
		if l.Purpose == Sustain {
			n++
		}
	}
	return n
}
