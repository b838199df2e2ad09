package report

import (
	"math"
	"slices"

	"redline/internal/metric"
	"redline/internal/result"
)

// grouping is one way of splitting the requests.
type grouping struct {
	title string
	of    func(*result.Point) []metric.Group
}

var groupings = []grouping{
	{"by prompt", func(p *result.Point) []metric.Group { return p.Buckets }},
	{"by class", func(p *result.Point) []metric.Group { return p.Classes }},
	{"by tenant", func(p *result.Point) []metric.Group { return p.Tenants }},
	{"by turn", func(p *result.Point) []metric.Group { return p.Turns }},
}

// groupFigures are the figures by which groups are told apart.
var groupFigures = []struct {
	head string
	// optional is how readily a narrow page does without it.
	optional int
	of       func(*metric.Group) float64
}{
	{"ttft due p50", 0, dueTTFT("p50")},
	{"p99", 0, dueTTFT("p99")},
	{"tpot p50", 1, tpot("p50")},
	{"p99", 3, tpot("p99")},
	{"e2e due p50", 4, dueE2E("p50")},
	{"p99", 5, dueE2E("p99")},
	{"out tokens/s", 2, func(g *metric.Group) float64 { return g.OutputPS }},
}

func dueTTFT(key string) func(*metric.Group) float64 {
	return func(g *metric.Group) float64 { return groupPercentile(g.Latency.TTFTDue, key) }
}

func tpot(key string) func(*metric.Group) float64 {
	return func(g *metric.Group) float64 { return groupPercentile(g.Latency.TPOT, key) }
}

func dueE2E(key string) func(*metric.Group) float64 {
	return func(g *metric.Group) float64 { return groupPercentile(g.Latency.E2EDue, key) }
}

// groupPercentile is NaN where there is none to show: the tail of a part of
// the requests is shown only when it is firm.
func groupPercentile(d *metric.Dist, key string) float64 {
	v, ok := percentile(d, key)
	if !ok || key != "p50" && !d.IsFirm(key) {
		return math.NaN()
	}
	return v
}

// groups writes one row per group, where there are two to tell apart.
func (p *page) groups(grouping grouping, point *result.Point) {
	groups := slices.DeleteFunc(slices.Clone(grouping.of(point)), func(g metric.Group) bool { return g.Requests.Due == 0 })
	if len(groups) < 2 {
		return
	}
	t := table{columns: []column{
		{head: cell{text: grouping.title + ", ms", tone: bold}},
		{head: cell{text: "due"}, align: alignRight},
		{head: cell{text: "ok"}, align: alignRight, optional: 6},
	}}
	for i := range groups {
		g := &groups[i]
		t.rows = append(t.rows, []cell{
			{text: indent + label(g.Name)}, {text: count(g.Requests.Due)}, {text: count(g.Requests.OK)},
		})
	}
	for _, f := range groupFigures {
		cells, any := make([]cell, len(groups)), false
		for i := range groups {
			v := f.of(&groups[i])
			cells[i] = cell{text: figure(v)}
			any = any || !math.IsNaN(v)
		}
		if any {
			t.add(column{head: cell{text: f.head}, align: alignPoint, optional: f.optional}, cells)
		}
	}
	p.gap()
	p.write(t)
}
