// Package diagnose says why a server answers as it does: it takes a finished
// result and gives the regimes that its figures speak for, each with the
// evidence, how sure the rule can be, the measurement that would settle it and
// what to try first. One literal table holds the rules; docs/design/DIAGNOSIS.md shows
// it. It measures nothing, reads no records, and is silent where the evidence
// is thin. It must not know how a run is made or shown.
package diagnose

import (
	"cmp"
	"slices"

	"redline/internal/judge/result"
	"redline/internal/observe/engine"
)

// maxFindings is how many findings a result gets at most: whoever is told ten causes
// is told none.
const maxFindings = 3

// The words for how sure a rule is.
const (
	certain  = "certain"
	likely   = "likely"
	possible = "possible"
)

// Find gives the findings of a result, most decisive first. The order is that
// of the table; but causes of which it is known how much of the time they take
// stand by that, and one that takes less than an eighth of another is left out.
// A regime that another one explains is left out too. A load of several times what the
// server completes comes first: what else it lacks follows from that. A replica that has
// most of the violations is named alone. Where no rule explains a latency that was missed,
// the phase that takes most of the time is named. Events that took the service away are
// named alone where they are no small part of it: what a server does then is not what it
// does otherwise, and the figures are of both.
func Find(res *result.Result) []result.Finding {
	at, event := tookService(res)
	s := sceneOf(res)
	switch {
	case event != nil && (s == nil || *event.share >= minorShare):
		return at.findings([]*claim{event})
	case s == nil:
		return nil
	}
	claims := rankClaims(s.claims())
	if c := cmp.Or(s.ownLimit(), s.badReplica()); c != nil && !s.isBrief() {
		claims = []*claim{c}
	} else if c := s.dominant(); len(claims) == 0 && c != nil && !s.isBrief() {
		claims = []*claim{c}
	}
	found := s.findings(claims)
	if event != nil && len(found) < maxFindings {
		found = append(found, at.findings([]*claim{event})...)
	}
	return found
}

// findings words claims, with what to do about each.
func (s *scene) findings(claims []*claim) (found []result.Finding) {
	for _, c := range claims {
		// What to try first, in the engine's own flags where they are known.
		all := slices.Concat(c.first, c.rule.Response)
		regime := cmp.Or(phaseFlags[c.rule.Regime], c.rule.Regime)
		if e := s.flags(); e != nil && e.Advice[regime] != "" {
			all = append(all, e.Name+": "+e.Advice[regime])
		}
		found = append(found, result.Finding{Regime: c.Regime, Title: c.title, Confidence: c.confidence, Point: s.index,
			Evidence: c.evidence, Confirm: c.rule.confirm(s), Settled: c.Settled, Response: all})
		if len(found) == maxFindings {
			break
		}
	}
	if len(found) > 0 {
		found[0].Advice = advice(s)
	}
	return found
}

type claim struct {
	title      string
	confidence string
	evidence   []result.Evidence
	// share is the part of a request's time that it takes, nil where that is not
	// known.
	share *float64
	// first is what to try before what the rule says.
	first []string
	// leads says that it stands before all others, and that none of them explains it.
	leads bool
	*rule
}

// weight is the share, all of it where it is not known.
func (c *claim) weight() float64 {
	if c.share == nil {
		return 1
	}
	return *c.share
}

// claims is what all rules say that are about what went wrong.
func (s *scene) claims() []*claim {
	var all []*claim
	single := s.single()
	for i := range Rules {
		rule := &Rules[i]
		applies := s.concerns(rule) && !(rule.others && single) && (rule.OfAgents || !s.isBrief())
		if applies || rule.Regime == "queueing" && s.isGrosslyOverloaded() {
			if c := rule.judge(s); c != nil {
				c.rule = cmp.Or(c.rule, rule)
				all = append(all, c)
			}
		}
	}
	return all
}

// rankClaims leaves out what is little or explained, and orders what is left.
func rankClaims(all []*claim) []*claim {
	heaviest := 0.0
	for _, c := range all {
		heaviest = max(heaviest, c.weight())
	}
	all = slices.DeleteFunc(all, func(c *claim) bool { return c.weight() < minorShare*heaviest })
	var left, known []*claim
	for i, c := range all {
		if c.leads || !slices.ContainsFunc(all[:i], func(other *claim) bool { return other.explains(c) }) {
			left = append(left, c)
		}
	}
	for _, c := range left {
		if c.share != nil {
			known = append(known, c)
		}
	}
	slices.SortStableFunc(known, func(a, b *claim) int { return cmp.Compare(*b.share, *a.share) })
	for i, c := range left {
		if c.share != nil {
			left[i], known = known[0], known[1:]
		}
	}
	slices.SortStableFunc(left, func(a, b *claim) int {
		switch {
		case a.leads == b.leads:
			return 0
		case a.leads:
			return -1
		}
		return 1
	})
	return left
}

// explains reports whether a cause has another as its effect: not one that is
// known to take more of the time.
func (c *claim) explains(effect *claim) bool {
	return slices.Contains(c.Explains, effect.Regime) && (c.share == nil || effect.share == nil || *c.share >= *effect.share)
}

// flags is the engine whose flags fit, nil where its name is not known.
func (s *scene) flags() *engine.Engine {
	for _, name := range []string{s.res.Engine.Name, s.server.Engine} {
		if found := engine.Recognize(name); found != nil {
			return found.AdvisedEngine()
		}
	}
	return nil
}
