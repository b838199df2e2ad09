package report

import (
	"slices"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/show/document"
)

const (
	explainWidth = 22
	stampsMeant  = "timestamps are arrivals at this machine; due is when the schedule wanted the request, slot when the cap let it through, " +
		"conn when its connection was ready, sent just before its first byte, first and last its first and last output, answer the first that is not reasoning"
)

// meanings writes the formula of every figure that the page shows, in the order
// of the definitions.
func (p *page) meanings(*result.Result) {
	if p.room < whole {
		p.Add(document.Heading("what the figures mean"))
	}
	p.Finding(explainWidth, plain, "stamps", stampsMeant)
	for _, f := range p.figuresShown() {
		said := f.Definition()
		if p.room < whole { // METRICS.md and a page have the rest
			said = f.Formula + strings.TrimSuffix("; "+firstClause(f.Note), "; ")
		}
		p.Finding(explainWidth, plain, f.Title, said)
	}
}

// firstClause is a note up to where it goes into details.
func firstClause(note string) string {
	for _, end := range []string{"; ", ". "} {
		note, _, _ = strings.Cut(note, end)
	}
	return note
}

// uncheckedList says why some checks could not be made.
func (p *page) uncheckedList(r *result.Result) {
	if len(r.Verdict.Unchecked) > 0 {
		p.Add(document.Heading("what was not checked"))
	}
	for _, u := range r.Verdict.Unchecked {
		p.Finding(explainWidth, plain, label(u.Name), clean(u.Why))
	}
}

// figuresShown are the rows of the table of figures that the page shows.
func (p *page) figuresShown() []*fig.Figure {
	return slices.DeleteFunc(slices.Clone(fig.All), func(f *fig.Figure) bool { return !slices.Contains(p.figureNames, f.Key) })
}
