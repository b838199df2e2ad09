package search

import (
	"fmt"
	"math"
	"slices"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// The plain data is that of the document; here it is filled.
type (
	// Limit is the answer.
	Limit = result.Limit
	// bound is the limit by one objective alone.
	bound = result.Bound
	// Held is a rate that a sustained run met.
	Held = result.HeldRate
	// bestGoodput is where most requests per second kept every objective.
	bestGoodput = result.BestGoodput
)

// The standings of a limit.
const (
	found   = result.LimitFound
	wide    = result.LimitWide
	atLeast = result.LimitAtLeast
	below   = result.LimitBelow
	needs   = result.LimitNeeds
)

// The edges. A cliff goes from half of the allowed share to ten times it
// within 5 % of rate.
const (
	cliff = result.EdgeCliff
	Slope = result.EdgeSlope

	cliffFrom, cliffTo, cliffSpan = 0.5, 10.0, 0.05
)

// nearLimit is the share of the limit at which a rate must have been held for
// the limit to be confirmed.
const nearLimit = 0.85

// Answer is what is known so far.
func (s *Search) Answer() Limit {
	a := Limit{Standing: wide, ByObjective: map[string]bound{}, LoadS: s.spent.Seconds()}
	switch {
	case s.spec.Agents:
		a.Unit = result.Agents
	case s.spec.Turns > 1:
		a.Unit = result.SessionRates
	}
	for _, l := range s.levels {
		a.Requests += l.Requests
	}
	if !s.isJudged() {
		a.Notes = []string{"no objective was judged at any load"}
		return a
	}
	a.Held = s.heldRate()
	whole := s.bound(s.answerBelief())
	a.Rate, a.Interval, a.Standing = whole.Rate, whole.Interval, whole.Standing
	s.boundAll(&a, s.beliefs())
	if kept, broken := s.bracket(); kept > 0 && math.IsInf(broken, 1) {
		a.UnmissedTo, a.Edge = &kept, "" // no level saw one
	}
	s.throughputs(&a)
	a.Confirmed = a.Held != nil && a.Held.Rate >= nearLimit*a.Rate
	var best *bestGoodput
	for _, l := range s.levels {
		if l.Goodput > 0 && (best == nil || l.Goodput > best.Requests) {
			best = &bestGoodput{Rate: l.Rate, Requests: l.Goodput}
		}
	}
	a.Knee, a.BestGoodput = s.knee(a.Rate), best
	s.note(&a)
	return a
}

// bound is a limit, a whole number where it is one of agents.
func (s *Search) bound(b *belief) bound {
	one := s.bounds(b)
	if s.spec.Agents {
		one.Rate, one.Interval = math.Floor(one.Rate), [2]float64{math.Floor(one.Interval[0]), math.Floor(one.Interval[1])}
	}
	return one
}

// bounds is a limit: as it is believed, or at least or below what was offered
// where nothing, or everything, was broken. Levels that broke nothing are short
// and flatter: where they tell where the limit is, that is the answer, and no less
// than what was held for as long as the limit is about.
func (s *Search) bounds(b *belief) bound {
	kept, broken := s.bracket()
	lo, hi := b.interval()
	middle := b.quantile(0.5)
	if slices.ContainsFunc(s.objectives, late) {
		// No level lasted long enough for a queue to form: the limit may be lower than
		// it seems.
		down := blindRoom * s.blind()
		lo, middle = lo*math.Exp(-down), middle*math.Exp(-down/2)
	}
	if math.IsInf(broken, 1) {
		hi *= math.Exp(openRoom * s.brief(s.maxDuration())) // nothing says where it ends
	}
	switch filled := s.minFillingRate(); {
	case kept == 0 && math.IsInf(broken, 1) && !math.IsInf(filled, 1):
		return bound{Rate: filled / 2, Interval: [2]float64{0, filled}, Standing: wide}
	case math.IsInf(broken, 1) && kept > 0 && !(s.locatesLimit(b) && s.maxHeldRate() < hi):
		return bound{Rate: kept, Interval: [2]float64{min(lo, kept), kept}, Standing: atLeast}
	case math.IsInf(broken, 1):
		middle = max(middle, s.maxHeldRate())
	case kept == 0 && s.missesFloor(b, broken):
		return bound{Interval: [2]float64{0, broken}, Standing: below}
	}
	// Levels of sessions see later turns only as replies come: without a run that
	// lasted, what they say is too good as often as not.
	if held := s.heldRate(); s.spec.Turns > 1 && held != nil {
		lo = min(lo, held.Rate)
	} else if s.spec.Turns > 1 && !s.spec.Agents {
		lo /= 2
	}
	bound := bound{Rate: middle, Interval: [2]float64{lo, hi}, Standing: found}
	if (hi-lo)/2 > max(2*s.spec.Precision*middle, 2*s.grain()) {
		bound.Standing = wide
	}
	return bound
}

// maxHeldRate is the highest rate that was held for as long as the limit is about,
// or nearly, 0 where none was.
func (s *Search) maxHeldRate() float64 {
	rate := 0.0
	for _, l := range s.levels {
		if l.Duration >= s.spec.Sustained*3/4 && s.isMet(l) {
			rate = max(rate, l.Rate)
		}
	}
	return rate
}

// locatesLimit reports whether the levels tell where the limit is though they broke
// nothing: by their pace, or by a percentile that is near its limit.
func (s *Search) locatesLimit(b *belief) bool {
	if b.halfWidth() > maxOpen {
		return false
	}
	return s.hasPace() || s.hasNearLevel()
}

func (s *Search) hasNearLevel() bool {
	return slices.ContainsFunc(s.levels, func(l levelResult) bool {
		return slices.ContainsFunc(l.evidence, func(e evidence) bool { return e.value > 1/nearFactor && e.value < nearFactor })
	})
}

// maxOpen is the half-width beyond which nothing is told.
const maxOpen = 0.5

// boundAll gives the limit by each objective alone, the binding one and its
// edge.
func (s *Search) boundAll(a *Limit, list []*belief) {
	least := math.Inf(1)
	for i, b := range list {
		if b == nil {
			continue
		}
		text := s.objectives[i].Text
		bound := s.forObjective(i).bound(b)
		a.ByObjective[text] = bound
		if bound.Standing == below {
			a.Unmet = append(a.Unmet, text)
		}
		if bound.Standing == atLeast || bound.Rate >= least {
			continue
		}
		least, a.Binding, a.Notes = bound.Rate, text, nil
		if b.erratic > 0.5 {
			a.Notes = []string{"requests were late at some levels and not at others, whatever the rate, as stalls and long prompts make them: the interval allows for more or fewer of these than the levels saw"}
		}
		a.Edge = ""
		if bound.Standing != below {
			a.Edge = edge(allowedShare(s.objectives[i]), b.slope)
		}
	}
}

// forObjective is the search as one objective sees it.
func (s *Search) forObjective(objective int) *Search {
	one := *s
	one.objectives = s.objectives[objective : objective+1]
	one.levels = nil
	for _, l := range s.levels {
		l.evidence = l.evidence[objective : objective+1]
		one.levels = append(one.levels, l)
	}
	return &one
}

// Standings is what the answer says of runs at rates: met below the limit's
// interval, missed above it. Where nothing was broken nothing is missed.
func (s *Search) Standings(rates []float64) []slo.Standing {
	list := make([]slo.Standing, len(rates))
	if !s.isJudged() {
		for i := range list {
			list[i] = slo.NotJudged
		}
		return list
	}
	limit := s.bound(s.answerBelief())
	_, broken := s.bracket()
	for i, rate := range rates {
		switch {
		case rate <= limit.Interval[0] || limit.Standing == atLeast && rate <= limit.Rate:
			list[i] = slo.Met
		case rate >= limit.Interval[1] && !math.IsInf(broken, 1):
			list[i] = slo.Missed
		default:
			list[i] = slo.Undecided
		}
	}
	return list
}

// edge tells a cliff from a slope by the curve that was fitted.
func edge(q, slope float64) string {
	span := logit(min(cliffTo*q, 0.99)) - logit(cliffFrom*q)
	if span/slope <= math.Log1p(cliffSpan) {
		return cliff
	}
	return Slope
}

// throughputs says from which rate on the throughput of an objective was reached.
func (s *Search) throughputs(a *Limit) {
	for i, o := range s.objectives {
		if kindOf(o) != rising {
			continue
		}
		reached, short := math.Inf(1), 0.0
		for _, l := range s.levels {
			switch l.evidence[i].standing {
			case slo.Met:
				reached = min(reached, l.Rate)
			case slo.Missed:
				short = max(short, l.Rate)
			}
		}
		if !math.IsInf(reached, 1) {
			a.ByObjective[o.Text] = bound{Rate: reached, Interval: [2]float64{min(short, reached), reached}, Standing: needs}
		}
		if reached > a.Rate {
			a.Unmet = append(a.Unmet, o.Text)
		}
	}
}

// The levels of a brief search may miss what happens now and then: a window sees
// what happens a few times in it.
const (
	briefSearch = time.Minute
	seesPart    = 3
)

// higher says how to find a limit that is higher than all that was offered.
func (s *Search) higher(kept float64) string {
	switch {
	case kept >= s.spec.Ceiling*(1-sameRate) && s.spec.Agents:
		return fmt.Sprintf("offer more than that (--agents %g..%g)", s.spec.Floor, 10*s.spec.Ceiling)
	case kept >= s.spec.Ceiling*(1-sameRate):
		return "offer more than that (--ceiling, or where this machine has no ports for more, --workers)"
	}
	return fmt.Sprintf("give the search more time to find the limit itself (--budget %s)", text.Option(moreTime*s.spec.Budget))
}

// moreTime is by how much longer a search is to be that found no limit.
const moreTime = 3

// note says what makes the answer weak.
func (s *Search) note(a *Limit) {
	add := func(format string, args ...any) { a.Notes = append(a.Notes, fmt.Sprintf(format, args...)) }
	_, broken := s.bracket()
	switch {
	case a.Standing == wide && a.Interval[0] == 0 && math.IsInf(broken, 1):
		add("no objective was missed, but the queue grew at every rate offered: add an objective on ttft, or start lower (--start)")
	case a.Standing == wide:
		add("the interval is wider than ±%s: give the search more time (--budget %s)", text.Percent(2*s.spec.Precision), text.Option(moreTime*s.spec.Budget))
	case a.Standing == atLeast:
		add("no objective was missed up to %s: %s", text.Unit(text.Digits(a.Interval[1], 4), a.RateUnit()), s.higher(a.Interval[1]))
	case a.Standing == below:
		add("missed even at %s, the lowest %s offered", text.Unit(text.Digits(a.Interval[1], 4), a.RateUnit()), a.Noun())
	}
	if a.UnmissedTo != nil && a.Standing != atLeast {
		add("no objective was missed up to %s: the limit is where the pace between tokens and percentiles near their limits put it",
			text.Unit(text.Digits(*a.UnmissedTo, 4), a.RateUnit()))
	}
	measured := time.Duration(0)
	for _, l := range s.levels {
		measured += l.Duration
	}
	if measured < briefSearch && slices.ContainsFunc(s.objectives, late) {
		add("levels of %s in all say nothing about what happens less often than every %s, such as a stall", text.Length(round(measured)), text.Length(round(measured/seesPart)))
	}
	if s.blind() > 0 && slices.ContainsFunc(s.objectives, late) {
		add("no level lasted as long as %d replies take under load: a queue may form at a lower rate, and the interval allows for it", blindReplies)
	}
	for i, o := range s.objectives {
		switch {
		case ofReplies(o) && !s.outlasts(o):
			_, want := s.tooShort(o)
			add("%s was not judged: levels are over before it; give them at least %s", o.Text, want)
		case o.AboutJobs() && !slices.ContainsFunc(s.levels, func(l levelResult) bool { return l.evidence[i].n > 0 }):
			add("%s was not judged: no job began and ended within a level; make levels longer than jobs (--sustained, --budget)", o.Text)
		}
	}
	switch {
	case a.Held != nil || a.Standing == below:
	case s.countSustained() > 0:
		shortest, longest := s.sustainedRange()
		length := text.Length(round(shortest))
		if more := text.Length(round(longest)); more != length {
			length += " to " + more
		}
		add("no run of %s met every objective (%d made): no %s was held", length, s.countSustained(), a.Noun())
	default:
		add("no sustained run that counts was made: no %s was held", a.Noun())
	}
}
