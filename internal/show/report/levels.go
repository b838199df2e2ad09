package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
)

const (
	countedFromDue = "latencies in ms, ttft and e2e from due; shares of requests are of all due"

	judgedTogether = "verdict: what all levels together say of a rate, with requests that never ended as violations; the figures of one level may say otherwise"

	FullSign, HollowSign = "●", "○"
	ProbeLevel           = "exploratory: a level of under a minute is good for a first look, not for a claim"
)

// Exploratory reports whether a level is too short for a claim.
func Exploratory(point *result.Point) bool {
	return point.Probe || point.Window.Seconds() < probeLimit
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
	if p.room == whole {
		p.Add(document.Charts(append(curves(r), throughputCharts(r)...)))
	}
	unit, widest := "requests/s", 0
	if r.Curve.By == "concurrency" {
		unit = "in flight"
	}
	if r.Limit != nil {
		unit = r.Limit.RateUnit()
	}
	for _, i := range points {
		widest = max(widest, wholeDigits(LoadFigure(&r.Points[i])))
	}
	t := p.pointsTable(r, points, "levels, "+unit, func(row int) string {
		load, sign := LoadFigure(&r.Points[points[row]]), FullSign
		if Exploratory(&r.Points[points[row]]) {
			sign = HollowSign
		}
		return sign + " " + strings.Repeat(document.FigureSpace, widest-wholeDigits(load)) + load
	})
	differs := len(r.Curve.Standing) == len(points) && believed(t, r)
	p.Add(t)
	p.Note(countedFromDue)
	if differs {
		p.Note(judgedTogether)
	}
	if slices.ContainsFunc(points, func(i int) bool { return Exploratory(&r.Points[i]) }) {
		p.Note(HollowSign + " " + ProbeLevel)
	}
	p.Footnotes()
	p.maxQPS(r.Curve.MaxQPS)
	if p.room < whole && len(points) > 1 {
		p.Add(document.Charts(objectiveCurves(r)))
	}
}

// maxQPS writes how far each objective was met, the tightest first.
func (p *page) maxQPS(m *result.MaxQPS) {
	if m == nil {
		return
	}
	t := document.NewTable(left("max QPS under"), decimal("requests/s"), right("in flight").Optional(1), prose(""))
	add := func(name string, r result.Reached) {
		missed := said(r.MissedAt, func(v float64) string { return "missed at " + trimmed(figure(v)) })
		if r.MissedAt == nil {
			missed = "or more: never missed"
		}
		rate := figure(r.Rate)
		if r.Rate == 0 {
			rate = absent
			missed += "; no level met it for certain"
		}
		t.Add(name, rate, said(r.Concurrency, count), missed)
	}
	texts := slices.Sorted(maps.Keys(m.ByObjective))
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(m.ByObjective[a].Rate, m.ByObjective[b].Rate) })
	if len(texts) > 1 {
		add("every objective", m.Reached)
	}
	for _, text := range texts {
		add(clean(text), m.ByObjective[text])
	}
	p.Add(t)
	p.Note("the highest level measured; --find-limit finds the limit between the levels")
}

// wholeDigits is how long a number is before its decimal point.
func wholeDigits(number string) int {
	whole, _, _ := strings.Cut(number, ".")
	return document.Visible(whole)
}

// believed replaces what each level says of itself by what a search believes of
// its rate from all levels together; one that is not valid was left out of that,
// and the sustained run that held its rate is the one to rely on. It reports
// whether that differs anywhere.
func believed(t *document.Table, r *result.Result) (differs bool) {
	column := standingColumn(t)
	for row, standing := range r.Curve.Standing {
		i := r.Curve.Points[row]
		other := standing != slo.Overall(r.Points[i].Objectives)
		if holds(r, i) {
			standing = heldStanding
		}
		if word := Standing(standing); word != "" && column >= 0 && r.Points[i].Invalid == "" {
			differs = differs || other
			t.Rows[row][column] = word
		}
	}
	return differs
}

func standingColumn(t *document.Table) int {
	return slices.IndexFunc(t.Columns, func(c document.Column) bool { return c.Head == "verdict" })
}

// holds reports whether a point is the sustained run that held its rate.
func holds(r *result.Result, i int) bool {
	return r.Limit != nil && r.Limit.Held != nil && i >= 0 && i == Sustained(r)
}

// LoadFigure is the load without its unit.
func LoadFigure(point *result.Point) string {
	switch l := point.Load; {
	case l.Rate != nil:
		return trimmed(significant(*l.Rate, 4, maxDecimals))
	case l.Concurrency != nil:
		return count(*l.Concurrency)
	}
	return absent
}

// pointFigures are the columns of a table of points.
var pointFigures = []struct {
	column document.Column
	of     func(*page, *result.Point) string
}{
	{decimal("due/s").Optional(2), dueCell},
	{decimal("ttft p99"), tailCell("ttft_due")},
	{decimal("tpot p99").Optional(1), tailCell("tpot")},
	{decimal("e2e p99").Optional(4), tailCell("e2e_due")},
	{decimal("goodput/s"), goodputCell},
	{decimal("out tokens/s").Optional(3), func(_ *page, point *result.Point) string { return figure(point.Throughput.Output) }},
	{decimal("in flight").Optional(5), func(_ *page, point *result.Point) string { return figure(point.Concurrency.Mean) }},
	{right("1M output"), costCell},
	{right("errors"), shareCell(func(r *metric.Requests) int { return r.Failed })},
	{right("rejected"), shareCell(func(r *metric.Requests) int { return r.Rejected })},
	{right("unfinished"), shareCell(func(r *metric.Requests) int { return r.Censored + r.Unsent })},
	{right("verdict"), pointStanding},
}

// shareCell is the share of requests that ended in one way.
func shareCell(of func(*metric.Requests) int) func(*page, *result.Point) string {
	return func(_ *page, point *result.Point) string {
		return shareOf(int64(of(&point.Requests)), int64(point.Requests.Due))
	}
}

// pointsTable gives one row for each of several points.
func (p *page) pointsTable(r *result.Result, points []int, title string, name func(row int) string) *document.Table {
	t := document.NewTable(left(title))
	for row := range points {
		t.Add(name(row))
	}
	for _, f := range pointFigures {
		none := absent
		if f.column.Head == "rejected" || f.column.Head == "unfinished" {
			none = "0%" // as nearly everywhere
		}
		t.AddColumn(f.column, none, func(row int) string { return f.of(p, &r.Points[points[row]]) })
	}
	p.shows("ttft_due", "e2e_due", "tpot")
	if slices.ContainsFunc(points, func(i int) bool { return r.Points[i].Goodput != nil }) {
		p.shows("goodput")
	}
	return t
}

// tailCell is a p99. The confidence of an exploratory level needs no mark: its sign
// says so already.
func tailCell(name string) func(*page, *result.Point) string {
	return func(p *page, point *result.Point) string {
		d := point.Latency.Of(name)
		v, ok := percentile(d, "p99")
		if !ok {
			return absent
		}
		if d.IsFirm("p99") || Exploratory(point) {
			return figure(v)
		}
		return paint(weak, figure(v)+mark(p.whyWeak(name+"_ms", "p99", point.Tokens)))
	}
}

// dueCell is the rate that came of the one asked for.
func dueCell(_ *page, point *result.Point) string {
	if point.Load.Rate == nil || point.Rates.Offered == 0 {
		return absent
	}
	return figure(point.Rates.Offered)
}

// costCell is what a million output tokens cost, where there is a price.
func costCell(_ *page, point *result.Point) string {
	if c := point.Cost; c != nil && c.Per1mOutput > 0 {
		return amount(c.Per1mOutput, c.Currency)
	}
	return absent
}

func goodputCell(_ *page, point *result.Point) string {
	if point.Goodput == nil {
		return absent
	}
	return figure(point.Goodput.Requests)
}

// pointStanding is where the objectives of a point stand together; a queue
// that grew says more than any of them.
func pointStanding(p *page, point *result.Point) string {
	if point.Invalid != "" {
		return paint(bad, "not valid")
	}
	if o := point.Window.Overload; o != nil && *o {
		return p.painted(bad, "overload")
	}
	if len(point.Objectives) == 0 {
		return absent
	}
	s := standings[slo.Overall(point.Objectives)]
	return p.painted(s.tone, cmp.Or(s.word, absent))
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
	p.Last().Folded = r.Curve != nil || r.Comparison != nil && r.Tuning == nil // levels, or both sides together, decide
	t := p.pointsTable(r, points, "stages", func(row int) string { return p.title(stages[row].Name, 44) })
	for row, s := range stages { // the ramp of a search measures nothing
		if column := standingColumn(t); column >= 0 && s.Purpose == result.PurposeRamp {
			t.Rows[row][column] = result.PurposeRamp
		}
	}
	t.AddColumn(right("as expected"), absent, func(row int) string { return asExpected(stages[row]) })
	p.Add(t)
	p.Note(countedFromDue)
	for _, s := range stages {
		p.expectation(s)
	}
}

// asExpected says of a row of a matrix whether it came out as expected.
func asExpected(s result.Stage) string {
	switch {
	case s.Expectation == "" || s.Outcome == "":
		return absent
	case s.Agrees == nil:
		return paint(weak, openPhrase)
	case *s.Agrees:
		return paint(good, "yes")
	}
	return paint(bad, "no")
}

// expectation writes what a row of a matrix asked and what it found.
func (p *page) expectation(s result.Stage) {
	if s.Question == "" && s.Outcome == "" && s.Hypothesis == "" {
		return
	}
	p.Add(document.Heading(clean(s.Name)))
	p.Field("hypothesis", clean(s.Hypothesis))
	p.Field("question", clean(s.Question))
	p.Field("expected", clean(s.Expectation))
	outcome := clean(s.Outcome)
	switch {
	case outcome == "" || s.Agrees == nil:
	case *s.Agrees:
		outcome += " · " + paint(good, "as expected")
	default:
		outcome += " · " + paint(bad, "not as expected")
	}
	p.Field("measured", outcome)
}
