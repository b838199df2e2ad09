package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
	"redline/internal/show/objective"
)

const (
	countedFromDue  = "latencies in ms, ttft and e2e from due"
	countedFromSent = "latencies in ms, ttft and e2e from when each was sent"

	judgedTogether = "verdict: what all levels together say of a load, with requests that never ended as violations (of ttft, those without a first token in time); the figures of one level may say otherwise"

	FullSign, HollowSign = "●", "○"
	ProbeLevel           = "exploratory: under a minute, not for a claim"
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
	if len(points) == 0 || p.plansCapacity(r) {
		return
	}
	if p.room == whole {
		p.Add(document.Charts(append(curves(r), throughputCharts(r)...)))
	}
	unit, widest := "requests/s", 0
	switch {
	case r.Limit != nil:
		unit = r.Limit.RateUnit()
	case r.Curve.By == "concurrency":
		unit = "in flight"
	case r.Curve.By == result.Agents:
		unit = result.Agents
	}
	for _, i := range points {
		widest = max(widest, wholeDigits(LoadFigure(&r.Points[i])))
	}
	t, delays := document.NewTable(left(unit)), machineNotes(r, points)
	for _, i := range points {
		load, sign := LoadFigure(&r.Points[i]), FullSign
		if Exploratory(&r.Points[i]) {
			sign = HollowSign
		}
		t.Add(sign + " " + strings.Repeat(document.FigureSpace, widest-wholeDigits(load)) + load + mark(delays[i]))
	}
	p.addFigures(t, r, points, true)
	differs := len(r.Curve.Standing) == len(points) && replaceStandings(t, r)
	p.Add(t)
	short := slices.ContainsFunc(points, func(i int) bool { return Exploratory(&r.Points[i]) })
	p.Note(latencyOrigin(r, points) + when(short, "; "+HollowSign+" "+ProbeLevel))
	p.Note(when(differs, judgedTogether))
	p.Footnotes()
	p.maxQPS(r.Curve.MaxQPS)
	if p.room < whole && len(points) > 1 {
		p.Add(document.Charts(p.objectiveCurves(r)))
	}
}

// maxQPS writes how far each objective was met, the tightest first.
func (p *page) maxQPS(m *result.MaxQPS) {
	if m == nil {
		return
	}
	one := func(name string, r result.HighestMet) string {
		missed := ifKnown(r.MissedAt, func(v float64) string { return "missed at " + trimNumber(figure(v)) })
		switch {
		case r.Rate == 0 && r.MissedAt == nil:
			return name + " missed at no level, met for certain at none"
		case r.Rate == 0:
			return name + " " + missed + ", met for certain at no level"
		case r.MissedAt == nil:
			return name + " at least " + figure(r.Rate) + inBrackets(ifKnown(r.Concurrency, inFlight), "never missed")
		}
		return name + " " + figure(r.Rate) + inBrackets(ifKnown(r.Concurrency, inFlight), missed)
	}
	texts := slices.Sorted(maps.Keys(m.ByObjective))
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(m.ByObjective[a].Rate, m.ByObjective[b].Rate) })
	parts := each(texts, func(text string) string { return one(clean(text), m.ByObjective[text]) })
	if len(texts) > 1 && p.room >= explained { // else the headline has it
		parts = slices.Insert(parts, 0, one("every objective", m.HighestMet))
	}
	p.Field("max QPS", joinDots(parts...)+"; --find-limit searches between the levels")
}

func inFlight(n int) string { return count(n) + hard + "in flight" }

// wholeDigits is how long a number is before its decimal point.
func wholeDigits(number string) int {
	whole, _, _ := strings.Cut(number, ".")
	return document.Visible(whole)
}

// replaceStandings replaces what each level says of itself by what a search believes of
// its rate from all levels together; one that is not valid was left out of that,
// and the sustained run that held its rate is the one to rely on. It reports
// whether that differs anywhere.
func replaceStandings(t *document.Table, r *result.Result) (differs bool) {
	column := standingColumn(t)
	for row, standing := range r.Curve.Standing {
		i := r.Curve.Points[row]
		other := standing != slo.Overall(r.Points[i].Objectives)
		if holds(r, i) {
			standing = heldStanding
		}
		word := Standing(standing)
		if standing == slo.Undecided {
			word = paint(weak, shortOpenWords(r.Points[i].Objectives))
		}
		if word != "" && column >= 0 && r.Points[i].Invalid == "" {
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
	return r.Limit != nil && r.Limit.Held != nil && i >= 0 && i == SustainedPoint(r)
}

// LoadFigure is the load without its unit.
func LoadFigure(point *result.Point) string {
	switch l := point.Load; {
	case l.Rate != nil:
		return trimNumber(significant(*l.Rate, 4, maxDecimals))
	case l.Concurrency != nil:
		return count(*l.Concurrency)
	}
	return absent
}

// pointFigures are the columns of a table of points, and how readily a narrow
// table of levels and one of a matrix's rows do without each: of levels tpot and
// throughput stay, of rows the medians, which expectations are about.
var pointFigures = []struct {
	column       document.Column
	level, stage int
	of           func(*page, *result.Point) string
}{
	{decimal("due/s"), 5, 6, dueCell},
	{decimal("ttft p50"), 2, 0, percentileCell("ttft", "p50")},
	{decimal("ttft p99"), 0, 4, percentileCell("ttft", "p99")},
	{decimal("tpot p50"), 1, 0, percentileCell("tpot", "p50")},
	{decimal("tpot p99"), 0, 3, percentileCell("tpot", "p99")},
	{decimal("e2e p99"), 6, 8, percentileCell("e2e", "p99")},
	{decimal("goodput/s"), 4, 7, goodputCell},
	{decimal("out tok/s"), 0, 2, func(_ *page, point *result.Point) string { return figure(point.Throughput.Output) }},
	{decimal("in flight"), 7, 9, func(_ *page, point *result.Point) string { return figure(point.Concurrency.Mean) }},
	{right("1M output"), 3, 5, costCell},
	{right("errors"), 0, 0, shareCell(func(r *metric.Requests) int { return r.Failed })},
	{right("rejected"), 0, 0, shareCell(func(r *metric.Requests) int { return r.Rejected })},
	{right("unfinished"), 0, 0, shareCell(func(r *metric.Requests) int { return r.Censored + r.Unsent })},
	{right("verdict"), 0, 0, pointStanding},
}

// latencyOrigin says from when latencies are; of what another benchmark measured nobody
// may know when requests were due.
func latencyOrigin(r *result.Result, points []int) string {
	if slices.ContainsFunc(points, func(i int) bool { return r.Points[i].Latency.TTFTDue != nil }) {
		return countedFromDue
	}
	return countedFromSent
}

// shareCell is the share of requests that ended in one way.
func shareCell(of func(*metric.Requests) int) func(*page, *result.Point) string {
	return func(_ *page, point *result.Point) string {
		return shareOf(int64(of(&point.Requests)), int64(point.Requests.Due))
	}
}

// addFigures adds those of one point to each row of a table of levels, or of
// other stages.
func (p *page) addFigures(t *document.Table, r *result.Result, points []int, levels bool) {
	for _, f := range pointFigures {
		none, rank := absent, f.stage
		switch f.column.Head {
		case "errors", "rejected", "unfinished":
			none = "0%" // as nearly everywhere
		}
		if levels {
			rank = f.level
		}
		t.AddColumn(f.column.Optional(rank), none, func(row int) string { return f.of(p, &r.Points[points[row]]) })
	}
	p.shows("ttft_due", "e2e_due", "tpot")
	if slices.ContainsFunc(points, func(i int) bool { return r.Points[i].Goodput != nil }) {
		p.shows("goodput")
	}
}

// percentileCell is one of a latency. The confidence of an exploratory level needs
// no mark: its sign says so already.
func percentileCell(name, stat string) func(*page, *result.Point) string {
	return func(p *page, point *result.Point) string {
		d := point.Latency.JudgedDist(name)
		v, ok := percentile(d, stat)
		if !ok {
			return absent
		}
		if d.IsFirm(stat) || Exploratory(point) {
			return figure(v)
		}
		f, _ := fig.Find(name)
		return paint(weak, figure(v)+mark(p.whyWeak(f.JudgedForm().Key+"_ms", stat, point.Tokens)))
	}
}

// shapeFigures are the columns that say what a row of a matrix asked for.
var shapeFigures = []struct {
	column document.Column
	of     func(*result.Point) string
}{
	{right("input"), func(p *result.Point) string { return medianLength(p.Tokens.PromptLengths) }},
	{right("output"), func(p *result.Point) string { return medianLength(p.Tokens.OutputLengths) }},
	{right("concurrency"), func(p *result.Point) string { return cmp.Or(ifKnown(p.Load.Concurrency, count), absent) }},
	{right("req/s"), askedRate},
	{right("prefix"), prefixCell},
}

func medianLength(d *metric.Dist) string {
	if v, ok := percentile(d, "p50"); ok {
		return count(int(math.Round(v)))
	}
	return absent
}

// askedRate is the rate that was asked for; users of a closed loop send as fast as
// they are answered, or at most at their pace.
func askedRate(p *result.Point) string {
	if l := p.Load; l.PaceS > 0 && l.Concurrency != nil {
		return "≤" + hard + trimNumber(figure(float64(*l.Concurrency)/l.PaceS))
	}
	return cmp.Or(ifKnown(p.Load.Rate, exact), absent)
}

// prefixCell is the share of prompt tokens that the workload repeats.
func prefixCell(p *result.Point) string {
	switch c := p.Cache; {
	case c == nil || c.Designed != nil && *c.Designed == 0:
		return "cold"
	case c.Designed == nil:
		return absent
	}
	return percent2(*p.Cache.Designed)
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
		return p.paintWord(bad, "overload")
	}
	if len(point.Objectives) == 0 {
		return absent
	}
	overall := slo.Overall(point.Objectives)
	s := standings[overall]
	if overall == slo.Undecided {
		s.word = shortOpenWords(point.Objectives)
		if open := standingAt(point.Objectives, slo.Undecided); len(open) == 1 && len(standingAt(point.Objectives, slo.Met)) > 0 {
			s.word = objective.ShortName(open[0]) + " open" // the others are met
		}
	}
	return p.paintWord(s.tone, cmp.Or(s.word, absent))
}

// stages writes the runs of an experiment that are no levels of its curve, and
// of a matrix what was expected of each and what came of it.
func (p *page) stages(r *result.Result) {
	if r.Kind() == result.OfComparison && p.room&brief > 0 {
		return // its rounds
	}
	onCurve := append(curvePoints(r), workingSetPoints(r)...)
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
	t := document.NewTable(left("stages"))
	for _, s := range stages {
		t.Add(p.title(cmp.Or(s.Row, s.Name), 44))
	}
	if slices.ContainsFunc(stages, func(s result.Stage) bool { return s.Row != "" }) {
		for _, f := range shapeFigures {
			t.AddColumn(f.column, absent, func(row int) string { return f.of(&r.Points[points[row]]) })
		}
	}
	p.addFigures(t, r, points, false)
	for row, s := range stages { // the ramp of a search measures nothing
		if column := standingColumn(t); column >= 0 && s.Purpose == result.PurposeRamp {
			t.Rows[row][column] = result.PurposeRamp
		}
	}
	t.AddColumn(right("as expected").Optional(1), absent, func(row int) string { return asExpected(stages[row]) })
	p.Add(t)
	p.Note(latencyOrigin(r, points))
	for i, s := range stages {
		p.expectation(s, &r.Points[points[i]])
	}
}

// asExpected says of a row of a matrix whether it came out as expected.
func asExpected(s result.Stage) string {
	switch {
	case s.Expectation == "" || s.Outcome == "":
		return absent
	case s.Agrees == nil:
		return paint(weak, "not decided")
	case *s.Agrees:
		return paint(good, "yes")
	}
	return paint(bad, "no")
}

// expectation writes what a row of a matrix asked and what it found, and where
// there is room what the hardware was predicted to allow.
func (p *page) expectation(s result.Stage, point *result.Point) {
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
	if p.room >= explained {
		p.predictionFields(point.Prediction)
	}
}
