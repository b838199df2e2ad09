package report

import (
	"slices"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/result"
)

const (
	explainWidth = 22
	stampsMeant  = "times are arrivals at this machine; due is when the schedule wanted the request, slot when the cap let it through, " +
		"conn when its connection was ready, sent just before its first byte, first and last its first and last output, answer the first that is not reasoning"
)

// explain writes the formula of every figure that the page shows, in the order
// of the definitions, and why some checks could not be made.
func (p *page) explain(r *result.Result) {
	p.gap()
	p.line(p.paint(bold, "what the figures mean"))
	p.explained("stamps", stampsMeant)
	for _, f := range p.figuresShown() {
		p.explained(f.Title, f.Definition())
	}
	if len(r.Verdict.Unchecked) == 0 {
		return
	}
	p.gap()
	p.line(p.paint(bold, "what was not checked"))
	for _, u := range r.Verdict.Unchecked {
		p.explained(label(u.Name), clean(u.Why))
	}
}

// figuresShown are the rows of the table of figures that the page shows.
func (p *page) figuresShown() []*fig.Figure {
	return slices.DeleteFunc(slices.Clone(fig.All), func(f *fig.Figure) bool { return !slices.Contains(p.shown, f.Key) })
}

func (p *page) explained(name, text string) {
	p.hang(indent+padRight(name, explainWidth)+indent, text)
}
