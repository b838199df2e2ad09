package report

import (
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/document"
)

// whyWidth holds the names of the lines under a cause.
const whyWidth = len("confirm")

// why says in a few lines what the figures speak for: the first finding with
// what to do about it, the others by name.
func (p *page) why(r *result.Result) {
	if len(r.Diagnosis) == 0 || p.invalid {
		return
	}
	first := &r.Diagnosis[0]
	p.Add(document.Headline{Word: "Why: ", Tone: bold, Why: clean(first.Title) + " (" + clean(first.Confidence) + ")"})
	p.Finding(whyWidth, plain, "try", clean(strings.Join(first.Response, "; ")))
	p.Finding(whyWidth, plain, "confirm", clean(first.Confirm))
	p.Finding(whyWidth, plain, "settled", when(first.Settled != "", "if "+clean(first.Settled)))
	for _, f := range r.Diagnosis[1:] {
		p.Finding(whyWidth, plain, "also", clean(f.Title)+" ("+clean(f.Confidence)+")")
	}
}

// whyWhole gives every finding with its evidence.
func (p *page) whyWhole(r *result.Result) {
	if p.invalid {
		return
	}
	for i := range r.Diagnosis {
		f := &r.Diagnosis[i]
		p.Add(document.Heading(document.Capital(clean(f.Title))))
		p.Field("regime", clean(f.Regime)+", "+clean(f.Confidence))
		for _, e := range f.Evidence {
			p.Field("evidence", clean(e.Text)+" ("+clean(e.Field)+")")
		}
		p.Field("try first", clean(strings.Join(f.Response, "; ")))
		p.Field("confirm by", clean(f.Confirm))
		p.Field("settled", when(f.Settled != "", "if "+clean(f.Settled)))
		p.Field("suits the workload", clean(f.Advice))
	}
}
