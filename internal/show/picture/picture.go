// Package picture chooses and words the charts of a result: it takes a result and
// gives charts. Where they stand and how they are laid out is not its matter. A
// color means the same in all of them: it follows the role of a line, and the
// weight of a line follows its percentile.
package picture

import (
	"strconv"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// latency is one that has charts.
type latency struct {
	name, title string
	track       func(*result.Series) *result.LatencyTrack
	curve       func(*result.Distributions) []float64
}

var latencies = []latency{
	{"ttft", "time to first token (ttft, from due)", func(s *result.Series) *result.LatencyTrack { return s.TTFT }, func(d *result.Distributions) []float64 { return d.TTFT }},
	{"tpot", "time per output token (tpot)", func(s *result.Series) *result.LatencyTrack { return s.TPOT }, func(d *result.Distributions) []float64 { return d.TPOT }},
	{"e2e", "whole requests (e2e, from due)", func(s *result.Series) *result.LatencyTrack { return s.E2E }, func(d *result.Distributions) []float64 { return d.E2E }},
	{"itl", "gaps between tokens (itl)", func(*result.Series) *result.LatencyTrack { return nil }, func(d *result.Distributions) []float64 { return d.ITL }},
}

// limit is an objective on a latency of all requests.
type limit struct {
	slo.Objective
	ms float64
}

// limits are the objectives on a latency that a chart of it can show.
func limits(p *result.Point, name string) []limit {
	var list []limit
	for _, v := range p.Objectives {
		o, err := slo.Parse(v.Objective)
		if err == nil && o.Metric == name && v.Scope == (slo.Scope{}) && v.Unit == "ms" && !o.Above {
			list = append(list, limit{o, v.Limit})
		}
	}
	return list
}

func bounds(p *result.Point, name string) []chart.Bound {
	var list []chart.Bound
	for _, l := range limits(p, name) {
		list = append(list, chart.Bound{Y: l.ms, Text: "objective " + text.Line(l.Text)})
	}
	return list
}

// describeRange is where a line is lowest and highest, in words.
func describeRange(points []chart.Point, say func(chart.Point) string) string {
	if len(points) == 0 {
		return ""
	}
	low, high := points[0], points[0]
	for _, p := range points {
		if p.Y < low.Y {
			low = p
		}
		if p.Y > high.Y {
			high = p
		}
	}
	return "from " + say(low) + " to " + say(high)
}

func number(v float64) string { return text.Number(v) }

// percentName is "p99.9".
func percentName(p float64) string { return "p" + strconv.FormatFloat(p, 'f', -1, 64) }
