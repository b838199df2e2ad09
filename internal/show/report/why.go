package report

import (
	"strings"

	"redline/internal/judge/result"
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
	p.hang(p.paint(bold, "Why: "), clean(first.Title)+" ("+clean(first.Confidence)+")")
	p.finding(plain, "try", whyWidth, clean(strings.Join(first.Response, "; ")))
	p.finding(plain, "confirm", whyWidth, clean(first.Confirm))
	p.finding(plain, "settled", whyWidth, ifSet("if ", clean(first.Settled)))
	for _, f := range r.Diagnosis[1:] {
		p.finding(plain, "also", whyWidth, clean(f.Title)+" ("+clean(f.Confidence)+")")
	}
}

// ifSet puts a word before a text, where there is one.
func ifSet(word, text string) string {
	if text == "" {
		return ""
	}
	return word + text
}

// whyWhole gives every finding with its evidence.
func (p *page) whyWhole(r *result.Result) {
	if p.invalid {
		return
	}
	for i := range r.Diagnosis {
		f := &r.Diagnosis[i]
		p.heading(sentenceCase(clean(f.Title)))
		p.field("regime", clean(f.Regime)+", "+clean(f.Confidence))
		for _, e := range f.Evidence {
			p.field("evidence", clean(e.Text)+" ("+clean(e.Field)+")")
		}
		p.field("try first", clean(strings.Join(f.Response, "; ")))
		p.field("confirm by", clean(f.Confirm))
		p.field("settled", ifSet("if ", clean(f.Settled)))
		p.field("suits the workload", clean(f.Advice))
	}
}
