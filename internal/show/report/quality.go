package report

import (
	"maps"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// qualityPrefix begins the names of gates among the objectives.
const qualityPrefix = "quality "

var qualityPhases = map[string]string{result.Alone: "alone", result.UnderLoad: "under load", result.After: "after"}

// quality writes how right the answers were, phase beside phase: "96% alone,
// 93% under load".
func (p *page) quality(q *result.Quality) {
	if q == nil || len(q.Phases) == 0 {
		return
	}
	p.field("quality", joined(qualityScores(q)+qualityStanding(q.Gates), structuredText(q), plural(q.Items, "question")+" of "+clean(q.Set)))
	p.field("", joined(weakSlices(q), determinismText(q), lengthText(q), usageText(q), unansweredText(q)))
}

func qualityScores(q *result.Quality) string {
	var parts []string
	for i := range q.Phases {
		one := &q.Phases[i]
		text := "nothing judged "
		if one.Score != nil {
			text = percent(*one.Score) + " "
		}
		parts = append(parts, text+qualityPhases[one.Phase])
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
		return " (" + strings.TrimPrefix(clean(g.Objective), qualityPrefix) + ": " + against(g) + ", MISSED)"
	case slices.ContainsFunc(gates, func(g slo.Verdict) bool { return g.Standing == slo.Undecided }):
		return " (gates too close to call)"
	}
	return " (gates met)"
}

// structuredText tells the least valid phase.
func structuredText(q *result.Quality) string {
	worst := worstShare(q, func(p *result.QualityPhase) *result.QualityShare { return p.Structured })
	if worst == nil {
		return ""
	}
	return percent(worst.Share) + " valid JSON"
}

func determinismText(q *result.Quality) string {
	var parts []string
	if d := worstShare(q, func(p *result.QualityPhase) *result.QualityShare { return p.Determinism }); d != nil {
		parts = append(parts, percent(d.Share)+" of repeats identical")
	}
	if u := q.Phase(result.UnderLoad); u != nil && u.SameAsAlone != nil && u.SameAsAlone.Share < 1 {
		parts = append(parts, percent(u.SameAsAlone.Share)+" under load identical to alone")
	}
	return strings.Join(parts, ", ")
}

func worstShare(q *result.Quality, of func(*result.QualityPhase) *result.QualityShare) *result.QualityShare {
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
	return "weakest phase of " + strings.Join(parts, ", ")
}

// noteworthy is from which share on two counts of tokens differ worth a word.
const noteworthy = 0.02

func lengthText(q *result.Quality) string {
	for i := len(q.Phases) - 1; i >= 0; i-- {
		if d := q.Phases[i].LengthDrift; d != nil {
			return "length " + signed(100**d) + hard + "% of the references"
		}
	}
	return ""
}

func usageText(q *result.Quality) string {
	if d := q.Phases[0].UsageDrift; d != nil && (*d > noteworthy || *d < -noteworthy) {
		return "usage " + signed(100**d) + hard + "% of the local token count"
	}
	return ""
}

func unansweredText(q *result.Quality) string {
	unanswered, not := 0, 0
	for i := range q.Phases {
		unanswered, not = unanswered+q.Phases[i].Unanswered, not+q.Phases[i].NotJudged
	}
	var parts []string
	if unanswered > 0 {
		parts = append(parts, count(unanswered)+hard+"unanswered")
	}
	if not > 0 {
		parts = append(parts, count(not)+hard+"not judged")
	}
	return strings.Join(parts, ", ")
}

// qualityColumns are the scores of a point's phases.
func qualityColumns() []Column {
	scored := func(name, phase, means string) Column {
		return of(name, means, func(p *result.Point) string {
			if one := p.Quality.Phase(phase); one != nil && one.Score != nil {
				return number(*one.Score)
			}
			return ""
		})
	}
	return []Column{
		scored("quality_alone", result.Alone, "share of golden questions answered rightly before the load"),
		scored("quality_under_load", result.UnderLoad, "share of golden questions answered rightly beside the load"),
		scored("quality_after", result.After, "share of golden questions answered rightly after the load"),
		of("structured_validity", "least share, over the phases, of answers that keep their JSON Schema", func(p *result.Point) string {
			if p.Quality == nil {
				return ""
			}
			worst := worstShare(p.Quality, func(q *result.QualityPhase) *result.QualityShare { return q.Structured })
			if worst == nil {
				return ""
			}
			return number(worst.Share)
		}),
	}
}
