package report

import (
	"slices"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
)

var standings = map[slo.Standing]struct {
	word string
	tone tone
}{
	slo.Met:       {"met", good},
	slo.Missed:    {"missed", bad},
	slo.Undecided: {openPhrase, weak},
	slo.NotJudged: {"not judged", weak},
	heldStanding:  {"held", good},
}

// heldStanding is that of an objective that the sustained run of a search held
// without deciding it alone.
const heldStanding slo.Standing = "held"

// Standing is where an objective stands in a word, "" where it was not judged.
func Standing(s slo.Standing) string { return paint(standings[s].tone, standings[s].word) }

// objectives writes whether each objective is met, the figure beside its limit.
func (p *page) objectives(point *result.Point) {
	if len(point.Objectives) == 0 {
		return
	}
	t := document.NewTable(left("objectives"), left(""), right("figure"), right("limit"), right("95% interval").Optional(2), right("beyond the limit").Optional(1), prose(""))
	for _, v := range point.Objectives {
		p.showObjective(v)
		if v.Standing == slo.Undecided && point == p.held {
			v.Standing, v.Note = heldStanding, ""
		}
		t.Add(p.standing(v), objectiveName(v), valueOf(v), strings.TrimSpace(sign(v)+hard+limitOf(v)), interval(v, latencyOf(v.Scope, point)), violations(v), p.remarkOn(v))
	}
	remark := t.TakeShared(len(t.Columns) - 1)
	p.Add(t)
	p.Note(remark)
	if p.invalid {
		p.Note("in brackets: unproven, as the run is invalid")
	}
	if point.Requests.OK < point.Requests.Due {
		p.Note("over all due: a request that is not ok is beyond any limit")
	}
	p.Footnotes()
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

func (p *page) standing(v slo.Verdict) string {
	if s, known := standings[v.Standing]; known {
		return p.painted(s.tone, s.word)
	}
	return p.painted(weak, label(string(v.Standing)))
}

// painted puts what an invalid run says of the server in brackets, without
// color.
func (p *page) painted(t tone, word string) string {
	switch {
	case word == absent:
		return absent
	case p.invalid:
		return "(" + word + ")"
	}
	return paint(t, word)
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
		return document.Shorten(v.Objective, 32)
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
// with the sign that the numbers have, not the one of the objective.
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
