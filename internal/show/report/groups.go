package report

import (
	"math"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// grouping is one way of splitting the requests.
type grouping struct {
	title string
	of    func(*result.Point) []metric.Group
	// name is the group that a scope is about; nil where scopes know no such
	// groups, which then come in an order of their own.
	name func(slo.Scope) string
}

var groupings = []grouping{
	{"by prompt", func(p *result.Point) []metric.Group { return p.Buckets }, nil},
	{"by class", func(p *result.Point) []metric.Group { return p.Classes }, func(s slo.Scope) string { return s.Class }},
	{"by tenant", func(p *result.Point) []metric.Group { return p.Tenants }, func(s slo.Scope) string { return s.Tenant }},
	{"by turn", func(p *result.Point) []metric.Group { return p.Turns }, nil},
}

// groupFigure is a percentile by which groups are told apart.
type groupFigure struct {
	head string
	// optional is how readily a narrow page does without it.
	optional int
	latency  string // its key in the result document
	stat     string
}

var groupFigures = []groupFigure{
	{"ttft due p50", 0, "ttft_due_ms", "p50"},
	{"p99", 0, "ttft_due_ms", "p99"},
	{"tpot p50", 1, "tpot_ms", "p50"},
	{"p99", 8, "tpot_ms", "p99"},
	{"e2e due p50", 7, "e2e_due_ms", "p50"},
	{"e2e due p99", 3, "e2e_due_ms", "p99"},
}

func (f groupFigure) dist(g *metric.Group) *metric.Dist {
	return g.Latency.Of(strings.TrimSuffix(f.latency, "_ms"))
}

// key names a figure's column; a percentile's begins with p.
func (f groupFigure) key() string { return f.stat + " " + f.latency }

// of is NaN where there is none to show: the tail of a part of the requests is
// shown only when it is firm.
func (f groupFigure) of(g *metric.Group) float64 {
	d := f.dist(g)
	v, ok := percentile(d, f.stat)
	if !ok || f.stat != "p50" && !d.IsFirm(f.stat) {
		return math.NaN()
	}
	return v
}

// mostRows is how many groups a page shows; of more, those with most requests,
// or the first turns.
const mostRows = 12

// rows picks the groups to show and says how many are left out.
func (g grouping) rows(point *result.Point) (shown []metric.Group, more int) {
	shown = slices.DeleteFunc(slices.Clone(g.of(point)), func(g metric.Group) bool { return g.Requests.Due == 0 })
	if len(shown) <= mostRows {
		return shown, 0
	}
	if g.name != nil {
		slices.SortStableFunc(shown, func(a, b metric.Group) int { return b.Requests.Due - a.Requests.Due })
	}
	return shown[:mostRows], len(shown) - mostRows
}

// groups writes one row per group, where there are two to tell apart.
func (p *page) groups(grouping grouping, point *result.Point) {
	groups, more := grouping.rows(point)
	if len(groups) < 2 {
		return
	}
	t := table{columns: []column{
		{head: cell{text: grouping.title + ", ms", tone: bold}},
		{head: cell{text: "due"}, align: alignRight},
		{head: cell{text: "share"}, align: alignRight, optional: 6},
	}}
	for i := range groups {
		g := &groups[i]
		t.rows = append(t.rows, []cell{{text: indent + label(g.Name)}, {text: count(g.Requests.Due)},
			{text: shareOf(int64(g.Requests.Due), int64(point.Requests.Due))}})
	}
	for _, f := range groupFigures {
		t.addFigures(column{key: f.key(), head: cell{text: f.head}, align: alignPoint, optional: f.optional}, groups, f.of)
	}
	for _, s := range groupShares {
		t.addShares(s, groups)
	}
	t.addFigures(column{head: cell{text: "out tokens/s"}, align: alignPoint, optional: 5}, groups, outputRate)
	p.addStandings(&t, grouping, groups, point.Objectives)
	if p.anyDoubt(groups, t.columns, point.Tokens) {
		// Each column keeps a place free for its mark.
		t = t.fitted(p.width - len(t.columns))
		p.markDoubts(&t, p.groupDoubts(groups, t.columns, point.Tokens))
	}
	p.gap()
	p.write(t)
	if more > 0 {
		p.line(indent + "and " + count(more) + " more: the result document has them all")
	}
	p.flushNotes()
}

// shareOf is a share with two digits: it is there to be compared.
func shareOf(part, all int64) string {
	return percent2(float64(part) / float64(max(all, 1)))
}

func outputRate(g *metric.Group) float64 {
	if g.OutputPS == 0 && g.OutputTokens == 0 {
		return math.NaN()
	}
	return g.OutputPS
}

// groupShare is a share by which groups are told apart, where any has one.
type groupShare struct {
	head     string
	optional int
	part, of func(*metric.Group) int64
}

var groupShares = []groupShare{
	{"errors", 0, func(g *metric.Group) int64 { return int64(g.Requests.Failed + g.Requests.Rejected) },
		func(g *metric.Group) int64 { return int64(g.Requests.Due) }},
	{"cached", 2, func(g *metric.Group) int64 { return g.CachedTokens },
		func(g *metric.Group) int64 { return g.PromptTokens }},
}

// addShares adds a column of shares, unless no group has one.
func (t *table) addShares(s groupShare, groups []metric.Group) {
	cells, some := make([]cell, len(groups)), false
	for i := range groups {
		part, of := s.part(&groups[i]), s.of(&groups[i])
		cells[i] = cell{text: absent}
		if of > 0 {
			cells[i].text = shareOf(part, of)
		}
		some = some || part > 0
	}
	if some {
		t.add(column{head: cell{text: s.head}, align: alignRight, optional: s.optional}, cells)
	}
}

// addStandings adds where the objectives of each group stand, unless no group
// has its own.
func (p *page) addStandings(t *table, grouping grouping, groups []metric.Group, verdicts []slo.Verdict) {
	if grouping.name == nil {
		return
	}
	cells, some := make([]cell, len(groups)), false
	for i := range groups {
		var own []slo.Verdict
		for _, v := range verdicts {
			if v.Scope != (slo.Scope{}) && grouping.name(v.Scope) == groups[i].Name {
				own = append(own, v)
			}
		}
		cells[i] = p.standingsOf(own)
		some = some || len(own) > 0
	}
	if some {
		t.add(column{head: cell{text: "objectives"}, align: alignRight}, cells)
	}
}

// standingsOf is where objectives stand together: "met", "1 of 3 missed".
func (p *page) standingsOf(own []slo.Verdict) cell {
	if len(own) == 0 {
		return cell{text: absent}
	}
	overall := slo.Standing(slo.Overall(own))
	n := 0
	for _, v := range own {
		if v.Standing == overall || overall == slo.Undecided && v.Standing == slo.NotJudged {
			n++
		}
	}
	c := standings[overall]
	if n < len(own) {
		c.text = count(n) + " of " + count(len(own)) + " " + c.text
	}
	return p.marked(c)
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
		if !math.IsNaN(f.of(g)) && !f.dist(g).IsFirm(f.stat) {
			doubts[i] = p.whyWeak(f.latency, f.stat, tokens)
		}
	}
	return doubts
}
