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

// groupFigure is a percentile by which groups are told apart.
type groupFigure struct {
	head string
	// optional is how readily a narrow page does without it.
	optional int
	latency  string // its key in the result document
	stat     string
	dist     func(*metric.Latency) *metric.Dist
}

var groupFigures = []groupFigure{
	{"ttft due p50", 0, "ttft_due_ms", "p50", func(l *metric.Latency) *metric.Dist { return l.TTFTDue }},
	{"p99", 0, "ttft_due_ms", "p99", func(l *metric.Latency) *metric.Dist { return l.TTFTDue }},
	{"tpot p50", 1, "tpot_ms", "p50", func(l *metric.Latency) *metric.Dist { return l.TPOT }},
	{"p99", 3, "tpot_ms", "p99", func(l *metric.Latency) *metric.Dist { return l.TPOT }},
	{"e2e due p50", 4, "e2e_due_ms", "p50", func(l *metric.Latency) *metric.Dist { return l.E2EDue }},
	{"p99", 5, "e2e_due_ms", "p99", func(l *metric.Latency) *metric.Dist { return l.E2EDue }},
}

// key names a figure's column; a percentile's begins with p.
func (f groupFigure) key() string { return f.stat + " " + f.latency }

// of is NaN where there is none to show: the tail of a part of the requests is
// shown only when it is firm.
func (f groupFigure) of(g *metric.Group) float64 {
	d := f.dist(&g.Latency)
	v, ok := percentile(d, f.stat)
	if !ok || f.stat != "p50" && !d.IsFirm(f.stat) {
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
		t.addFigures(column{key: f.key(), head: cell{text: f.head}, align: alignPoint, optional: f.optional}, groups, f.of)
	}
	t.addFigures(column{head: cell{text: "out tokens/s"}, align: alignPoint, optional: 2}, groups,
		func(g *metric.Group) float64 { return g.OutputPS })
	if p.anyDoubt(groups, t.columns, point.Tokens) {
		// Each column keeps a place free for its mark.
		t = t.fitted(p.width - len(t.columns))
		p.markDoubts(&t, p.groupDoubts(groups, t.columns, point.Tokens))
	}
	p.gap()
	p.write(t)
	p.flushNotes()
}

// addFigures adds a column of numbers, unless no group has one.
func (t *table) addFigures(c column, groups []metric.Group, of func(*metric.Group) float64) {
	cells, some := make([]cell, len(groups)), false
	for i := range groups {
		v := of(&groups[i])
		cells[i] = cell{text: figure(v)}
		some = some || !math.IsNaN(v)
	}
	if some {
		t.add(c, cells)
	}
}

func (p *page) anyDoubt(groups []metric.Group, columns []column, tokens metric.Tokens) bool {
	return slices.ContainsFunc(p.groupDoubts(groups, columns, tokens), func(doubts []string) bool {
		return slices.ContainsFunc(doubts, func(doubt string) bool { return doubt != "" })
	})
}

func (p *page) groupDoubts(groups []metric.Group, columns []column, tokens metric.Tokens) [][]string {
	doubts := make([][]string, len(groups))
	for i := range groups {
		doubts[i] = p.doubtsOf(&groups[i], columns, tokens)
	}
	return doubts
}

// doubtsOf gives, for each column, why the group's percentile there is weak;
// empty where it is firm, not shown, or no percentile.
func (p *page) doubtsOf(g *metric.Group, columns []column, tokens metric.Tokens) []string {
	doubts := make([]string, len(columns))
	for i, c := range columns {
		at := slices.IndexFunc(groupFigures, func(f groupFigure) bool { return f.key() == c.key })
		if at < 0 {
			continue
		}
		f := groupFigures[at]
		if !math.IsNaN(f.of(g)) && !f.dist(&g.Latency).IsFirm(f.stat) {
			doubts[i] = p.whyWeak(f.latency, f.stat, tokens)
		}
	}
	return doubts
}
