package report

import (
	"slices"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

var standings = map[slo.Standing]cell{
	slo.Met:       {text: "met", tone: good},
	slo.Missed:    {text: "missed", tone: bad},
	slo.Undecided: {text: openPhrase, tone: weak},
	slo.NotJudged: {text: "not judged", tone: weak},
	heldStanding:  heldCell,
}

// heldStanding is that of an objective that the sustained run of a search held
// without deciding it alone.
const heldStanding slo.Standing = "held"

// objectives writes where each promise stands, the figure beside its limit.
func (p *page) objectives(point *result.Point) {
	if len(point.Objectives) == 0 {
		return
	}
	t := table{columns: []column{
		{head: cell{text: "objectives", tone: bold}},
		{},
		{head: cell{text: "figure"}, align: alignRight},
		{head: cell{text: "limit"}, align: alignRight},
		{head: cell{text: "95% interval"}, align: alignRight, optional: 2},
		{head: cell{text: "beyond the limit"}, align: alignRight, optional: 1},
		{align: alignProse},
	}}
	for _, v := range point.Objectives {
		p.showObjective(v)
		if v.Standing == slo.Undecided && point == p.held {
			v.Standing, v.Note = heldStanding, ""
		}
		t.rows = append(t.rows, []cell{p.standing(v), {text: objectiveName(v)}, {text: valueOf(v)},
			{text: strings.TrimSpace(sign(v) + hard + limitOf(v))}, {text: interval(v, latencyOf(v.Scope, point))},
			{text: violations(v)}, {text: p.remarkOn(v)}})
	}
	remark := t.takeShared(len(t.columns) - 1)
	p.gap()
	p.write(t.withoutEmpty())
	p.hang(indent, remark)
	if p.invalid {
		p.line(indent + "in brackets: unproven, as the run is invalid")
	}
	if point.Requests.OK < point.Requests.Due {
		p.line(indent + "over all due: a request that is not ok is beyond any limit")
	}
	p.flushNotes()
}

// remarkOn is the note on an objective, unless the headline has it: one that is
// open leads the page where none is missed.
func (p *page) remarkOn(v slo.Verdict) string {
	note := clean(v.Note)
	if slices.Contains(p.said, note) {
		return ""
	}
	return note
}

func (p *page) standing(v slo.Verdict) cell {
	c, known := standings[v.Standing]
	if !known {
		c = cell{text: label(string(v.Standing)), tone: weak}
	}
	c = p.marked(c)
	c.text = indent + c.text
	return c
}

// marked puts what an invalid run says of the server in brackets, without
// colour.
func (p *page) marked(c cell) cell {
	if p.invalid && c.text != absent {
		c.text, c.tone = "("+c.text+")", plain
	}
	return c
}

// showObjective remembers the figure that an objective is about.
func (p *page) showObjective(v slo.Verdict) {
	if o, err := slo.Parse(v.Objective); err == nil {
		s, _ := fig.Parse(o.Metric+":"+o.Stat, fig.Promise)
		p.shows(s.Key, s.Judged().Key)
	}
}

// dueSuffix says that a figure counts from the due time.
const dueSuffix = " from due"

// objectiveName spells an objective so that the figure judged is plain:
// "ttft:p99<500ms" is judged from the due time and says so.
func objectiveName(v slo.Verdict) string {
	name, stat, _, ok := parts(v.Objective)
	if strings.HasPrefix(v.Objective, qualityPrefix) {
		return shortened(v.Objective, 32)
	}
	if !ok {
		return label(v.Objective)
	}
	text := label(name + " " + percentileName(stat))
	if name == "throughput" {
		text = "output"
	}
	if f, known := fig.Find(name); known && f.Due != "" {
		text += dueSuffix
	}
	if whose := scopeName(v.Scope); whose != "" {
		text = whose + hard + text
	}
	return text
}

// scopeName names whose requests are meant: "rag", "rag of acme".
func scopeName(s slo.Scope) string {
	class, tenant := label(s.Class), label(s.Tenant)
	if class != "" && tenant != "" {
		return class + hard + "of" + hard + tenant
	}
	return class + tenant
}

// latencyOf gives the distributions of the requests that a scope is about, or
// nothing where they were not summed up by themselves.
func latencyOf(s slo.Scope, point *result.Point) *metric.Latency {
	groups, name := point.Classes, s.Class
	switch {
	case s == (slo.Scope{}):
		return &point.Latency
	case s.Class != "" && s.Tenant != "":
		return &metric.Latency{}
	case s.Tenant != "":
		groups, name = point.Tenants, s.Tenant
	}
	for i := range groups {
		if groups[i].Name == name {
			return &groups[i].Latency
		}
	}
	return &metric.Latency{}
}

// parts takes an objective's canonical spelling apart.
func parts(text string) (name, stat, op string, ok bool) {
	o, err := slo.Parse(text)
	if err != nil {
		return "", "", "", false
	}
	op = "<"
	if o.Above {
		op = ">"
	}
	return o.Metric, o.Stat, op, true
}

func sign(v slo.Verdict) string {
	_, _, op, ok := parts(v.Objective)
	switch {
	case strings.HasPrefix(v.Objective, qualityPrefix+"length"):
		return "≤"
	case strings.HasPrefix(v.Objective, qualityPrefix):
		return "≥"
	case !ok:
		return ""
	}
	return op
}

// against is the figure beside its limit in a sentence: "812 ms > 500 ms",
// with the sign that the numbers have, not the one that was promised.
func against(v slo.Verdict) string {
	if v.Value == nil {
		return "beyond " + limitOf(v) + ": " + count(v.Violations) + " of " + count(v.N) + " without an answer in time"
	}
	if v.Unit == "ms" && max(*v.Value, v.Limit) >= 10_000 {
		v.Value, v.Limit, v.Unit = new(*v.Value/1000), v.Limit/1000, "s"
	}
	relation := "="
	switch {
	case *v.Value > v.Limit:
		relation = ">"
	case *v.Value < v.Limit:
		relation = "<"
	}
	return valueOf(v) + hard + relation + hard + limitOf(v)
}

// valueOf is the figure. One that was judged and has no value lies among the
// requests that are not ok, beyond any bound.
func valueOf(v slo.Verdict) string {
	if v.Value == nil {
		if v.Standing == slo.NotJudged {
			return absent
		}
		return "never"
	}
	if v.Unit == "fraction" {
		return inPercent(trimmed(apart(100**v.Value, 100*v.Limit, 100)))
	}
	return judgedIn(apart(*v.Value, v.Limit), v.Unit)
}

func limitOf(v slo.Verdict) string {
	if v.Unit == "fraction" {
		// A limit of 99.9% is 0.999 and not 99.90000000000001.
		return inPercent(trimmed(significant(100*v.Limit, 9, 9)))
	}
	return judgedIn(exact(v.Limit), v.Unit)
}

// judgedIn puts a figure in the unit of its objective; a price has its sign in
// front and cents: "$2.50 per 1M tokens".
func judgedIn(number, unit string) string {
	per, priced := strings.CutPrefix(unit, "$/")
	if !priced {
		return inUnit(number, unit)
	}
	if _, cents, some := strings.Cut(number, "."); some && len(cents) == 1 {
		number += "0"
	}
	return "$" + number + hard + "per" + hard + strings.ReplaceAll(per, " ", hard)
}

// interval is the 95% interval of the figure judged, where one was drawn. It
// is that of the ok requests: beside a figure that the others have pushed out
// of it, it would mislead.
func interval(v slo.Verdict, latency *metric.Latency) string {
	name, stat, _, ok := parts(v.Objective)
	if !ok || v.Value == nil {
		return ""
	}
	d := latency.Judged(name)
	if d == nil {
		return ""
	}
	bounds, drawn := d.CI[stat]
	if !drawn || *v.Value < bounds[0] || *v.Value > bounds[1] {
		return ""
	}
	return inUnit(figure(bounds[0])+"–"+figure(bounds[1]), v.Unit)
}

// violations says how many of the requests judged broke the bound, where the
// objective is about single requests.
func violations(v slo.Verdict) string {
	name, stat, _, _ := parts(v.Objective)
	f, known := fig.Find(name)
	if v.N == 0 || stat == "mean" || known && !f.Spread() && !f.Share() {
		return ""
	}
	return count(v.Violations) + " of " + count(v.N)
}
