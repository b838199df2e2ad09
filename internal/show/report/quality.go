package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/objective"
	"redline/internal/text"
)

var qualityPhases = map[string]string{result.Alone: "alone", result.UnderLoad: "under load", result.After: "after"}

// quality writes how right the answers were, phase beside phase: "96% alone,
// 93% under load".
func (p *page) quality(q *result.Quality) {
	if q == nil || len(q.Phases) == 0 {
		return
	}
	valid := ifKnown(WorstShare(q, func(p *result.QualityPhase) *result.QualityShare { return p.Structured }),
		func(s result.QualityShare) string { return percent(s.Share) + " valid JSON" })
	p.Field("quality", joinDots(qualityScores(q)+qualityStanding(q.Gates), valid, plural(q.Items, "question")+" of "+clean(q.Set)))
	p.Field("", joinDots(underLoad(q.UnderLoad), weakSlices(q), qualityRemarks(q)))
}

// underLoad words the difference that the load makes to the same questions.
func underLoad(d *result.QualityDifference) string {
	if d == nil {
		return ""
	}
	points := func(share float64) string { return text.SignedNumber(100 * share) }
	return "under load " + points(d.Difference) + " points [" + points(d.Interval[0]) + ", " + points(d.Interval[1]) + "] on the same " + plural(d.N, "question") +
		" (" + count(d.Lost) + hard + "lost, " + count(d.Won) + hard + "won)"
}

func qualityScores(q *result.Quality) string {
	var parts []string
	for i := range q.Phases {
		one := &q.Phases[i]
		parts = append(parts, cmp.Or(ifKnown(one.Score, percent), "nothing judged")+" "+qualityPhases[one.Phase])
	}
	return strings.Join(parts, ", ")
}

// qualityStanding is the worst that a gate came to.
func qualityStanding(gates []slo.Verdict) string {
	missed := slices.IndexFunc(gates, func(g slo.Verdict) bool { return g.Standing == slo.Missed })
	switch {
	case len(gates) == 0:
		return ""
	case missed >= 0:
		g := gates[missed]
		return " (" + strings.TrimPrefix(clean(g.Objective), objective.Quality) + ": " + objective.Against(g) + ", MISSED)"
	case slices.ContainsFunc(gates, func(g slo.Verdict) bool { return g.Standing == slo.Undecided }):
		return " (gates too close to call)"
	}
	return " (gates met)"
}

// WorstShare is the lowest of a share over the phases, nil where none has it.
func WorstShare(q *result.Quality, of func(*result.QualityPhase) *result.QualityShare) *result.QualityShare {
	var worst *result.QualityShare
	for i := range q.Phases {
		if s := of(&q.Phases[i]); s != nil && (worst == nil || s.Share < worst.Share) {
			worst = s
		}
	}
	return worst
}

// weakSlices names the tags in which an answer was wrong, with the worst phase
// of each.
func weakSlices(q *result.Quality) string {
	worst := map[string]float64{}
	for i := range q.Phases {
		for tag, s := range q.Phases[i].Slices {
			if known, ok := worst[tag]; s.Share < 1 && (!ok || s.Share < known) {
				worst[tag] = s.Share
			}
		}
	}
	var parts []string
	for _, tag := range slices.Sorted(maps.Keys(worst)) {
		parts = append(parts, label(tag)+hard+percent(worst[tag]))
	}
	if len(parts) == 0 {
		return ""
	}
	return "right answers in the worst phase: " + strings.Join(parts, ", ")
}

// noteworthy is from which share on two counts of tokens differ worth a word.
const noteworthy = 0.02

// qualityRemarks are what else is worth a word about the answers.
func qualityRemarks(q *result.Quality) string {
	identical := func(words string) func(result.QualityShare) string {
		return func(s result.QualityShare) string { return percent(s.Share) + words }
	}
	same := present(ifKnown(WorstShare(q, func(p *result.QualityPhase) *result.QualityShare { return p.Determinism }), identical(" of repeats identical")))
	if u := q.Phase(result.UnderLoad); u != nil && u.SameAsAlone != nil && u.SameAsAlone.Share < 1 {
		same = append(same, identical(" under load identical to alone")(*u.SameAsAlone))
	}
	length, usage, unanswered, unjudged := "", "", 0, 0
	for i := range q.Phases {
		one := &q.Phases[i]
		unanswered, unjudged = unanswered+one.Unanswered, unjudged+one.NotJudged
		if one.LengthDrift != nil {
			length = "length " + signedNumber(100**one.LengthDrift) + hard + "% of the references"
		}
	}
	if d := q.Phases[0].UsageDrift; d != nil && (*d > noteworthy || *d < -noteworthy) {
		usage = "usage " + signedNumber(100**d) + hard + "% of the local token count"
	}
	return joinDots(strings.Join(same, ", "), length, usage, strings.Join(present(countIfAny(unanswered, "unanswered"), countIfAny(unjudged, "not judged")), ", "))
}
