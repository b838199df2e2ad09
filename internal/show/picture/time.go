package picture

import (
	"fmt"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// moments is the time axis of a run: from the first request on, in minutes where
// the run lasted long.
type moments struct {
	s      *result.Series
	window [2]float64 // seconds
	unit   string
	per    float64 // seconds in a unit
	end    float64
}

const longRun = 900 // seconds, from which on the axis has minutes

func newMoments(p *result.Point) moments {
	s := p.Series
	m := moments{s: s, unit: "seconds", per: 1, end: s.BinS * float64(len(s.Due))}
	if m.end > longRun {
		m.unit, m.per = "minutes", 60
	}
	m.window = [2]float64{p.Window.StartS - s.StartS, min(p.Window.EndS-s.StartS, m.end)}
	return m
}

// at is the middle of a bin of that length.
func (m moments) at(bin int, length float64) float64 {
	return min((float64(bin)+0.5)*length, m.end) / m.per
}

func (m moments) axis() chart.Axis {
	return chart.Axis{Label: m.unit + " since the first request", Format: number}
}

// spans shade what is not the window.
func (m moments) spans() []chart.Span {
	var list []chart.Span
	if m.window[0] > m.s.BinS/2 {
		list = append(list, chart.Span{From: 0, To: m.window[0] / m.per, Text: "warm-up"})
	}
	if m.window[1] < m.end-m.s.BinS/2 {
		list = append(list, chart.Span{From: m.window[1] / m.per, To: m.end / m.per, Text: "after the window"})
	}
	return list
}

func (m moments) chart(name, title string, y chart.Axis) chart.Chart {
	return chart.Chart{Name: name, Title: title, X: m.axis(), Y: y, Spans: m.spans()}
}

// describe words a chart over time, line by line.
func (m moments) describe(c *chart.Chart, unit string) {
	var said []string
	for _, l := range c.Lines {
		said = append(said, l.Name+" "+describeRange(l.Points, func(p chart.Point) string {
			return strings.TrimSpace(number(p.Y)+" "+unit) + " at " + number(p.X) + " " + m.unit
		}))
	}
	c.Description = "Over " + number(m.end/m.per) + " " + m.unit + ": " + strings.Join(said, "; ") + "."
	for _, b := range c.Bounds {
		c.Description += " Limit: " + b.Text + "."
	}
}

// drawable reports whether a load has a series that can be drawn. A result may
// come from elsewhere and hold any number.
func drawable(s *result.Series) bool { return s != nil && len(s.Due) > 1 && s.BinS > 0 }

// OverTime are the charts of one load over time: its latencies, and what went on
// in client and server meanwhile; none where its result has no series.
func OverTime(p *result.Point) (latency, others []chart.Chart) {
	if !drawable(p.Series) {
		return nil, nil
	}
	m := newMoments(p)
	var list []chart.Chart
	add := func(c chart.Chart, unit string) {
		if len(c.Lines) > 0 && !c.Empty() {
			m.describe(&c, unit)
			list = append(list, c)
		}
	}
	for _, l := range latencies {
		if track := l.track(p.Series); track != nil {
			c := m.chart(l.name+"-over-time", l.title+" over time"+finishedOnly(p), chart.Axis{Label: l.name + ", ms", Format: number})
			c.Lines, c.Bounds = m.percentiles(l.name, track), bounds(p, l.name)
			add(c, "ms")
		}
	}
	latency, list = list, nil
	add(m.queue(), "")
	add(m.failures(), "")
	c := m.chart("tokens-over-time", "output tokens over time", chart.Axis{Label: "output tokens/s", Format: number})
	// Records without the times of tokens leave nothing but zeros.
	if slices.ContainsFunc(p.Series.Output, func(rate float64) bool { return rate > 0 }) {
		c.Lines = []chart.Line{m.dense("output tokens/s", "output", p.Series.Output)}
	}
	add(c, "tokens/s")
	c = m.chart("kv-over-time", "key-value cache over time", chart.Axis{Label: "KV cache in use, %", Format: number})
	c.Lines = m.track("KV cache in use, by the server", "kv", p.Series.KVUsage, 100)
	add(c, "%")
	c = m.chart("cache-hits-over-time", "prefix cache hits over time", chart.Axis{Label: "prompt tokens from the cache, %", Format: number})
	c.Lines = m.track("from the cache, by usage", "kv", p.Series.CacheHits, 100)
	add(c, "%")
	c = m.chart("power-over-time", "accelerator power over time", chart.Axis{Label: "power, W", Format: number})
	c.Lines = m.track("all accelerators", "power", p.Series.Watts, 1)
	add(c, "W")
	return latency, list
}

// finishedOnly says that a latency is that of some requests alone, where many
// others had not finished: those took longer than any that is drawn.
func finishedOnly(p *result.Point) string {
	if n := p.Requests; n.ManyUnfinished() {
		return ", finished requests only (" + text.Count(n.Censored) + " of " + text.Count(n.Due) + " are unfinished)"
	}
	return ""
}

// percentiles are the lines of a latency, the highest first.
func (m moments) percentiles(role string, track *result.LatencyTrack) []chart.Line {
	var list []chart.Line
	for _, one := range []struct {
		name   string
		weight int
		values []float64
	}{{"max", 0, track.Max}, {"p99", 0, track.P99}, {"p95", 1, track.P95}, {"p50", 2, track.P50}} {
		if len(one.values) != len(track.At) || len(track.At) == 0 {
			continue
		}
		line := chart.Line{Name: one.name, Plain: true, Role: role, Weight: one.weight}
		for i, bin := range track.At {
			line.Points = append(line.Points, chart.Point{X: m.at(bin, track.BinS), Y: one.values[i]})
		}
		list = append(list, line)
	}
	if len(list) > 0 {
		list[0].Weight = 0
		list[0].Name += fmt.Sprintf(" of requests due within %s", text.Seconds(track.BinS))
	}
	return list
}

// dense is a line with a value for each bin.
func (m moments) dense(name, role string, values []float64) chart.Line {
	l := chart.Line{Name: name, Plain: true, Role: role}
	for i, v := range values {
		l.Points = append(l.Points, chart.Point{X: m.at(i, m.s.BinS), Y: v})
	}
	return l
}

// track is a line of some bins, none where it is unknown.
func (m moments) track(name, role string, t *result.Track, times float64) []chart.Line {
	if t == nil || len(t.Values) != len(t.At) {
		return nil
	}
	l := chart.Line{Name: name, Plain: true, Role: role}
	for i, bin := range t.At {
		l.Points = append(l.Points, chart.Point{X: m.at(bin, m.s.BinS), Y: times * t.Values[i]})
	}
	return []chart.Line{l}
}

// queue lays the client's requests in flight beside the server's own account.
func (m moments) queue() chart.Chart {
	c := m.chart("in-flight-over-time", "requests in flight over time", chart.Axis{Label: "requests", Format: number})
	c.Lines = []chart.Line{m.dense("in flight, by the client", "inflight", m.s.InFlight)}
	c.Lines = append(c.Lines, m.track("running, by the server", "running", m.s.Running, 1)...)
	c.Lines = append(c.Lines, m.track("waiting, by the server", "waiting", m.s.Waiting, 1)...)
	return c
}

// failures are the requests that did not end ok, by when they were due. Those after
// the window are often cut off by the end of the run itself.
func (m moments) failures() chart.Chart {
	c := m.chart("failures-over-time", "requests that did not end ok", chart.Axis{Label: "requests in " + text.Seconds(m.s.BinS), Format: number})
	last := max(0, min(len(m.s.NotOK), int(m.window[1]/m.s.BinS)))
	values, some := make([]float64, last), false
	for i := range values {
		values[i] = float64(m.s.NotOK[i])
		some = some || m.s.NotOK[i] > 0
	}
	if some {
		c.Lines = []chart.Line{m.dense("failed, rejected or unsent, by due time", "failed", values)}
	}
	return c
}
