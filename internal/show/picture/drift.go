package picture

import (
	"time"

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
		if c := moved(d, m.Metric); !c.Empty() {
			list = append(list, c)
		}
	}
	return list
}

// moved is one figure over the runs, oldest first, with every change of it.
func moved(d *result.Drift, metric string) chart.Chart {
	c := chart.Chart{Name: "drift-" + metric, Title: text.Line(metric) + " over the runs", X: chart.Axis{Label: "runs, oldest first", Format: number, Free: true}}
	line, level := chart.Line{Name: text.Line(metric), Loose: true}, chart.Line{Name: "level", Trail: true}
	scale, unit, last := 1.0, "", 0.0
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
				c.Marks = append(c.Marks, chart.Mark{X: at, Text: "since " + m.At.Format(time.DateOnly)})
			}
		}
		if v, ok := run.Values[metric]; ok {
			line.Points = append(line.Points, chart.Point{X: float64(i + 1), Y: scale * v, Text: run.At.Format(time.DateOnly) + ": " + text.Unit(number(scale*v), unit)})
		}
	}
	if len(line.Points) == 0 {
		return c
	}
	level.Points = append(level.Points, chart.Point{X: float64(len(d.Values)), Y: last})
	c.Y = chart.Axis{Label: text.Line(metric) + ", " + unit, Format: number, Free: true}
	c.Lines = []chart.Line{line, level}
	c.Description = c.Words() + "."
	return c
}
