package report

import (
	"io"

	"redline/internal/judge/result"
)

// TerminalOptions says what the terminal can do and what the reader asked for.
type TerminalOptions struct {
	Color   bool
	Explain bool // print the formula of every figure shown, and what a first look can do without
	Width   int  // columns; 0 and anything above 100 mean 100
}

// Terminal writes the report that a person reads: the verdict and its reasons,
// what was run, the figures, and how far they can be trusted.
func Terminal(w io.Writer, r *result.Result, o TerminalOptions) error {
	if r == nil {
		return errNoResult
	}
	p := newPage(r, o)
	p.verdict(r)
	p.why(r)
	p.gap()
	p.setting(r)
	p.answer(r)
	for _, i := range detailed(r) {
		p.point(r, i)
	}
	if p.whole {
		p.checklist(r.Checklist)
	}
	p.gap()
	p.trust(r)
	p.warnings()
	if o.Explain {
		p.explain(r)
	}
	_, err := io.WriteString(w, p.text.String())
	return err
}

// point writes the figures of one load.
func (p *page) point(r *result.Result, i int) {
	point := &r.Points[i]
	if len(r.Points) > 1 {
		p.gap()
		p.line(p.paint(bold, pointTitle(r, i)))
	}
	p.figuresOf(r, point)
}

func (p *page) figuresOf(r *result.Result, point *result.Point) {
	p.load(r, point)
	p.flushNotes()
	p.objectives(point)
	p.latency(point)
	p.gap()
	p.figures(point)
	p.flushNotes()
	for _, groups := range groupings {
		p.groups(groups, point)
	}
}

// warnings writes those that no figure on the page refers to.
func (p *page) warnings() {
	for _, warning := range p.notes.rest() {
		text := clean(warning.Text)
		if warning.Figure != "" {
			text = clean(warning.Figure) + ": " + text
		}
		p.hang(p.paint(weak, padRight("warning", keyWidth)), text)
	}
}
