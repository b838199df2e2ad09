package picture

import (
	"math"
	"slices"
	"strings"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// Comparison are the charts of two sides: by how much B differs from A at each
// percentile, and both distributions of each latency.
func Comparison(c *result.Comparison) []chart.Chart {
	var list []chart.Chart
	if one := shift(c); !one.Empty() {
		list = append(list, one)
	}
	a, b := c.A.Distributions, c.B.Distributions
	if a == nil || b == nil {
		return list
	}
	for _, l := range latencies {
		if one := sides(c, l); !one.Empty() {
			list = append(list, one)
		}
	}
	return list
}

// shift draws the change of every latency by percentile, and with its interval
// where it was tested.
func shift(c *result.Comparison) chart.Chart {
	one := chart.Chart{Name: "shift-by-percentile", Title: "change of B against A by percentile", X: percentAxis(),
		Y: chart.Axis{Label: "B against A, %", Format: number}, Bounds: []chart.Bound{{Y: 0, Text: "no change", Plain: true}}, Hollow: "not judged"}
	var said []string
	for i, l := range latencies {
		if line := ratios(c, l); len(line.Points) > 0 {
			one.Lines = append(one.Lines, line)
		}
		tested := chart.Line{Name: l.name + ", tested", Loose: true, Role: l.name}
		for _, m := range c.Metrics {
			at, ok := percentileOf(m.Name, l.name)
			if !ok || m.Load != "" || m.Ratio == nil || m.Interval == nil {
				continue
			}
			// Points of one percentile stand beside each other.
			p := chart.Point{X: nines(at) + 0.04*(float64(i)-1.5), Y: change(*m.Ratio), Low: change(m.Interval[0]), High: change(m.Interval[1]),
				Hollow: m.P == nil && m.PHolm == nil}
			p.Text = text.Line(m.Name) + ": " + text.SignedNumber(p.Y) + "% (95% interval " + text.SignedNumber(p.Low) + " to " + text.SignedNumber(p.High) + "%)"
			tested.Points = append(tested.Points, p)
			said = append(said, p.Text)
		}
		if len(tested.Points) > 0 {
			one.Lines = append(one.Lines, tested)
		}
	}
	one.Description = strings.Join(said, "; ") + ". Points with intervals were tested, hollow ones not judged; lines are the distributions alone."
	return one
}

func change(ratio float64) float64 { return 100 * (ratio - 1) }

// percentileOf is the percentage of a metric such as "ttft:p99" of that latency.
func percentileOf(metric, latency string) (float64, bool) {
	name, stat, found := strings.Cut(metric, ":")
	if !found || name != latency {
		return 0, false
	}
	_, share, err := figure.Percentile(stat)
	return 100 * share, err == nil
}

// ratios is B/A of a latency at every percentile.
func ratios(c *result.Comparison, l latency) chart.Line {
	line := chart.Line{Name: l.name, Plain: true, Role: l.name}
	a, b := c.A.Distributions, c.B.Distributions
	if a == nil || b == nil || !slices.Equal(a.Percent, b.Percent) {
		return line
	}
	from, to := l.curve(a), l.curve(b)
	for i, percent := range a.Percent {
		if i < len(from) && i < len(to) && percent >= minPercentile && percent <= maxPercentile && from[i] > 0 {
			line.Points = append(line.Points, chart.Point{X: nines(percent), Y: change(to[i] / from[i])})
		}
	}
	return line
}

// maxPercentile is up to which percentile sides are drawn: beyond it few values decide.
const maxPercentile = 99.5

// sides draws the distributions of a latency of both sides.
func sides(c *result.Comparison, l latency) chart.Chart {
	one := chart.Chart{Name: l.name + "-distribution", Title: l.title + ", A and B", X: percentAxis(), Y: chart.Axis{Label: l.name + ", ms", Format: number}}
	low, high := math.Inf(1), 0.0
	nameA, nameB := sideNames(c)
	for _, of := range []struct {
		name string
		d    *result.Distributions
		role string
	}{{nameA, c.A.Distributions, "sideA"}, {nameB, c.B.Distributions, "sideB"}} {
		line := curve(l, of.d, 0)
		line.Points = slices.DeleteFunc(line.Points, func(p chart.Point) bool { return p.X > nines(maxPercentile)+1e-9 })
		if len(line.Points) == 0 {
			continue
		}
		line.Name, line.Role = of.name, of.role
		for _, p := range line.Points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
		one.Lines = append(one.Lines, line)
		one.Description += of.name + " " + describeRange(line.Points, func(p chart.Point) string { return text.Milliseconds(p.Y) }) + ". "
	}
	one.Y.Log = high > wideRange*low && low > 0
	return one
}

// wideRange is from which ratio on a latency is drawn by ratios.
const wideRange = 20

// sideNames are the names of both sides, or their directories from where these
// differ, where one name is that of both.
func sideNames(c *result.Comparison) (a, b string) {
	a, b = c.A.Name, c.B.Name
	if a == b && len(c.A.Runs) > 0 && len(c.B.Runs) > 0 {
		a, b = c.A.Runs[0], c.B.Runs[0]
		for {
			from, restA, inA := strings.Cut(a, "/")
			_, restB, inB := strings.Cut(b, "/")
			if !inA || !inB || !strings.HasPrefix(b, from+"/") {
				break
			}
			a, b = restA, restB
		}
	}
	return sideName("A", a), sideName("B", b)
}

func sideName(letter, name string) string {
	if name = text.Line(name); name != "" && name != letter {
		return letter + ": " + text.Cut(name, 40)
	}
	return letter
}
