package picture

import (
	"cmp"
	"slices"
	"time"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// Drift are the figures of a series of runs that came to another level, each with
// the levels before and after.
func Drift(d *result.Drift) []chart.Chart {
	var list []chart.Chart
	drawn := map[string]bool{}
	for i := range d.Changes {
		m := &d.Changes[i]
		if drawn[m.Metric] {
			continue
		}
		drawn[m.Metric] = true
		if c := driftChart(d, m.Metric); !c.Empty() {
			list = append(list, c)
		}
	}
	return list
}

// Steady are the first figures of a series that came to no other level, each with
// its median.
func Steady(d *result.Drift) []chart.Chart {
	var list []chart.Chart
	for _, f := range figure.All {
		if len(f.Watched) == 0 || len(list) == maxSteady {
			continue
		}
		if c := steady(d, figure.Statistic{Figure: f, Stat: f.Watched[len(f.Watched)-1]}); !c.Empty() {
			list = append(list, c)
		}
	}
	return list
}

// maxSteady is how many figures are drawn where none moved: the latencies and
// the throughput.
const maxSteady = 4

// minSpan is the least that a chart of a series spans: less than a tenth up or
// down is how runs differ.
const minSpan = 0.2

// steady is one figure over the runs; empty where fewer than two have it.
func steady(d *result.Drift, s figure.Statistic) chart.Chart {
	scale, unit := 1.0, string(s.Unit)
	if s.Share() {
		scale, unit = 100, "%"
	}
	line := values(d, s.String(), scale, unit)
	n := len(line.Points)
	if n < 2 {
		return chart.Chart{}
	}
	sorted := slices.SortedFunc(slices.Values(line.Points), func(a, b chart.Point) int { return cmp.Compare(a.Y, b.Y) })
	median := (sorted[(n-1)/2].Y + sorted[n/2].Y) / 2
	level := chart.Line{Name: "median", Trail: true, Points: []chart.Point{{X: 1, Y: median}, {X: float64(len(d.Values)), Y: median}}}
	return overRuns(s.String(), unit, line, level)
}

// values are those of a figure in the runs that have it.
func values(d *result.Drift, metric string, scale float64, unit string) chart.Line {
	line := chart.Line{Name: text.Line(metric), Loose: true}
	for i, run := range d.Values {
		if v, ok := run.Values[metric]; ok {
			line.Points = append(line.Points, chart.Point{X: float64(i + 1), Y: scale * v, Text: run.At.Format(time.DateOnly) + ": " + text.Unit(number(scale*v), unit)})
		}
	}
	return line
}

// overRuns is a chart of a figure over the runs, beside its levels.
func overRuns(metric, unit string, line, level chart.Line) chart.Chart {
	last := level.Points[len(level.Points)-1].X
	c := chart.Chart{Name: "drift-" + metric, Title: "over the runs: " + text.Line(metric), X: chart.Axis{Label: "runs, oldest first", Format: number, Free: true, Ticks: runNumbers(int(last))},
		Y: chart.Axis{Label: text.Line(metric) + ", " + unit, Format: number, Free: true, MinSpan: minSpan}, Lines: []chart.Line{line, level}}
	c.Description = c.Words() + "."
	return c
}

// runNumbers are those of some runs of n, evenly apart, that an axis has room for.
func runNumbers(n int) []float64 {
	const room = 10
	var list []float64
	step := (n + room - 1) / room
	for i := 1; i <= n; i += max(step, 1) {
		list = append(list, float64(i))
	}
	return list
}

// driftChart is one figure over the runs, oldest first, with every change of it.
func driftChart(d *result.Drift, metric string) chart.Chart {
	level := chart.Line{Name: "level", Trail: true}
	scale, unit, last := 1.0, "", 0.0
	var marks []chart.Mark
	for i, run := range d.Values {
		for j := range d.Changes {
			m := &d.Changes[j]
			if m.Metric != metric {
				continue
			}
			if unit = m.Unit; m.Difference != nil {
				scale, unit = 100, "%"
			}
			if len(level.Points) == 0 {
				level.Points, last = append(level.Points, chart.Point{X: 1, Y: scale * m.Before}), scale*m.Before
			}
			if m.Since == run.ID {
				at := float64(i) + 0.5
				level.Points = append(level.Points, chart.Point{X: at, Y: last}, chart.Point{X: at, Y: scale * m.After})
				last = scale * m.After
				marks = append(marks, chart.Mark{X: at, Text: "since " + m.At.Format(time.DateOnly)})
			}
		}
	}
	line := values(d, metric, scale, unit)
	if len(line.Points) == 0 {
		return chart.Chart{}
	}
	level.Points = append(level.Points, chart.Point{X: float64(len(d.Values)), Y: last})
	c := overRuns(metric, unit, line, level)
	c.Marks = marks
	c.Description = c.Words() + "."
	return c
}
