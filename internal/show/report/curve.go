package report

import (
	"math"
	"slices"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/chart"
	"redline/internal/show/document"
	"redline/internal/show/objective"
	"redline/internal/show/picture"
	"redline/internal/text"
)

// chartedLatency is a latency whose curve is drawn, with the limit of its objective.
type chartedLatency struct {
	row   latencyRow
	stat  string
	bound *slo.Verdict
}

const (
	maxCharts = 4 // latencies that a report draws
	below     = ". The table below has every level."
)

// chartedLatencies are those that objectives on all requests are about, that
// which breaks first at the front; without any, the first word and the pace.
func chartedLatencies(r *result.Result) []chartedLatency {
	var list []chartedLatency
	for _, v := range curveObjectives(r) {
		name, stat, _, ok := objective.Parts(v.Objective)
		row, found := latencyNamed(name)
		if !ok || !found || !strings.HasPrefix(stat, "p") || len(list) == maxCharts {
			continue
		}
		list = append(list, chartedLatency{row, stat, &v})
	}
	if len(list) > 0 {
		return list
	}
	for _, name := range []string{"ttft", "tpot"} {
		row, _ := latencyNamed(name)
		list = append(list, chartedLatency{row: row, stat: "p99"})
	}
	return list
}

// curveObjectives are the objectives that the levels were judged by, the
// binding one first.
func curveObjectives(r *result.Result) []slo.Verdict {
	var list []slo.Verdict
	for _, i := range curvePoints(r) {
		for _, v := range r.Points[i].Objectives {
			known := slices.ContainsFunc(list, func(o slo.Verdict) bool { return o.Objective == v.Objective })
			if v.Scope == (slo.Scope{}) && !known {
				list = append(list, v)
			}
		}
	}
	if r.Limit == nil {
		return list
	}
	if i := slices.IndexFunc(list, func(v slo.Verdict) bool { return v.Objective == r.Limit.Binding }); i > 0 {
		binding := list[i]
		list = slices.Insert(slices.Delete(list, i, i+1), 0, binding)
	}
	return list
}

// latencyNamed is the row of the figure that an objective's metric means: in
// its due form where one exists.
func latencyNamed(name string) (latencyRow, bool) {
	if f, known := fig.Find(name); known {
		name = f.JudgedForm().Key
	}
	for _, row := range latencyRows() {
		if row.key == name+"_ms" {
			return row, true
		}
	}
	return latencyRow{}, false
}

// curves are the pictures of a sweep: each latency that matters, and what was
// served.
func curves(r *result.Result) []chart.Chart {
	if len(curvePoints(r)) == 0 {
		return nil
	}
	var list []chart.Chart
	for _, c := range chartedLatencies(r) {
		if one := latencyChart(r, c); !one.Empty() {
			list = append(list, one)
		}
	}
	return append(list, servedChart(r))
}

// medianSign is that of the p50 below the percentile that a curve is about.
const medianSign = '+'

// objectiveCurves are those that a terminal has room for: of every objective, and at a
// first look or without any the first.
func (p *page) objectiveCurves(r *result.Result) []chart.Chart {
	list := curves(r)
	if len(curveObjectives(r)) == 0 || p.room&brief > 0 { // the first is the one that is missed first
		list = list[:1]
	} else {
		list = list[:max(1, len(list)-1)] // the last is what was served
	}
	for i := range list {
		if len(list[i].Lines) > 1 && list[i].Lines[1].Weight > 0 {
			list[i].Lines[1].Sign = medianSign
		}
	}
	return list
}

func latencyChart(r *result.Result, of chartedLatency) chart.Chart {
	stat := text.Percentile(of.stat)
	c := chart.Chart{
		Name:  role(of.row) + "-" + of.stat + "-against-load",
		Title: "how " + strings.TrimSuffix(of.row.name, " from due") + " " + stat + " answers to load",
		X:     loadAxis(r), Y: chart.Axis{Label: of.row.name + ", ms", Log: true, Format: tick},
		Lines: []chart.Line{latencyLine(r, of.row, of.stat)},
		Marks: loadMarks(r),
	}
	if of.stat != "p50" {
		c.Lines = append(c.Lines, latencyLine(r, of.row, "p50"))
		for i := range c.Lines[1].Points {
			c.Lines[1].Points[i].Low, c.Lines[1].Points[i].High = 0, 0
		}
	}
	if latencyOrigin(r, curvePoints(r)) == countedFromSent {
		c.Y.Label = strings.TrimSuffix(of.row.name, " from due") + ", ms"
	}
	if of.bound != nil {
		c.Bounds = []chart.Bound{{Y: of.bound.Limit, Text: "objective " + clean(of.bound.Objective)}}
	}
	c.Description = c.Words() + below
	return c
}

func latencyLine(r *result.Result, row latencyRow, stat string) chart.Line {
	line := chart.Line{Name: text.Percentile(stat), Role: role(row)}
	if stat == "p50" {
		line.Weight = 2
	}
	for _, i := range curvePoints(r) {
		point := &r.Points[i]
		d := row.dist(&point.Latency)
		if d == nil { // nobody wrote down when its requests were due
			d = point.Latency.Of(strings.TrimSuffix(row.key, "_due_ms"))
		}
		v, ok := percentile(d, stat)
		if !ok {
			continue
		}
		p := chart.Point{X: loadValue(point), Y: v, Hollow: Exploratory(point)}
		words := LoadAsked(point) + ": " + row.name + " " + text.Percentile(stat) + " " + spoken(v)
		if ci, drawn := d.CI[stat]; drawn {
			p.Low, p.High = ci[0], ci[1]
			words += " (" + intervalText(ci) + ")"
		}
		if p.Hollow {
			words += ", exploratory"
		}
		p.Text = document.PlainSpaces(words)
		line.Points = append(line.Points, p)
	}
	return line
}

// servedChart lays what was served, and what of it was good, over the load.
func servedChart(r *result.Result) chart.Chart {
	c := chart.Chart{Name: "served", Title: "what is served", X: loadAxis(r),
		Y: chart.Axis{Label: "requests/s", Format: tick}, Marks: loadMarks(r)}
	c.Y.Log = c.X.Log // so that what is served as offered is a straight line
	completed, good := chart.Line{Name: "completed", Role: "completed"}, chart.Line{Name: "within every objective", Role: "accepted"}
	for _, i := range curvePoints(r) {
		point := &r.Points[i]
		at, hollow := loadValue(point), Exploratory(point)
		completed.Points = append(completed.Points, chart.Point{X: at, Y: point.Rates.Completed, Hollow: hollow,
			Text: document.PlainSpaces(LoadAsked(point) + ": " + inUnit(figure(point.Rates.Completed), "requests/s completed"))})
		if g := point.Goodput; g != nil {
			good.Points = append(good.Points, chart.Point{X: at, Y: g.Requests, Hollow: hollow,
				Text: document.PlainSpaces(LoadAsked(point) + ": " + inUnit(figure(g.Requests), "requests/s good"))})
		}
	}
	c.Lines = []chart.Line{completed}
	if len(good.Points) > 0 {
		c.Lines = []chart.Line{good, completed}
	}
	c.Description = c.Words() + below
	return c
}

func loadAxis(r *result.Result) chart.Axis {
	label := "requests/s offered"
	switch r.Curve.By {
	case "concurrency":
		label = "requests in flight"
	case result.Agents:
		label = "live agents"
	}
	var levels []float64
	for _, i := range curvePoints(r) {
		levels = append(levels, loadValue(&r.Points[i]))
	}
	return chart.Axis{Label: label, Format: tick, Log: picture.Doubles(levels)}
}

func loadValue(point *result.Point) float64 {
	switch l := point.Load; {
	case l.Rate != nil:
		return *l.Rate
	case l.Concurrency != nil:
		return float64(*l.Concurrency)
	}
	return math.NaN()
}

func limitMark(l *result.Limit) string {
	rate := trimNumber(figure(l.Rate))
	if l.Standing == result.LimitAtLeast {
		return "limit at least " + rate
	}
	return "limit " + rate + " (" + loadInterval(l.Interval, l.RateUnit()) + ")"
}

// loadMarks are the limit with its interval, and the knee.
func loadMarks(r *result.Result) []chart.Mark {
	var marks []chart.Mark
	knee := r.Curve.Knee
	if l := r.Limit; l != nil && l.Rate > 0 {
		mark := chart.Mark{X: l.Rate, Low: l.Interval[0], High: l.Interval[1], Text: limitMark(l)}
		if l.Standing == result.LimitAtLeast {
			mark.Low, mark.High = l.Rate, l.Rate // nothing bounds it above
		}
		marks = append(marks, mark)
		if knee == nil {
			knee = l.Knee
		}
	}
	if knee != nil {
		marks = append(marks, chart.Mark{X: *knee, Text: "knee " + trimNumber(figure(*knee)), Faint: true})
	}
	return marks
}

// tick writes a number at an axis, with no more digits than it needs.
func tick(v float64) string { return trimNumber(significant(v, 3, 3)) }
