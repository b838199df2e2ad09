package report

import (
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
)

// choices is the decision matrix, what applies to the workload first marked.
func (p *page) choices(r *result.Result) {
	if !isStored(r) { // whoever compares has a set-up
		p.Add(Choices(r.Choices))
	}
}

// Choices lays the decision matrix out.
func Choices(rows []result.Choice) *document.Table {
	t := document.NewTable(left("scenario"), left(""), left("when").Optional(2), left("approach"), left("why"), prose("cost"))
	for _, c := range rows {
		applies := ""
		if c.Applies {
			applies = paint(good, "this one")
		}
		t.Add(clean(c.Scenario), applies, clean(c.When), clean(c.Approach), clean(c.Why), clean(c.Cost))
	}
	return t
}

// whyWidth holds the names of the lines under a cause.
const whyWidth = len("confirm")

// why says in a few lines what the figures speak for: the first finding with
// what to do about it, the others by name.
func (p *page) why(r *result.Result) {
	if len(r.Diagnosis) == 0 || p.invalid {
		return
	}
	first, word := &r.Diagnosis[0], "Why: "
	if !slices.ContainsFunc(allObjectives(r), func(v slo.Verdict) bool { return v.Standing != slo.Met }) {
		word = "What limits it first: " // nothing failed that a cause could explain
	}
	p.Add(document.Headline{Word: word, Tone: bold, Why: clean(first.Title) + " (" + clean(first.Confidence) + ")"})
	p.Finding(whyWidth, plain, "try", clean(strings.Join(first.Response, "; ")))
	p.Finding(whyWidth, plain, "confirm", clean(first.Confirm))
	p.Finding(whyWidth, plain, "settled", when(first.Settled != "" && p.room >= explained, "if "+clean(first.Settled)))
	p.Finding(whyWidth, plain, "also", strings.Join(each(r.Diagnosis[1:], func(f result.Finding) string { return clean(f.Title) + " (" + clean(f.Confidence) + ")" }), "; "))
}

// allFindings gives every finding with its evidence.
func (p *page) allFindings(r *result.Result) {
	if p.invalid {
		return
	}
	for i := range r.Diagnosis {
		f := &r.Diagnosis[i]
		p.Add(document.Heading(document.Capital(clean(f.Title))))
		p.Field("regime", clean(f.Regime)+", "+clean(f.Confidence))
		for _, e := range f.Evidence {
			p.Field("evidence", clean(e.Text)+when(e.Field != "", " ("+clean(e.Field)+")"))
		}
		p.Field("try first", clean(strings.Join(f.Response, "; ")))
		p.Field("confirm by", clean(f.Confirm))
		p.Field("settled", when(f.Settled != "", "if "+clean(f.Settled)))
		p.Field("suits the workload", clean(f.Advice))
	}
}
