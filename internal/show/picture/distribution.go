package picture

import (
	"math"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// nines is where a percentage stands on an axis on which each further nine is as
// wide as the one before: the tail is what people look for.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }

// minPercentile is where curves begin: below it lie the gaps of events that came
// together, and nobody looks.
const minPercentile = 5

// percentAxis has the percentiles that people name.
func percentAxis() chart.Axis {
	a := chart.Axis{Label: "percentile", Format: func(v float64) string { return percentName(text.Round(100*(1-math.Pow(10, -v)), 6)) }}
	for _, p := range []float64{10, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999} {
		a.Ticks = append(a.Ticks, nines(p))
	}
	return a
}

// Distributions are how the latencies of a load are distributed, and where their
// time goes.
func Distributions(p *result.Point) []chart.Chart {
	var list []chart.Chart
	for _, c := range []chart.Chart{curves(p), gapMap(p), byPrompt(p), phases(p), ledger(p, false), ledger(p, true)} {
		if !c.Empty() {
			list = append(list, c)
		}
	}
	return list
}

func curves(p *result.Point) chart.Chart {
	c := chart.Chart{Name: "latency-distribution", Title: "latencies by percentile", X: percentAxis(),
		Y: chart.Axis{Label: "ms", Log: true, Format: number}}
	if p.Distributions == nil {
		return c
	}
	var targets []chart.Line
	for _, l := range latencies {
		n := 0 // by how many values the curve ends
		if d := p.Latency.JudgedDist(l.name); d != nil {
			n = d.N
		}
		line := curve(l, p.Distributions, n)
		if len(line.Points) == 0 {
			continue
		}
		c.Lines = append(c.Lines, line)
		for _, o := range limits(p, l.name) {
			if o.P > 0 {
				targets = append(targets, chart.Line{Name: "objective on " + l.name, Loose: true, Role: "limit", Points: []chart.Point{{X: nines(100 * o.P), Y: o.ms, Text: "objective " + text.Line(o.Text), Label: text.Line(o.Text)}}})
			}
		}
	}
	c.Description = describePercentiles(p, c.Lines)
	c.Lines = append(c.Lines, targets...)
	return c
}

// curve is a latency by percentile, up to the percentage that n values reach.
func curve(l latency, d *result.Distributions, n int) chart.Line {
	line := chart.Line{Name: l.name, Plain: true, Role: l.name}
	values := l.curve(d)
	if len(values) != len(d.Percent) {
		return line
	}
	for i, percent := range d.Percent {
		if percent >= minPercentile && percent < 100 && (n == 0 || (100-percent)*float64(n) >= 100) {
			line.Points = append(line.Points, chart.Point{X: nines(percent), Y: values[i]})
		}
	}
	return line
}

// describePercentiles are the percentiles that people look for first, in words.
func describePercentiles(p *result.Point, lines []chart.Line) string {
	var said []string
	for _, l := range lines {
		d := p.Latency.JudgedDist(l.Name)
		var parts []string
		for _, percent := range []float64{50, 95, 99} {
			if v, ok := d.Get(metric.PercentileKey(percent)); ok {
				parts = append(parts, percentName(percent)+" "+text.Milliseconds(v))
			}
		}
		if len(parts) > 0 {
			said = append(said, l.Name+" "+strings.Join(parts, ", "))
		}
	}
	return strings.Join(said, "; ") + ". The table of latencies has more percentiles."
}

// gapMap shows when the output of requests stalled.
func gapMap(p *result.Point) chart.Chart {
	c := chart.Chart{Name: "gap-map", Title: "gaps between output events over time"}
	if !drawable(p.Series) || p.Series.Gaps == nil {
		return c
	}
	g, m := p.Series.Gaps, newMoments(p)
	if len(g.MS) != len(g.Counts)+1 {
		return c
	}
	c.X, c.Y, c.Spans = m.axis(), chart.Axis{Label: "gap, ms", Log: true, Format: number}, m.spans()
	h := &chart.Heat{X: 0, Width: g.BinS / m.per, Edges: g.MS, Counts: g.Counts, Name: "gaps in " + text.Seconds(g.BinS)}
	total, longest := 0, ""
	for i, row := range g.Counts {
		n := 0
		for _, one := range row {
			n += one
		}
		said := text.Plural(n, "gap") + " of " + number(g.MS[i]) + " to " + number(g.MS[i+1]) + " ms"
		h.Texts = append(h.Texts, said)
		if total += n; n > 0 {
			longest = said
		}
	}
	c.Heat = h
	c.Description = text.Plural(total, "gap") + "; the longest: " + longest + "."
	return c
}

// byPrompt is how ttft grows with prompts.
func byPrompt(p *result.Point) chart.Chart {
	c := chart.Chart{Name: "ttft-by-prompt", Title: "time to first token by prompt length", X: chart.Axis{Label: "prompt tokens", Log: true, Format: number},
		Y: chart.Axis{Label: "ttft from due, ms", Format: number}}
	if p.Series == nil || p.Series.Prompts == nil {
		return c
	}
	of := p.Series.Prompts
	for _, one := range []struct {
		name   string
		weight int
		values []float64
	}{{"p95", 0, of.P95}, {"p50", 2, of.P50}} {
		if len(one.values) != len(of.Tokens) || len(of.N) != len(of.Tokens) {
			continue
		}
		line := chart.Line{Name: one.name, Role: "ttft", Weight: one.weight}
		for i, tokens := range of.Tokens {
			line.Points = append(line.Points, chart.Point{X: tokens, Y: one.values[i],
				Text: text.Plural(of.N[i], "request") + " of about " + text.Count(int64(math.Round(tokens))) + " prompt tokens: " + one.name + " " + text.Milliseconds(one.values[i])})
		}
		c.Lines = append(c.Lines, line)
	}
	c.Bounds = bounds(p, "ttft")
	c.Description = c.Words() + "."
	return c
}
