package report

import (
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/show/document"
	"redline/internal/show/picture"
)

// overTime draws each load that is shown in full from its first request to its
// last: its latencies, and folded away what they come from.
func (p *page) overTime(r *result.Result) {
	p.Last().Folded = r.Curve != nil // where the levels decide
	var causes []chart.Chart
	for _, i := range detailedPoints(r) {
		latencies, others := picture.OverTime(&r.Points[i])
		p.Add(document.Pictures(latencies))
		causes = append(causes, others...)
	}
	if len(causes) > 0 {
		p.Section("Queue, failures, tokens, cache and power over time").Folded = true
		p.Add(document.Pictures(causes))
	}
}

// distributions draws how its latencies are distributed.
func (p *page) distributions(r *result.Result) {
	for _, i := range detailedPoints(r) {
		p.Add(document.Pictures(picture.Distributions(&r.Points[i])))
	}
}

// throughputCharts lay latency over what each level of a sweep served.
func throughputCharts(r *result.Result) []chart.Chart {
	var points []*result.Point
	for _, i := range curvePoints(r) {
		points = append(points, &r.Points[i])
	}
	c := picture.Throughput(points, func(p *result.Point) string { return document.PlainSpaces(LoadAsked(p)) })
	if len(c.Lines) == 0 {
		return nil
	}
	return []chart.Chart{c}
}

// role is that of a latency in charts: the first word of its name.
func role(row latencyRow) string {
	name, _, _ := strings.Cut(row.name, " ")
	return name
}
