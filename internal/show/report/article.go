package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// article is a report whose parts are chosen and worded but not laid out: what
// Markdown and HTML share, and what the terminal page says too.
type article struct {
	title     string
	headlines []headline
	validity  headline
	sections  []section
	result    *result.Result
}

type section struct {
	title  string
	parts  []piece
	charts []chart.Chart
}

// piece is a part of a page that is not laid out yet.
type piece struct {
	kind  pieceKind
	key   string // of a fact
	text  string // of a fact or of prose
	tone  tone   // of a fact's key
	table table  // of a grid
}

type pieceKind uint8

const (
	prose pieceKind = iota
	fact
	grid
	heading
)

func (p *page) keep(one piece) {
	one.text = strings.TrimSpace(one.text)
	if one.kind == grid || one.text != "" {
		*p.kept = append(*p.kept, one)
	}
}

// unbounded is a page on which nothing is left out for want of room.
const unbounded = 1 << 20

func newArticle(r *result.Result) *article {
	p := newPage(r, TerminalOptions{Explain: true})
	p.width = unbounded
	a := &article{title: articleTitle(r), result: r, validity: validityLine(r)}
	a.headlines = p.headlines(r)
	take := func(title string, charts []chart.Chart, write func()) {
		p.kept = &[]piece{}
		write()
		if p.flushNotes(); len(*p.kept) > 0 || len(charts) > 0 {
			a.sections = append(a.sections, section{title, *p.kept, charts})
		}
	}
	take("", nil, func() { p.evidence(r) })
	take("Why", nil, func() { p.whyWhole(r) })
	take("Capacity", nil, func() { p.capacity(r.Capacity) })
	take("The protocol", nil, func() { p.protocol(r.Protocol) })
	take("What was decided", nil, func() { p.tuning(r) })
	take("Latency against load", curves(r), func() { p.levels(r) })
	take("The limit", nil, func() { p.limit(r) })
	take("B against A", nil, func() { p.comparison(r.Comparison) })
	take("Over several runs", nil, func() { p.repeats(r.Repeats) })
	take("With and without", toggleCharts(r.Toggles), func() { p.toggles(r.Toggles) })
	take("Stages", nil, func() { p.stages(r) })
	for _, i := range detailed(r) {
		take(pointTitle(r, i), nil, func() { p.figuresOf(r, &r.Points[i]) })
	}
	take("Checklist", nil, func() { p.checklist(r.Checklist) })
	take("Set-up", nil, func() { p.setUpFields(r) })
	take("Can it be trusted?", nil, func() { p.trusted(r) })
	take("Plan", nil, func() { p.plan(r.Plan) })
	take("What the figures mean", nil, func() { p.meanings() })
	return a
}

// articleTitle names the page: what was run, on what.
func articleTitle(r *result.Result) string {
	name := r.Label
	if name == "" {
		name = r.ID
	}
	return clean(joined(name, r.Model.Name, strings.TrimSpace(r.Engine.Name+" "+r.Engine.Version)))
}

// validityLine says of the run itself whether it may be believed.
func validityLine(r *result.Result) headline {
	failed := failedChecks(r)
	counts := joined(plural(len(r.Verdict.Checks)-len(failed), "check")+" passed", count(len(r.Verdict.Unchecked))+" not checked")
	switch {
	case r.Verdict.Valid == result.Invalid || len(failed) > 0:
		return headline{"Invalid run", lost, joined(count(len(failed))+hard+"failed", counts)}
	case r.Verdict.Valid == result.Valid && r.Interrupted == "":
		return headline{"Valid run", met, counts}
	}
	return headline{"Run cut short", unset, counts}
}

// detailed lists the points whose every figure a page shows: all of a plain
// run, of an experiment the sustained run, and of repeats all of them together.
func detailed(r *result.Result) []int {
	if r.Curve == nil && r.Limit == nil && r.Comparison == nil && r.Repeats == nil && len(r.Stages) == 0 {
		all := make([]int, len(r.Points))
		for i := range all {
			all[i] = i
		}
		return all
	}
	for _, i := range []int{sustained(r), pooled(r)} {
		if i >= 0 {
			return []int{i}
		}
	}
	return nil
}

// sustained is the index of the point that lasted at the limit, -1 where there
// is none.
func sustained(r *result.Result) int {
	if r.Sustained == nil || *r.Sustained < 0 || *r.Sustained >= len(r.Points) {
		return -1
	}
	return *r.Sustained
}

func pointTitle(r *result.Result, i int) string {
	point := &r.Points[i]
	switch {
	case i == sustained(r):
		return "sustained run " + loadPhrase(point)
	case i == pooled(r):
		return "all runs together " + loadPhrase(point)
	case point.Name != "":
		return clean(point.Name)
	case len(r.Points) == 1:
		return "measured " + loadPhrase(point)
	}
	return "point " + count(i+1) + " of " + count(len(r.Points))
}

// notStated stands for what a report should name and nobody told.
const notStated = "not stated"

// setUpFields names everything that a figure needs beside it to mean anything.
func (p *page) setUpFields(r *result.Result) {
	p.setting(r)
	p.stated("hardware", model(result.Model{}, r.Hardware))
	p.stated("driver", cmp.Or(driver(r.Hardware), metadata(r, "driver")))
	p.stated("precision", precision(r.Model))
	p.stated("revision", cmp.Or(r.Model.Revision, metadata(r, "revision")))
	p.field("tokenizer", clean(r.Model.Tokenizer))
	p.field("parallelism", clean(r.Engine.Parallelism))
	p.field("flags", flags(r.Engine.Flags))
	p.field("unknown", clean(strings.Join(r.Unknown, ", ")))
	p.stated("chat template", r.Workload.TemplateHash)
	p.stated("objectives", strings.Join(objectiveTexts(r), ", "))
	p.stated("rollback risk", metadata(r, "rollback_risk"))
	p.field("command", clean(r.Command))
	p.field("redline", clean(r.Version))
}

// metadata is what the plan remembers under a key.
func metadata(r *result.Result, key string) string {
	block, _ := r.Plan["metadata"].(map[string]any)
	text, _ := block[key].(string)
	return text
}

// objectiveTexts are the promises as they were written, each once.
func objectiveTexts(r *result.Result) []string {
	var texts []string
	for _, v := range allObjectives(r) {
		if !slices.Contains(texts, v.Objective) {
			texts = append(texts, v.Objective)
		}
	}
	return texts
}

// trusted lists every question about the run itself with its answer.
func (p *page) trusted(r *result.Result) {
	p.field("client", p.client(r))
	t := table{columns: []column{{head: cell{text: "checks", tone: bold}}, {}, {head: cell{text: "measured"}},
		{head: cell{text: "expected"}}, {align: alignProse}}}
	for _, c := range r.Verdict.Checks {
		standing := cell{text: indent + "passed", tone: good}
		if !c.OK {
			standing = cell{text: indent + "failed", tone: bad}
		}
		t.rows = append(t.rows, []cell{standing, {text: clean(c.Name)}, {text: clean(c.Figure)}, {text: clean(c.Threshold)}, {text: cureOf(c)}})
	}
	for _, u := range r.Verdict.Unchecked {
		t.rows = append(t.rows, []cell{{text: indent + "not checked", tone: weak}, {text: clean(u.Name)}, {text: clean(u.Why)}, {}, {}})
	}
	if len(t.rows) > 0 {
		p.write(t)
	}
	p.warnings()
}

func cureOf(c result.Check) string {
	if c.OK {
		return ""
	}
	return sentence(clean(c.Cure))
}

// plan lists the keys of the resolved plan with their values.
func (p *page) plan(plan map[string]any) {
	t := table{columns: []column{{head: cell{text: "key"}}, {head: cell{text: "value"}}}}
	t.rows = flattened(nil, "", plan)
	if len(t.rows) > 0 {
		p.write(t)
	}
}

// flattened lists the leaves of a value under dotted keys, in their order.
func flattened(rows [][]cell, key string, value any) [][]cell {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			rows = flattened(rows, strings.TrimPrefix(key+"."+name, "."), v[name])
		}
	case []any:
		for i, one := range v {
			rows = flattened(rows, key+"["+strconv.Itoa(i)+"]", one)
		}
	default:
		rows = append(rows, []cell{{text: clean(key)}, {text: clean(planValue(v))}})
	}
	return rows
}

// planValue writes a value as the plan does; numbers as read from JSON are
// floating, and a seed must not turn into 7e+06.
func planValue(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return text.Plain(v)
	case int:
		return strconv.Itoa(v)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	return ""
}

// meanings explains every figure that the page shows.
func (p *page) meanings() {
	p.field("stamps", stampsMeant)
	for _, f := range p.figuresShown() {
		p.field(f.Title, f.Definition())
	}
}
