package report

import (
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// Pages are at most maxWidth columns wide and never squeezed below minWidth:
// a narrower terminal wraps them itself.
const (
	maxWidth = 100
	minWidth = 72
	// keyWidth is the column in which the text of a field begins.
	keyWidth = 12
	indent   = "  "
)

// page is a report in the making: text, the footnotes owed, and the figures
// shown so far, which --explain explains.
type page struct {
	text  strings.Builder
	width int
	color bool
	notes footnotes
	shown []string
	// percentiles are the keys of those that latencies are shown at.
	percentiles []string
	// whole says that the page has room for what a first look does without: the
	// checklist, what could not be checked, what is not known.
	whole bool
	// said are the notes on objectives that the headline has.
	said []string
	// held is the sustained run that the answer relies on, nil without one.
	held *result.Point
	// invalid takes the colour from what the server seems to have done.
	invalid bool
	// kept holds the parts of a page that others lay out; nil where it is laid
	// out here, as text.
	kept *[]piece
}

func newPage(r *result.Result, o TerminalOptions) *page {
	width := o.Width
	if width <= 0 || width > maxWidth {
		width = maxWidth
	}
	p := &page{width: max(width, minWidth), color: o.Color, whole: o.Explain, percentiles: percentilesOf(r), notes: footnotes{warnings: r.Warnings, unseen: len(r.Points) > 0 && len(detailed(r)) == 0}}
	if i := sustained(r); holds(r, i) {
		p.held = &r.Points[i]
	}
	return p
}

// line ends one line, without the blanks that alignment left at its end.
func (p *page) line(text string) {
	if p.kept != nil {
		p.keep(piece{kind: prose, text: strings.TrimSpace(text)})
		return
	}
	text = strings.TrimRight(plainSpaces(text), " ")
	p.text.WriteString(text)
	p.text.WriteByte('\n')
}

// gap separates two sections by one empty line.
func (p *page) gap() {
	if text := p.text.String(); text != "" && !strings.HasSuffix(text, "\n\n") {
		p.text.WriteByte('\n')
	}
}

// hang writes lead and then text, whose further lines begin below its first.
func (p *page) hang(lead, text string) {
	if text == "" && strings.TrimSpace(lead) == "" {
		return
	}
	if p.kept != nil {
		p.keep(piece{kind: prose, text: strings.TrimSpace(lead) + " " + text})
		return
	}
	margin := strings.Repeat(" ", visible(lead))
	for i, line := range wrapped(text, p.width-visible(lead)) {
		if i > 0 {
			lead = margin
		}
		p.line(lead + line)
	}
}

// field writes a named fact: "engine      vllm 0.11.0 …".
func (p *page) field(key, text string) { p.fieldAt(key, keyWidth, text) }

// fieldAt writes a named fact whose text begins in a column of its own; a name
// that is as long stays apart from its text.
func (p *page) fieldAt(key string, at int, text string) {
	if text == "" {
		return
	}
	if p.kept != nil {
		p.keep(piece{kind: fact, key: key, text: text})
		return
	}
	p.hang(padRight(key, max(at, visible(key)+1)), text)
}

// heading names what follows within a section.
func (p *page) heading(text string) {
	if p.kept != nil {
		p.keep(piece{kind: heading, text: text})
		return
	}
	p.line(p.paint(bold, text))
}

// shows remembers a figure for --explain by its name in METRICS.md.
func (p *page) shows(names ...string) {
	for _, name := range names {
		if !slices.Contains(p.shown, name) {
			p.shown = append(p.shown, name)
		}
	}
}

// clean shows the control characters of a text that came from outside, so that a
// server's name cannot move the cursor.
func clean(s string) string { return text.Line(s) }

// label is a name from outside, short enough for a column.
func label(name string) string { return shortened(name, 24) }

// title is the name of a row: whole where there is room for it.
func (p *page) title(name string) string {
	const longest = 44
	if p.width == unbounded {
		return clean(name)
	}
	return shortened(name, longest)
}

// shortened is a text from outside of at most so many columns.
func shortened(text string, longest int) string {
	if text = clean(text); visible(text) > longest {
		head, _ := cut(text, longest-1)
		return head + "…"
	}
	return text
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(width-visible(text), 0))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-visible(text), 0)) + text
}

// joined puts a middle dot between the parts that are there.
func joined(parts ...string) string {
	return text.Join(" · ", parts...)
}
