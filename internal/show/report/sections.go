package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/document"
)

// sections are the parts of a report in their order, and which of its readers
// have room for each.
var sections = []struct {
	title string
	room  room
	write func(*page, *result.Result)
}{
	{"", all | joins, (*page).evidence},
	{"", pull | terminal | joins, (*page).why},
	{"Why", whole, (*page).allFindings},
	{"", pull | terminal, (*page).setting},
	{"Capacity", all, func(p *page, r *result.Result) { p.capacity(r.Capacity) }},
	{"The protocol", all, (*page).protocol},
	{"What was decided", all, (*page).tuning},
	{"The limit", all, (*page).limit},
	{"Latency against load", all, (*page).levels},
	{"Working set", all, (*page).workingSet},
	{"B against A", all, (*page).comparison},
	{"Over several runs", all, (*page).repeats},
	{"With and without", all, (*page).toggles},
	{"Alone and together", all, (*page).isolation},
	{"Stages", all, (*page).stages},
	{"", all, (*page).points},
	{"Over time", whole, (*page).overTime},
	{"Further figures", whole | folds, (*page).furtherFigures},
	{"Latencies", whole | folds, (*page).distributions},
	{"Checklist", explained | whole | folds, (*page).checklist},
	{"Which set-up suits the workload", whole | folds, (*page).choices},
	{"What may mislead", explained | whole | folds, (*page).antiPatterns},
	{"Set-up", explained | whole | folds, (*page).setUpFields},
	{"Can it be trusted?", terminal, (*page).trust},
	{"", pull, func(p *page, _ *result.Result) { p.warn(p.notes.rest()) }},
	{"Can it be trusted?", whole | folds, (*page).trustChecks},
	{"Plan", whole | folds, (*page).plan},
	{"What the figures mean", explained | whole | folds, (*page).meanings},
	{"What was not checked", explained, (*page).uncheckedList},
}

// newDocument chooses and words what a report says.
func newDocument(r *result.Result, room room) *document.Document {
	p := newPage(r, room)
	p.Title, p.Version = documentTitle(r), clean(r.Version)
	status := validityLine(r)
	p.Status = document.Headline{Word: status.word, Tone: status.tone, Why: status.why}
	if !r.Started.IsZero() {
		p.When = r.Started.UTC().Format("2 January 2006, 15:04 UTC")
	}
	p.lead(p.headlines(r)...)
	p.tiles(r)
	for _, s := range sections {
		if room&s.room == 0 {
			continue
		}
		one := p.Section(s.title)
		one.Joined, one.Folded = s.room&joins > 0, s.room&folds > 0
		s.write(p, r)
		if s.title != "" || room == whole {
			p.Footnotes()
		}
	}
	p.Sections = slices.DeleteFunc(p.Sections, func(s document.Section) bool { return empty(s) })
	return &p.Document
}

// empty reports whether a section has nothing but a place for footnotes.
func empty(s document.Section) bool {
	return !slices.ContainsFunc(s.Blocks, func(b document.Block) bool { return b != document.Block(document.Footnotes{}) })
}

// points writes the figures of each load that is shown in full.
func (p *page) points(r *result.Result) {
	if p.room == pull && r.Kind() != "run" || p.plansCapacity(r) {
		return // the table of levels has what a first look needs
	}
	for n, i := range detailedPoints(r) {
		s := p.Last()
		if n > 0 {
			p.Footnotes()
			s = p.Section("")
		}
		point := &r.Points[i]
		if p.room == glance && point == p.sustained { // the headline says that it held
			p.drift(point)
			continue
		}
		follows := slices.ContainsFunc(p.Sections[:len(p.Sections)-1], func(s document.Section) bool { return !empty(s) })
		s.Title, s.Joined = PointTitle(r, i), len(r.Points) == 1 && follows
		if p.room == pull && s.Joined {
			s.Title = "" // the load is named below
		}
		if p.room&terminal > 0 && len(r.Points) > 1 {
			p.Add(document.Heading(s.Title))
		}
		if p.room == glance && r.Kind() != "run" { // a row above has its other figures
			p.objectives(point)
			p.drift(point)
			p.leak(point.Leak)
			continue
		}
		p.load(r, point)
		p.Footnotes()
		p.objectives(point)
		p.jobs(point)
		p.latency(point)
		if p.room < whole {
			p.allFigures(point)
		}
	}
}

// furtherFigures are those of each load beside its objectives and latencies.
func (p *page) furtherFigures(r *result.Result) {
	list := detailedPoints(r)
	for _, i := range list {
		if len(list) > 1 {
			p.Add(document.Heading(PointTitle(r, i)))
		}
		p.allFigures(&r.Points[i])
	}
}

func (p *page) allFigures(point *result.Point) {
	p.figures(point)
	p.Footnotes()
	for _, groups := range groupings {
		p.groups(groups, point)
	}
	p.fleet(point)
}

// documentTitle names the page: what was run, on what.
func documentTitle(r *result.Result) string {
	if isStored(r) {
		return clean(r.Comparison.B.Name + " against " + r.Comparison.A.Name)
	}
	return clean(joinDots(cmp.Or(r.Label, r.ID), r.Model.Name, strings.TrimSpace(r.Engine.Name+" "+r.Engine.Version)))
}

// validityLine says of the run itself whether it may be believed.
func validityLine(r *result.Result) headline {
	failed := FailedChecks(r)
	counts := joinDots(plural(len(r.Verdict.Checks)-len(failed), "check")+" passed", count(len(r.Verdict.Unchecked))+" not checked")
	switch {
	case isStored(r) && r.Verdict.Valid == result.Invalid:
		return headline{"Comparison of stored runs, not all of them valid", lost, ""}
	case r.Verdict.Valid == result.Invalid || len(failed) > 0:
		return headline{"Invalid run", lost, joinDots(count(len(failed))+hard+"failed", counts)}
	case isStored(r):
		return headline{"Comparison of stored runs", unset, ""}
	case isSound(r) && r.Verdict.IsUnmade():
		return headline{"Unchecked run", unset, counts}
	case isSound(r):
		return headline{"Valid run", met, counts}
	}
	return headline{"Run cut short", unset, counts}
}

// detailedPoints lists the points whose every figure a page shows: all of a plain
// run, of an experiment the sustained run, and of repeats all of them together.
func detailedPoints(r *result.Result) []int {
	if r.Curve == nil && r.Limit == nil && r.Comparison == nil && r.Repeats == nil && len(r.Stages) == 0 {
		var all []int
		for i := range r.Points {
			all = append(all, i)
		}
		return all
	}
	for _, i := range []int{SustainedPoint(r), pooledPoint(r)} {
		if i >= 0 {
			return []int{i}
		}
	}
	return nil
}

// SustainedPoint is the index of the point that lasted at the limit, -1 where there
// is none.
func SustainedPoint(r *result.Result) int {
	if r.Sustained == nil || *r.Sustained < 0 || *r.Sustained >= len(r.Points) {
		return -1
	}
	return *r.Sustained
}

// PointTitle names a point by what it is for.
func PointTitle(r *result.Result, i int) string {
	point := &r.Points[i]
	switch {
	case i == SustainedPoint(r):
		return "sustained run " + loadPhrase(point)
	case i == pooledPoint(r):
		return "all runs together " + loadPhrase(point)
	case point.Name != "":
		return clean(point.Name)
	case len(r.Points) == 1:
		return "measured " + loadPhrase(point)
	}
	return "point " + count(i+1) + " of " + count(len(r.Points))
}

// setUpFields names everything that a figure needs beside it to mean anything.
func (p *page) setUpFields(r *result.Result) {
	if p.room == whole {
		p.setting(r) // which stands above the figures on a terminal
	}
	p.Field("hardware", clean(joinDots(model(result.Model{}, r.Hardware), when(r.Hardware.MemoryMB > 0, trimNumber(figure(float64(r.Hardware.MemoryMB)/1024))+" GiB each"))))
	p.Field("model size", clean(r.Model.Size))
	p.Field("driver", clean(cmp.Or(Driver(r.Hardware), Metadata(r, "driver"))))
	p.Field("precision", clean(Precision(r.Model)))
	p.Field("revision", clean(cmp.Or(r.Model.Revision, Metadata(r, "revision"))))
	p.Field("tokenizer", clean(r.Model.Tokenizer))
	p.Field("parallelism", cmp.Or(clean(r.Engine.Parallelism), when(r.Engine.TP > 0, "tp "+count(r.Engine.TP)+", pp "+count(max(1, r.Engine.PP)))))
	p.Field("traffic mix", trafficMix(r))
	p.Field("flags", flags(r.Engine.Flags))
	p.Field("unknown", clean(strings.Join(r.Unknown, ", ")))
	p.Field("chat template", clean(r.Workload.TemplateHash))
	p.Field("objectives", clean(strings.Join(ObjectiveTexts(r), ", ")))
	p.Field("rollback risk", clean(Metadata(r, "rollback_risk")))
	p.Field("command", clean(r.Command))
	p.Field("redline", clean(r.Version))
}

// trafficMix is what the load was made of: each class with its share and its mean
// lengths.
func trafficMix(r *result.Result) string {
	if len(r.Points) == 0 {
		return ""
	}
	p := &r.Points[len(r.Points)-1]
	var parts []string
	for _, g := range p.Classes {
		if ok := float64(g.Requests.OK); ok > 0 {
			parts = append(parts, clean(g.Name)+" "+shareOf(int64(g.Requests.Due), int64(p.Requests.Due))+", "+trimNumber(figure(float64(g.PromptTokens)/ok))+" prompt and "+
				trimNumber(figure(float64(g.OutputTokens)/ok))+" output tokens on average")
		}
	}
	return joinDots(parts...)
}

// Metadata is what the plan remembers under a key.
func Metadata(r *result.Result, key string) string {
	block, _ := r.Plan["metadata"].(map[string]any)
	text, _ := block[key].(string)
	return text
}

// ObjectiveTexts are the objectives as they were written, each once.
func ObjectiveTexts(r *result.Result) []string {
	var texts []string
	for _, v := range allObjectives(r) {
		if !slices.Contains(texts, v.Objective) {
			texts = append(texts, v.Objective)
		}
	}
	return texts
}

// trustChecks lists every question about the run itself with its answer.
func (p *page) trustChecks(r *result.Result) {
	p.workers(r)
	p.Field("client", p.client(r))
	t := document.NewTable(left("checks"), left(""), left("measured"), left("expected"), prose(""))
	for _, c := range r.Verdict.Checks {
		if c.OK {
			t.Add(paint(good, "passed"), clean(c.Name), clean(c.Figure), clean(c.Threshold), "")
			continue
		}
		t.Add(paint(bad, "failed"), clean(c.Name), clean(c.Figure), clean(c.Threshold), sentence(clean(c.Cure)))
	}
	for _, u := range r.Verdict.Unchecked {
		t.Add(paint(weak, "not checked"), clean(u.Name), clean(u.Why), "", "")
	}
	p.Add(t)
	p.warn(p.notes.rest())
}

// plan lists the keys of the resolved plan with their values.
func (p *page) plan(r *result.Result) {
	p.Add(&document.Table{Columns: []document.Column{left("key"), left("value")}, Rows: Leaves(nil, "", r.Plan)})
}

// Leaves lists the leaves of a value under dotted keys, in their order.
func Leaves(rows [][]string, key string, value any) [][]string {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			rows = Leaves(rows, strings.TrimPrefix(key+"."+name, "."), v[name])
		}
	case []any:
		for i, one := range v {
			rows = Leaves(rows, key+"["+strconv.Itoa(i)+"]", one)
		}
	default:
		rows = append(rows, []string{clean(key), clean(planValue(v))})
	}
	return rows
}

// planValue writes a value as the plan does; numbers as read from JSON are
// floating, and a seed must not turn into 7e+06.
func planValue(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}
