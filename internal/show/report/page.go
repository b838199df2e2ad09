package report

import (
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/document"
	"redline/internal/text"
)

// The words of documents, short because every section uses them.
const (
	plain = document.Plain
	good  = document.Good // met, valid
	weak  = document.Weak // too close to call, low confidence
	bad   = document.Bad  // missed, invalid, failed
	bold  = document.Bold
	met   = document.Met // the verdict itself
	unset = document.Open
	lost  = document.Lost
)

type tone = document.Tone

var (
	paint, mark                 = document.Paint, document.Mark
	left, right, decimal, prose = document.Left, document.Right, document.Decimal, document.Prose
)

// room is how much a document can say.
type room uint8

const (
	pull      room = 1 << iota // a pull request
	glance                     // a terminal
	explained                  // a terminal, with --explain
	whole                      // a page of its own
	joins                      // a section that follows the one above closely
	folds                      // a section to be shown on demand

	terminal = glance | explained
	brief    = pull | glance
	all      = pull | terminal | whole
)

// page is a document in the making: its blocks, the warnings that no figure has
// referred to, and the figures shown so far, which are explained at its end.
type page struct {
	document.Builder
	room        room
	notes       warnings
	figureNames []string
	// percentiles are the keys of those that latencies are shown at.
	percentiles []string
	// headlineNotes are the notes on objectives that the headline has.
	headlineNotes []string
	// allInFront says that the headline names every objective with its figure.
	allInFront bool
	// sustained is the sustained run that the answer relies on, nil without one.
	sustained *result.Point
	// invalid takes the color from what the server seems to have done.
	invalid bool
	devices int    // accelerators of the server, 0 where not known
	bill    string // what everything sent costs, of the limit on it; "" where not known
}

func newPage(r *result.Result, room room) *page {
	p := &page{room: room, percentiles: percentilesOf(r), devices: r.Hardware.Count, bill: billOf(r),
		notes: warnings{list: r.Warnings, unseen: len(r.Points) > 0 && len(detailedPoints(r)) == 0}}
	if i := SustainedPoint(r); holds(r, i) {
		p.sustained = &r.Points[i]
	}
	return p
}

// warn writes warnings with the figures that they are about.
func (p *page) warn(list []result.Warning) {
	for _, w := range list {
		p.Warning(clean(strings.TrimPrefix(w.Figure+": "+w.Text, ": ")))
	}
}

// shows remembers a figure for --explain by its name in METRICS.md.
func (p *page) shows(names ...string) {
	for _, name := range names {
		if !slices.Contains(p.figureNames, name) {
			p.figureNames = append(p.figureNames, name)
		}
	}
}

// clean shows the control characters of a text that came from outside, so that a
// server's name cannot move the cursor.
func clean(s string) string { return text.Line(s) }

func cleanAll(texts []string) []string { return each(texts, clean) }

// each words every element of a list.
func each[T any](list []T, words func(T) string) []string {
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i] = words(one)
	}
	return texts
}

// when is a text that holds under a condition only.
func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// label is a name from outside, short enough for a column.
func label(name string) string { return document.Shorten(name, 24) }

// title is a text from outside: whole where there is room for it.
func (p *page) title(name string, longest int) string {
	if p.room == whole {
		return clean(name)
	}
	return document.Shorten(name, longest)
}

// present are the parts that are there.
func present(parts ...string) []string {
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// joinDots puts a middle dot between the parts that are there.
func joinDots(parts ...string) string { return strings.Join(present(parts...), " · ") }

// countIfAny counts what is there, and is silent where nothing is.
func countIfAny[N int | int64](n N, what string) string {
	return when(n != 0, count(n)+hard+what)
}

// listInBrackets is " (a, b)", nothing where none is there.
func listInBrackets(parts ...string) string {
	parts = present(parts...)
	return when(len(parts) > 0, " ("+strings.Join(parts, ", ")+")")
}
