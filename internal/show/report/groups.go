package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
	"redline/internal/show/objective"
)

// grouping is one way of splitting the requests.
type grouping struct {
	title string
	of    func(*result.Point) []metric.Group
	// name is the group that a scope is about; nil where scopes know no such
	// groups, which then come in an order of their own.
	name func(slo.Scope) string
}

// byPrompt is the grouping that is a histogram of prompt lengths, whose bars are
// so wide together.
const (
	byPrompt       = "by prompt"
	byTurn         = "by turn"
	byDepth        = "by agent"
	histogramWidth = 30
)

var groupings = []grouping{
	{byPrompt, func(p *result.Point) []metric.Group { return p.Buckets }, nil},
	{"by class", func(p *result.Point) []metric.Group { return p.Classes }, func(s slo.Scope) string { return s.Class }},
	{"by tenant", func(p *result.Point) []metric.Group { return p.Tenants }, func(s slo.Scope) string { return s.Tenant }},
	{byTurn, func(p *result.Point) []metric.Group { return p.Turns }, nil},
	{byDepth, func(p *result.Point) []metric.Group { return p.Depths }, nil},
	{"by what is asked", func(p *result.Point) []metric.Group { return p.Forms }, nil},
	{"by adapter", func(p *result.Point) []metric.Group { return p.Adapters }, nil},
	{"by replica", func(p *result.Point) []metric.Group { return p.Replicas }, nil},
	{"by prefiller", func(p *result.Point) []metric.Group { return p.Prefillers }, nil},
	{"by step", func(p *result.Point) []metric.Group { return p.Steps }, nil},
}

// groupFigure is a percentile by which groups are told apart.
type groupFigure struct {
	head string
	// optional is how readily a narrow page does without it.
	optional int
	latency  string // its key in the result document
	stat     string
}

// Where there is little room the p99 go first: few groups have the requests for
// one. A figure's p50 heads its columns, so it goes after the others of them.
var groupFigures = []groupFigure{
	{"ttft p50", 0, "ttft_due_ms", "p50"},
	{"p95", 4, "ttft_due_ms", "p95"},
	{"p99", 7, "ttft_due_ms", "p99"},
	{"tpot p50", 3, "tpot_ms", "p50"},
	{"p95", 5, "tpot_ms", "p95"},
	{"p99", 9, "tpot_ms", "p99"},
	{"e2e p50", 0, "e2e_due_ms", "p50"},
	{"p95", 2, "e2e_due_ms", "p95"},
	{"p99", 8, "e2e_due_ms", "p99"},
}

// rank is how readily a page does without it that has objectives: what they are
// on stays, with the median that heads its columns.
func (f groupFigure) rank(objectives []slo.Verdict) int {
	for _, v := range objectives {
		if name, stat, _, ok := objective.Parts(v.Objective); ok && strings.HasPrefix(f.latency, name+"_") && (stat == f.stat || f.stat == "p50") {
			return min(f.optional, 1)
		}
	}
	return f.optional
}

func (f groupFigure) dist(g *metric.Group) *metric.Dist {
	return g.Latency.Of(strings.TrimSuffix(f.latency, "_ms"))
}

// of is NaN where there is none to show.
func (f groupFigure) of(g *metric.Group) float64 {
	if v, ok := percentile(f.dist(g), f.stat); ok {
		return v
	}
	return math.NaN()
}

// maxGroups is how many groups of a kind a page shows; of more, those with most
// requests, or the first turns.
func (p *page) maxGroups() int {
	if p.room&brief > 0 {
		return 6
	}
	return 12
}

// rows picks the groups to show and says how many are left out.
func (g grouping) rows(point *result.Point, maxRows int) (shown []metric.Group, more int) {
	shown = slices.DeleteFunc(slices.Clone(g.of(point)), func(g metric.Group) bool { return g.Requests.Due == 0 })
	if len(shown) <= maxRows {
		return shown, 0
	}
	if g.name != nil {
		slices.SortStableFunc(shown, func(a, b metric.Group) int { return b.Requests.Due - a.Requests.Due })
	}
	return shown[:maxRows], len(shown) - maxRows
}

// groups writes one row per group, where there are two to tell apart.
func (p *page) groups(grouping grouping, point *result.Point) {
	groups, more := grouping.rows(point, p.maxGroups())
	if len(groups) < 2 {
		return
	}
	switch {
	case p.room&brief > 0 && grouping.title == byPrompt:
		p.missedGroups(groups)
		return
	case p.room&brief > 0 && ofAgents(point) && (grouping.title == byTurn || grouping.title == byDepth):
		return // a job has dozens of turns
	}
	if grouping.title == byDepth {
		for i := range groups {
			groups[i].Name = cmp.Or(depthNames[groups[i].Name], groups[i].Name)
		}
	}
	p.Add(p.groupTable(grouping, groups, point))
	if more > 0 {
		p.Note("and " + count(more) + " more: the result document has them all")
	}
	if p.room >= explained {
		p.Note("ttft and e2e from due" + when(groups[0].Phases != nil, "; decode is its share of e2e"))
	}
	p.Footnotes()
	p.groupVerdicts(grouping.title, groups)
}

// groupTable has a row for each group.
func (p *page) groupTable(grouping grouping, groups []metric.Group, point *result.Point) *document.Table {
	t := document.NewTable(left(grouping.title+", ms"), right("due"), right("share").Optional(12))
	for i := range groups {
		g := &groups[i]
		t.Add(label(g.Name), count(g.Requests.Due), shareOf(int64(g.Requests.Due), int64(point.Requests.Due)))
	}
	for _, f := range groupFigures {
		t.AddColumn(decimal(f.head).Optional(f.rank(point.Objectives)).Doubtful(), absent, func(row int) string {
			v, doubt := f.of(&groups[row]), ""
			if !math.IsNaN(v) && !f.dist(&groups[row]).IsFirm(f.stat) {
				doubt = p.whyWeak(f.latency, f.stat, point.Tokens)
			}
			return figure(v) + document.Doubt(doubt)
		})
	}
	if p.room >= explained {
		t.AddColumn(right("decode").Optional(6), absent, func(row int) string {
			return cmp.Or(ifKnown(groups[row].Phases, func(f metric.Phases) string { return percent2(f.Decode) }), absent)
		})
		p.ledgerColumns(t, groups)
	}
	for _, s := range groupShares {
		if slices.ContainsFunc(groups, func(g metric.Group) bool { return s.part(&g) > 0 }) {
			t.AddColumn(right(s.head).Optional(s.optional), absent, func(row int) string {
				if of := s.of(&groups[row]); of > 0 {
					return shareOf(s.part(&groups[row]), of)
				}
				return absent
			})
		}
	}
	t.AddColumn(decimal("out tokens/s").Optional(11), absent, func(row int) string { return figure(outputRate(&groups[row])) })
	if grouping.title == byPrompt {
		t.AddColumn(left("histogram").Optional(13), absent, func(row int) string {
			share := float64(groups[row].Requests.Due) / float64(max(1, point.Requests.Due))
			return strings.Repeat("█", int(math.Round(histogramWidth*min(max(share, 0), 1))))
		})
	}
	if grouping.name != nil {
		t.AddColumn(right("objectives"), absent, func(row int) string {
			return p.standingsOf(slices.DeleteFunc(slices.Clone(point.Objectives), func(v slo.Verdict) bool {
				return v.Scope == (slo.Scope{}) || grouping.name(v.Scope) != groups[row].Name
			}))
		})
	}
	return t
}

// missedGroups names the prompt lengths that alone miss an objective.
func (p *page) missedGroups(groups []metric.Group) {
	var parts []string
	for _, v := range groups[0].Objectives {
		var names []string
		for _, g := range groups {
			if slices.ContainsFunc(g.Objectives, func(o slo.Verdict) bool { return o.Objective == v.Objective && o.Standing == slo.Missed }) {
				names = append(names, label(g.Name))
			}
		}
		if len(names) > 0 && len(names) < len(groups) { // else the verdict says it
			parts = append(parts, p.paintWord(bad, "missed")+" at "+strings.Join(names, ", ")+": "+objectiveHead(v))
		}
	}
	p.Field(byPrompt, joinDots(parts...))
}

// objectiveHead is an objective as the head of a column.
func objectiveHead(v slo.Verdict) string {
	return objective.ShortName(v) + hard + objective.Sign(v) + hard + objective.Limit(v)
}

// groupVerdicts says of each group whether it alone meets each objective: buckets
// are judged so. What all of them say is said once.
func (p *page) groupVerdicts(title string, groups []metric.Group) {
	t := document.NewTable(left(title + ", objectives"))
	for i := range groups {
		t.Add(label(groups[i].Name))
	}
	var alike []string
	for i, v := range groups[0].Objectives {
		words := each(groups, func(g metric.Group) string {
			at := slices.IndexFunc(g.Objectives, func(other slo.Verdict) bool { return other.Objective == v.Objective && other.Standing != slo.NotJudged })
			if at < 0 {
				return absent
			}
			return p.standing(g.Objectives[at])
		})
		head := objectiveHead(v)
		if word, same := document.Common(words); !same {
			t.AddColumn(left(head).Optional(i), absent, func(row int) string { return words[row] })
		} else if word != absent {
			alike = append(alike, head+" "+word)
		}
	}
	if len(t.Columns) > 1 {
		p.Add(t)
	}
	if len(alike) > 0 {
		p.Note(title + ", each alone: " + strings.Join(alike, ", "))
	}
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
	{"cached", 10, func(g *metric.Group) int64 { return g.CachedTokens },
		func(g *metric.Group) int64 { return g.PromptTokens }},
	{"drafts right", 9, func(g *metric.Group) int64 { return g.DraftsAccepted },
		func(g *metric.Group) int64 { return g.Drafted }},
}

// standingsOf is where objectives stand together: "met", "1 of 3 missed".
func (p *page) standingsOf(own []slo.Verdict) string {
	if len(own) == 0 {
		return absent
	}
	overall := slo.Standing(slo.Overall(own))
	n := 0
	for _, v := range own {
		if v.Standing == overall || overall == slo.Undecided && v.Standing == slo.NotJudged {
			n++
		}
	}
	s := standings[overall]
	if overall == slo.Undecided {
		s.word = openWords(own...)
	}
	if n < len(own) {
		s.word = count(n) + " of " + count(len(own)) + " " + s.word
	}
	return p.paintWord(s.tone, s.word)
}
