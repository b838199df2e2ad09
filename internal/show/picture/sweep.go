package picture

import (
	"slices"

	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// Doubles reports whether levels lie apart by ratios rather than by steps, so that
// an axis that divides by ratios shows them all.
func Doubles(levels []float64) bool {
	sorted := slices.Compact(slices.Sorted(slices.Values(levels)))
	if len(sorted) < 4 || sorted[0] <= 0 || sorted[len(sorted)-1] < 8*sorted[0] {
		return false
	}
	wide := 0
	for i := 1; i < len(sorted); i++ {
		if sorted[i] >= 1.5*sorted[i-1] {
			wide++
		}
	}
	return 2*wide > len(sorted)-1
}

// Throughput is the curve that people draw: latency against the output tokens per
// second of each level, in the order of the load; load names a level.
func Throughput(points []*result.Point, load func(*result.Point) string) chart.Chart {
	c := chart.Chart{Name: "throughput-latency", Title: "latency against throughput, by load", Still: true,
		X: chart.Axis{Label: "output tokens/s", Format: number}, Y: chart.Axis{Label: "ms", Log: true, Format: number}}
	var served []float64
	for _, l := range latencies[:2] {
		line := chart.Line{Name: l.name + " p99", Role: l.name}
		for _, p := range points {
			v, ok := p.Latency.JudgedDist(l.name).Get("p99")
			if !ok || p.Throughput.Output <= 0 {
				continue
			}
			one := chart.Point{X: p.Throughput.Output, Y: v, Hollow: p.Probe,
				Text: load(p) + ": " + number(p.Throughput.Output) + " output tokens/s at " + l.name + " p99 " + text.Milliseconds(v)}
			if l.name == latencies[0].name {
				one.Label = number(p.Load.Amount())
				served = append(served, one.X)
			}
			line.Points = append(line.Points, one)
		}
		if len(line.Points) > 1 {
			c.Lines = append(c.Lines, line)
		}
	}
	if len(points) > 0 {
		c.Bounds = append(bounds(points[0], "ttft"), bounds(points[0], "tpot")...)
	}
	c.X.Log = Doubles(served)
	c.Description = c.Words() + ". Numbers beside the points are the load offered."
	return c
}
