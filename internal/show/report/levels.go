package report

import (
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

const (
	countedFromDue = "latencies in ms, ttft and e2e from due; shares of requests are of all due"

	fullSign, hollowSign = "●", "○"
	probeLevel           = "exploratory: a level of under a minute is good for a first look, not for a claim"
)

// isProbe reports whether a level is too short for a claim.
func isProbe(point *result.Point) bool {
	return point.Probe || windowLength(point) < probeLimit
}

// curvePoints are the levels of the curve that exist.
func curvePoints(r *result.Result) []int {
	if r.Curve == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Curve.Points), func(i int) bool { return i < 0 || i >= len(r.Points) })
}

// levels writes one row for each level of the curve.
func (p *page) levels(r *result.Result) {
	points := curvePoints(r)
	if len(points) == 0 {
		return
	}
	unit, widest := "requests/s", measure{}
	for _, i := range points {
		whole, tail := split(cell{text: loadFigure(&r.Points[i])})
		widest = measure{max(widest.whole, visible(whole)), max(widest.tail, visible(tail))}
	}
	if r.Curve.By == "concurrency" {
		unit = "in flight"
	}
	t := p.pointsTable(r, points, column{head: cell{text: "levels, " + unit, tone: bold}, align: alignLeft}, func(i int) cell {
		sign := fullSign
		if isProbe(&r.Points[i]) {
			sign = hollowSign
		}
		return cell{text: indent + sign + " " + figurePadded(loadFigure(&r.Points[i]), widest)}
	})
	if len(r.Curve.Standing) == len(points) {
		t.believed(r)
	}
	p.write(t)
	p.hang(indent, countedFromDue)
	if slices.ContainsFunc(points, func(i int) bool { return isProbe(&r.Points[i]) }) {
		p.hang(indent, hollowSign+" "+probeLevel)
	}
}

// believed replaces what each level says of itself by what a search believes of
// its rate from all levels together; one that is not valid was left out of that,
// and the sustained run that held its rate is the one to rely on.
func (t *table) believed(r *result.Result) {
	column := t.standingColumn()
	for row, standing := range r.Curve.Standing {
		if column < 0 || row >= len(t.rows) {
			return
		}
		i := r.Curve.Points[row]
		switch c := standings[standing]; {
		case r.Points[i].Invalid != "":
		case holds(r, i):
			t.rows[row][column] = heldCell
		case c.text != "":
			t.rows[row][column] = c
		}
	}
}

func (t *table) standingColumn() int {
	return slices.IndexFunc(t.columns, func(c column) bool { return c.head.text == "standing" })
}

// heldCell is the word for the run that the headline relies on.
var heldCell = cell{text: "held", tone: good}

// holds reports whether a point is the sustained run that held its rate.
func holds(r *result.Result, i int) bool {
	return r.Limit != nil && r.Limit.Held != nil && i >= 0 && i == sustained(r)
}

// figurePadded puts spaces before a number so that decimal points line up.
func figurePadded(number string, widest measure) string {
	whole, _ := split(cell{text: number})
	return strings.Repeat(figureSpace, max(widest.whole-visible(whole), 0)) + number
}

// loadFigure is the load without its unit.
func loadFigure(point *result.Point) string {
	switch l := point.Load; {
	case l.Rate != nil:
		return trimmed(significant(*l.Rate, 4, maxDecimals))
	case l.Concurrency != nil:
		return count(*l.Concurrency)
	}
	return absent
}

// pointFigure is a column of a table of points.
type pointFigure struct {
	head     string
	align    align
	optional int
	of       func(*page, *result.Point) cell
	// some counts what the column is about, where it is shown only if there are
	// any; nil: it is shown wherever it is known.
	some func(*metric.Requests) int
}

var pointFigures = []pointFigure{
	{head: "due/s", align: alignPoint, optional: 2, of: dueCell},
	{head: "ttft p99", align: alignPoint, of: tailCell("ttft_due")},
	{head: "tpot p99", align: alignPoint, optional: 1, of: tailCell("tpot")},
	{head: "e2e p99", align: alignPoint, optional: 4, of: tailCell("e2e_due")},
	{head: "goodput/s", align: alignPoint, of: goodputCell},
	{head: "out tokens/s", align: alignPoint, optional: 3, of: func(_ *page, point *result.Point) cell { return cell{text: figure(point.Throughput.Output)} }},
	{head: "in flight", align: alignPoint, optional: 5, of: func(_ *page, point *result.Point) cell { return cell{text: figure(point.Concurrency.Mean)} }},
	{head: "errors", align: alignRight, of: shareCell(func(r *metric.Requests) int { return r.Failed })},
	{head: "rejected", align: alignRight, of: shareCell(rejected), some: rejected},
	{head: "unfinished", align: alignRight, of: shareCell(unfinished), some: unfinished},
	{head: "standing", align: alignRight, of: pointStanding},
}

func rejected(r *metric.Requests) int { return r.Rejected }

// unfinished are requests of the window that had no end when it was over.
func unfinished(r *metric.Requests) int { return r.Censored + r.Unsent }

// shareCell is the share of requests that ended in one way.
func shareCell(of func(*metric.Requests) int) func(*page, *result.Point) cell {
	return func(_ *page, point *result.Point) cell {
		return cell{text: shareOf(int64(of(&point.Requests)), int64(point.Requests.Due))}
	}
}

// pointsTable gives one row for each of several points.
func (p *page) pointsTable(r *result.Result, points []int, first column, name func(int) cell) table {
	t := table{columns: []column{first}}
	for _, i := range points {
		t.rows = append(t.rows, []cell{name(i)})
	}
	for _, f := range pointFigures {
		cells := make([]cell, len(points))
		some := false
		for row, i := range points {
			cells[row] = f.of(p, &r.Points[i])
			some = some || cells[row].text != absent && (f.some == nil || f.some(&r.Points[i].Requests) > 0)
		}
		if some {
			t.add(column{head: cell{text: f.head}, align: f.align, optional: f.optional}, cells)
		}
	}
	p.shows("ttft_due", "e2e_due", "tpot")
	if slices.ContainsFunc(points, func(i int) bool { return r.Points[i].Goodput != nil }) {
		p.shows("goodput")
	}
	return t
}

// tailCell is a p99. Whether that of a probe is firm is no question: its sign
// says so already.
func tailCell(name string) func(*page, *result.Point) cell {
	return func(p *page, point *result.Point) cell {
		d := point.Latency.Of(name)
		v, ok := percentile(d, "p99")
		if !ok {
			return cell{text: absent}
		}
		c := cell{text: figure(v)}
		if !d.IsFirm("p99") && !isProbe(point) {
			c.mark, c.tone = p.notes.mark(p.whyWeak(name+"_ms", "p99", point.Tokens)), weak
		}
		return c
	}
}

// dueCell is the rate that came of the one asked for.
func dueCell(_ *page, point *result.Point) cell {
	if point.Load.Rate == nil || point.Rates.Offered == 0 {
		return cell{text: absent}
	}
	return cell{text: figure(point.Rates.Offered)}
}

func goodputCell(_ *page, point *result.Point) cell {
	if point.Goodput == nil {
		return cell{text: absent}
	}
	return cell{text: figure(point.Goodput.Requests)}
}

// pointStanding is where the objectives of a point stand together; a queue
// that grew says more than any of them.
func pointStanding(p *page, point *result.Point) cell {
	if point.Invalid != "" {
		return cell{text: "not valid", tone: bad}
	}
	if o := point.Window.Overload; o != nil && *o {
		return p.marked(cell{text: "overload", tone: bad})
	}
	if len(point.Objectives) == 0 {
		return cell{text: absent}
	}
	c := standings[slo.Standing(slo.Overall(point.Objectives))]
	if c.text == "" {
		c.text = absent
	}
	return p.marked(c)
}

// stages writes the runs of an experiment that are no levels of its curve, and
// of a matrix what was expected of each and what came of it.
func (p *page) stages(r *result.Result) {
	onCurve := curvePoints(r)
	var stages []result.Stage
	var points []int
	for _, s := range r.Stages {
		if s.Point == nil || *s.Point < 0 || *s.Point >= len(r.Points) || slices.Contains(onCurve, *s.Point) {
			continue
		}
		stages, points = append(stages, s), append(points, *s.Point)
	}
	if len(stages) == 0 {
		return
	}
	row := 0
	t := p.pointsTable(r, points, column{head: cell{text: "stages", tone: bold}}, func(int) cell {
		row++
		return cell{text: indent + p.title(stages[row-1].Name)}
	})
	t.unjudged(stages)
	t.addExpected(stages)
	p.write(t)
	p.hang(indent, countedFromDue)
	for _, s := range stages {
		p.expectation(s)
	}
}

// unjudged names the ramp of a search where others are judged: nothing is
// measured by it.
func (t *table) unjudged(stages []result.Stage) {
	for row, s := range stages {
		if column := t.standingColumn(); column >= 0 && s.Purpose == rampPurpose {
			t.rows[row][column] = cell{text: rampPurpose}
		}
	}
}

// rampPurpose is that of the stage by which a search finds the scale.
const rampPurpose = "ramp"

// addExpected says of each row of a matrix whether it came out as expected.
func (t *table) addExpected(stages []result.Stage) {
	cells := make([]cell, len(stages))
	some := false
	for i, s := range stages {
		switch {
		case s.Expectation == "" || s.Outcome == "":
			cells[i] = cell{text: absent}
			continue
		case s.Agrees == nil:
			cells[i] = cell{text: openPhrase, tone: weak}
		case *s.Agrees:
			cells[i] = cell{text: "yes", tone: good}
		default:
			cells[i] = cell{text: "no", tone: bad}
		}
		some = true
	}
	if some {
		t.add(column{head: cell{text: "as expected"}, align: alignRight}, cells)
	}
}

// expectation writes what a row of a matrix asked and what it found.
func (p *page) expectation(s result.Stage) {
	if s.Question == "" && s.Outcome == "" && s.Hypothesis == "" {
		return
	}
	p.gap()
	p.heading(clean(s.Name))
	p.field("hypothesis", clean(s.Hypothesis))
	p.field("question", clean(s.Question))
	p.field("expected", clean(s.Expectation))
	outcome := clean(s.Outcome)
	switch {
	case outcome == "" || s.Agrees == nil:
	case *s.Agrees:
		outcome += " · " + p.paint(good, "as expected")
	default:
		outcome += " · " + p.paint(bad, "not as expected")
	}
	p.field("measured", outcome)
}
