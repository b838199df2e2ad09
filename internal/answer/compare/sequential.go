package compare

import (
	"fmt"
	"math"

	"redline/internal/judge/slo"
	"redline/internal/stats"
)

// EarlyShare is how much of alpha looks before the last may spend together: little, so that
// the last look keeps nearly all of its power. Shares that add up to one keep the chance of a
// wrong answer over all looks at alpha, however these depend on each other.
const EarlyShare = 0.2

// looks are after how many rounds a comparison without a given number of them is asked
// whether it is decided, and the share of alpha that each look may spend.
var looks = map[int]float64{3: 0.1 * EarlyShare, 4: 0.2 * EarlyShare, 6: 0.3 * EarlyShare, 8: 0.4 * EarlyShare}

// Fewer than minForHopeless rounds say too little of how much they spread; spreadAtLeast is
// how much of the spread that they show is there for nearly sure.
const (
	minForHopeless = 6
	spreadAtLeast  = 0.7
)

// Sequential judges the rounds so far of all that are planned. Its Ended is set where the
// others are not needed: the answer stands, or they would hardly bring one.
func Sequential(rounds []Round, planned int, o Options) *Comparison {
	n := len(rounds)
	share, look := looks[n]
	look = look && n < planned
	if o.share = share; look {
		if c := Live(rounds, o); c.isDecided(o) {
			c.Ended = fmt.Sprintf("after %d of %d rounds: the answer stands; --rounds %d runs them all", n, planned, planned)
			return c
		}
	}
	o.share = 1 - EarlyShare
	c, found := judgeRounds(rounds, o)
	if look && c.Rounds >= minForHopeless && isHopeless(found, planned, o) {
		c.Ended = fmt.Sprintf("after %d of %d rounds: the others would hardly decide it; longer ones may (--duration), or more (--rounds)", n, planned)
	}
	return c
}

// isDecided reports whether more rounds would not change the answer: B is worse by more
// than the tolerance in something, or nothing is open but tails that hardly moved.
func (c *Comparison) isDecided(o Options) bool {
	shown, open := false, false
	for _, m := range c.Metrics {
		step, _ := move(&m)
		switch {
		case m.Standing == slo.Worse && math.Abs(step) > o.tolerance():
			return true
		case m.Standing == slo.Undecided:
			// A tail that moved, and for which this look's share of alpha speaks, may be shown
			// by the rounds to come.
			open = open || !m.Tail || m.P != nil && *m.P < 1 && math.Abs(step) > o.tolerance()
		default:
			shown = shown || m.Ratio != nil
		}
	}
	return shown && !open
}

// isHopeless reports whether all rounds will hardly decide anything more: no figure can
// become different, and one that is no tail can hardly become the same. Its mean may
// still move by two standard errors, and its spread turn out to be smaller.
func isHopeless(found []evidence, planned int, o Options) bool {
	open := false
	for _, e := range found {
		if e.equal {
			continue
		}
		n, all := e.test.Freedom+1, float64(planned)
		if !(e.se > 0) || !(n < all) {
			return false
		}
		mean, moves, se := math.Abs(e.test.Mean), 2*e.se*math.Sqrt(1-n/all), e.se*math.Sqrt(n/all)
		reach := func(tests int) float64 {
			return se * stats.StudentQuantile(1-alpha*(1-EarlyShare)/float64(2*tests), all-1)
		}
		if mean+moves > max(e.bar, reach(len(found))) {
			return false
		}
		open = open || !e.isTail() && max(mean-moves, 0)+spreadAtLeast*reach(1)+max(e.down, e.up) > e.scaledTolerance(o.tolerance())
	}
	return open
}
