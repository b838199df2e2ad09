package search

import (
	"fmt"
	"math"
	"slices"

	"redline/internal/result"
	"redline/internal/slo"
)

// The plain data is that of the document; here it is filled.
type (
	// Limit is the answer.
	Limit = result.Limit
	// Bound is the limit by one objective alone.
	Bound = result.Bound
	// BestGoodput is where most requests per second kept every objective.
	BestGoodput = result.BestGoodput
)

// The standings of a limit.
const (
	Found   = result.LimitFound
	Wide    = result.LimitWide
	AtLeast = result.LimitAtLeast
	Below   = result.LimitBelow
	Needs   = result.LimitNeeds
)

// The edges. A cliff goes from half of the allowed share to ten times it
// within 5 % of rate.
const (
	Cliff = result.EdgeCliff
	Slope = result.EdgeSlope

	cliffFrom, cliffTo, cliffSpan = 0.5, 10.0, 0.05
)

// Answer is what is known so far.
func (s *Search) Answer() Limit {
	a := Limit{Standing: Wide, ByObjective: map[string]Bound{}, LoadS: s.spent.Seconds()}
	for _, l := range s.seen {
		a.Requests += l.Requests
	}
	b := s.bracket()
	if b.kept == 0 && math.IsInf(b.broken, 1) {
		a.Notes = []string{"no objective was judged at any load"}
		return a
	}
	all := s.belief()
	lo, hi := all.interval()
	a.Rate, a.Interval = all.quantile(0.5), [2]float64{lo, hi}
	switch {
	case b.kept == 0:
		a.Standing, a.Rate, a.Interval = Below, 0, [2]float64{0, b.broken}
	case math.IsInf(b.broken, 1):
		a.Standing, a.Rate, a.Interval = AtLeast, b.kept, [2]float64{min(lo, b.kept), b.kept}
	case all.halfWidth() <= 2*s.spec.Precision:
		a.Standing = Found
	}
	s.boundAll(&a, s.believed())
	s.throughputs(&a)
	a.Confirmed = b.closed() && s.confirmed(a.Rate) || a.Standing == AtLeast && s.decided(a.Rate)
	a.Knee, a.BestGoodput = s.knee(a.Rate), s.bestGoodput()
	s.note(&a)
	return a
}

// boundAll gives the limit by each objective alone, the binding one and its
// edge.
func (s *Search) boundAll(a *Limit, list []*belief) {
	least := math.Inf(1)
	for i, b := range list {
		if b == nil {
			continue
		}
		text := s.objectives[i].Text
		bound := s.bound(i, b)
		a.ByObjective[text] = bound
		if bound.Standing == Below {
			a.Unmet = append(a.Unmet, text)
		}
		if bound.Standing == AtLeast || bound.Rate >= least {
			continue
		}
		least, a.Binding = bound.Rate, text
		a.Edge = ""
		if bound.Standing != Below {
			a.Edge = edge(allowed(s.objectives[i]), b.slope)
		}
	}
}

// bound is the limit by one objective.
func (s *Search) bound(objective int, b *belief) Bound {
	kept, broken := 0.0, math.Inf(1)
	one := s.objectives[objective : objective+1]
	for _, l := range s.seen {
		alone := seen{Level: l.Level, Observation: l.Observation, evidence: l.evidence[objective : objective+1]}
		switch is, judged := alone.broken(one, 1); {
		case !judged:
		case is:
			broken = min(broken, l.Rate)
		default:
			kept = max(kept, l.Rate)
		}
	}
	lo, hi := b.interval()
	switch {
	case math.IsInf(broken, 1):
		return Bound{Rate: kept, Interval: [2]float64{min(lo, kept), kept}, Standing: AtLeast}
	case kept == 0:
		return Bound{Interval: [2]float64{0, broken}, Standing: Below}
	}
	bound := Bound{Rate: b.quantile(0.5), Interval: [2]float64{lo, hi}, Standing: Found}
	if b.halfWidth() > 2*s.spec.Precision {
		bound.Standing = Wide
	}
	return bound
}

// edge tells a cliff from a slope by the curve that was fitted.
func edge(q, slope float64) string {
	span := logit(min(cliffTo*q, 0.99)) - logit(cliffFrom*q)
	if span/slope <= math.Log1p(cliffSpan) {
		return Cliff
	}
	return Slope
}

// throughputs says from which rate on a promised throughput was reached.
func (s *Search) throughputs(a *Limit) {
	for i, o := range s.objectives {
		if kindOf(o) != rising {
			continue
		}
		reached, short := math.Inf(1), 0.0
		for _, l := range s.seen {
			switch l.evidence[i].standing {
			case slo.Met:
				reached = min(reached, l.Rate)
			case slo.Missed:
				short = max(short, l.Rate)
			}
		}
		if !math.IsInf(reached, 1) {
			a.ByObjective[o.Text] = Bound{Rate: reached, Interval: [2]float64{min(short, reached), reached}, Standing: Needs}
		}
		if reached > a.Rate {
			a.Unmet = append(a.Unmet, o.Text)
		}
	}
}

// decided reports whether a level at a rate was long enough to say that every
// objective is met.
func (s *Search) decided(rate float64) bool {
	return slices.ContainsFunc(s.seen, func(l seen) bool {
		return l.Rate == rate && !slices.ContainsFunc(l.Objectives, func(v slo.Verdict) bool { return v.Standing != slo.Met })
	})
}

func (s *Search) bestGoodput() *BestGoodput {
	var best *BestGoodput
	for _, l := range s.seen {
		if l.Goodput > 0 && (best == nil || l.Goodput > best.Requests) {
			best = &BestGoodput{Rate: l.Rate, Requests: l.Goodput}
		}
	}
	return best
}

// note says what makes the answer weak.
func (s *Search) note(a *Limit) {
	add := func(format string, args ...any) { a.Notes = append(a.Notes, fmt.Sprintf(format, args...)) }
	switch a.Standing {
	case Wide:
		add("the interval is wider than ± %.3g %%: give the search more time", 200*s.spec.Precision)
	case AtLeast:
		if a.Confirmed {
			add("nothing broke up to %.4g requests/s: the limit is higher", a.Rate)
		} else {
			add("nothing broke up to %.4g requests/s, where too few requests were seen to decide: give the search more time", a.Rate)
		}
	case Below:
		add("broken even at %.4g requests/s, the lowest rate offered", a.Interval[1])
	}
	if a.Confirmed || a.Standing == AtLeast || a.Standing == Below {
		return
	}
	if n := s.made(Sustain); n > 0 {
		add("no sustained run at the limit kept every objective (%d made): the limit was lowered and is not confirmed", n)
		return
	}
	add("no sustained run was made: the limit is not confirmed")
}
