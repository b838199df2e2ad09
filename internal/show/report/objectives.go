package report

import (
	"slices"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/show/document"
	"redline/internal/show/objective"
	"redline/internal/text"
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
	if len(point.Objectives) == 0 || p.room == glance && p.allInFront {
		return
	}
	t := document.NewTable(left("objectives"), left(""), right("figure"), right("limit"), right("95% interval").Optional(2), right("violations").Optional(1), prose(""))
	for _, v := range point.Objectives {
		p.showObjective(v)
		if v.Standing == slo.Undecided && point == p.sustained {
			v.Standing, v.Note = heldStanding, ""
		}
		t.Add(p.standing(v), objective.Name(v), objective.Figure(v), strings.TrimSpace(objective.Sign(v)+hard+objective.Limit(v)), interval(v, judgedDist(v, point)), objective.Violations(v),
			strings.Join(present(p.remarkOn(v), amongOK(v, judgedDist(v, point))), "; "))
	}
	remark := t.TakeShared(len(t.Columns) - 1)
	p.Add(t)
	p.Note(remark)
	if p.invalid {
		p.Note("in brackets: unproven, because the run is invalid")
	}
	if i := slices.IndexFunc(point.Objectives, func(v slo.Verdict) bool { return v.Sees != nil }); i >= 0 && p.room >= explained {
		p.Note("verdicts cover what happens at least every " + text.Seconds(*point.Objectives[i].Sees) + ", a third of the window: rarer events may not have occurred (--rare asks for a longer window)")
	}
	if p.room >= explained && slices.ContainsFunc(point.Objectives, func(v slo.Verdict) bool { return !aboutJobs(v) }) {
		p.Note(violators(point.Requests))
	}
	p.Footnotes()
}

// violators says which limits the requests violate that are not ok. What an
// unfinished one had shown by its end counts.
func violators(n metric.Requests) string {
	var rules []string
	by := map[llm.Judged]int{}
	for _, c := range llm.Counts() {
		by[c.Judged] += n.Of(c)
	}
	if by[llm.Violating] > 0 {
		rules = append(rules, "a failed request violates every limit")
	}
	if by[llm.ByProgress] > 0 {
		rules = append(rules, "an unfinished one violates limits on e2e, tpot and stall, and on ttft unless its first token was in time")
	}
	if len(rules) == 0 {
		return ""
	}
	return "violations count all requests due: " + strings.Join(rules, "; ")
}

// remarkOn is the note on an objective, unless the headline has it: one that is
// open leads the page where none is missed. That there are too few requests stands
// where the objective does.
func (p *page) remarkOn(v slo.Verdict) string {
	note := clean(v.Note)
	few := strings.TrimSuffix(strings.Replace(openWords(v), " (", ": ", 1), ")")
	if slices.Contains(p.headlineNotes, note) || v.Standing == slo.Undecided && note == few || v.Standing == slo.Met && p.room&brief > 0 {
		return ""
	}
	return note
}

// amongOK is the figure of the ok requests alone, which the table of latencies has,
// where the others move it: "50.6 ms among ok requests".
func amongOK(v slo.Verdict, d *metric.Dist) string {
	_, stat, _, ok := objective.Parts(v.Objective)
	value, measured := percentile(d, stat)
	if !ok || !measured || d.N >= v.N || v.Unit != "ms" || v.Value != nil && figure(value) == figure(*v.Value) {
		return ""
	}
	v.Value = &value
	if aboutJobs(v) {
		return objective.Figure(v) + " among ok jobs"
	}
	return objective.Figure(v) + " among ok requests"
}

// openWords say why objectives are open: "too few requests (73 of 299 needed)" where
// that is so of each of them, else that they are too close to call.
func openWords(verdicts ...slo.Verdict) string {
	if !slo.TooFew(verdicts) {
		return openPhrase
	}
	few := slices.MaxFunc(standingAt(verdicts, slo.Undecided), func(a, b slo.Verdict) int { return a.Needed - b.Needed })
	if few.N >= few.Needed { // gaps, of which a request has many
		return fewPhrase(few) + " (" + count(few.Needed) + " needed" + few.NeededWith() + ")"
	}
	return fewPhrase(few) + " (" + count(few.N) + " of " + count(few.Needed) + " needed" + few.NeededWith() + ")"
}

// fewPhrase says what there is too little of.
func fewPhrase(v slo.Verdict) string {
	if o, err := slo.Parse(v.Objective); err == nil {
		if f, ok := fig.Find(o.Metric); ok && f.Jobs() {
			return "too few jobs"
		}
	}
	return "too few requests"
}

func (p *page) standing(v slo.Verdict) string {
	if s, known := standings[v.Standing]; known {
		if v.Standing == slo.Undecided {
			s.word = openWords(v)
		}
		return p.paintWord(s.tone, s.word)
	}
	return p.paintWord(weak, document.Shorten(string(v.Standing), 20))
}

// paintWord puts what an invalid run says of the server in brackets, without
// color.
func (p *page) paintWord(t tone, word string) string {
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
		p.shows(s.Key, s.JudgedForm().Key)
	}
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

// judgedDist is the distribution whose percentile an objective is on, nil where
// there is none.
func judgedDist(v slo.Verdict, point *result.Point) *metric.Dist {
	name, _, _, _ := objective.Parts(v.Objective)
	if !aboutJobs(v) {
		return latencyOf(v.Scope, point).JudgedDist(name)
	}
	f, _ := fig.Find(name)
	d, _ := f.Own(point).(*metric.Dist)
	if v.Scope != (slo.Scope{}) {
		return nil
	}
	return d
}

// aboutJobs reports whether an objective is about jobs.
func aboutJobs(v slo.Verdict) bool {
	name, _, _, _ := objective.Parts(v.Objective)
	f, known := fig.Find(name)
	return known && f.Jobs()
}

// interval is the 95% interval of the figure judged, where one was drawn. It
// is that of the ok requests: beside a figure that the others have pushed out
// of it, it would mislead.
func interval(v slo.Verdict, d *metric.Dist) string {
	_, stat, _, ok := objective.Parts(v.Objective)
	if !ok || v.Value == nil || d == nil {
		return ""
	}
	bounds, drawn := d.CI[stat]
	if !drawn || *v.Value < bounds[0] || *v.Value > bounds[1] {
		return ""
	}
	shown := objective.InSeconds(v)
	if shown.Unit != v.Unit {
		bounds[0], bounds[1] = bounds[0]/1000, bounds[1]/1000
	}
	return inUnit(figure(bounds[0])+"–"+figure(bounds[1]), shown.Unit)
}
