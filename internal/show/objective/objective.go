// Package objective words one objective and what was found of it: its name, its
// figure beside its limit, by how much it was missed. It takes a verdict and
// gives text; it must not know the page on which that stands.
package objective

import (
	"strings"

	"redline/internal/judge/figure"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
	"redline/internal/text"
)

// Beyond says how many requests were over the limit, where FigureAndLimit does
// not say it already.
func Beyond(v slo.Verdict) string {
	if v.Value == nil {
		return ""
	}
	beyond := " over it"
	if mustExceed(v) {
		beyond = " fell short"
	}
	if broke := Violations(v); broke != "" {
		return broke + beyond
	}
	return ""
}

// FigureAndLimit is "ttft p99 84 ms, limit 500 ms". A figure without a value lies
// among the requests that are not ok; those over the limit count with them.
func FigureAndLimit(v slo.Verdict) string {
	if v.Value == nil && v.N == 0 && v.Note != "" { // it is of no requests
		return ShortName(v) + ": " + text.Clean(v.Note) + ", limit " + Limit(v)
	}
	if v.Value == nil {
		beyond := " over"
		if mustExceed(v) {
			beyond = " short of"
		}
		return ShortName(v) + ": " + text.Count(v.Violations) + " of " + text.Count(v.N) + beyond + " the limit of " + Limit(v) + " or without a full answer"
	}
	if mustExceed(v) {
		return ShortName(v) + " " + Figure(v) + ", at least " + Limit(v) + " wanted"
	}
	return ShortName(v) + " " + Figure(v) + ", limit " + Limit(v)
}

// mustExceed reports whether the figure must exceed its limit.
func mustExceed(v slo.Verdict) bool {
	op := Sign(v)
	return op == ">" || op == "≥"
}

// InSeconds turns ten seconds and more from milliseconds into seconds.
func InSeconds(v slo.Verdict) slo.Verdict {
	if v.Unit != "ms" || v.Limit < 10_000 && (v.Value == nil || *v.Value < 10_000) {
		return v
	}
	over := func(ms *float64) *float64 {
		if ms == nil {
			return nil
		}
		return new(*ms / 1000)
	}
	v.Value, v.Bound, v.Limit, v.Unit = over(v.Value), over(v.Bound), v.Limit/1000, "s"
	return v
}

// Bound is the bound of the figure and how sure it is: "95% sure below 131 ms".
func Bound(v slo.Verdict) string {
	if v.Bound == nil || v.Value == nil || v.Confidence <= 0 {
		return ""
	}
	v = InSeconds(v)
	side := "below"
	if *v.Bound < *v.Value {
		side = "above"
	}
	bound := inUnit(text.Figure(*v.Bound), v.Unit)
	if v.Unit == "fraction" {
		bound = text.Percent(*v.Bound)
	}
	if bound == Limit(v) { // which met or missed says
		return ""
	}
	return text.Percent(v.Confidence) + " sure " + side + " " + bound
}

// Sees is what a verdict of met speaks of: "for what happens at least every 20 s".
// Rarer events may not have happened in its window.
func Sees(v slo.Verdict) string {
	if v.Standing != slo.Met || v.Sees == nil {
		return ""
	}
	return "for what happens at least every " + text.Seconds(*v.Sees)
}

// Excess is how far beyond its limit a figure lies, over the limit. One that
// does not exist lies beyond everything.
func Excess(v slo.Verdict) float64 {
	switch {
	case v.Value == nil:
		return 1e18
	case v.Limit <= 0:
		return 0
	case mustExceed(v):
		return 1 - *v.Value/v.Limit
	}
	return *v.Value/v.Limit - 1
}

// ExcessPhrase says by how much a limit was missed; of a share the two numbers
// say it themselves.
func ExcessPhrase(v slo.Verdict) string {
	over := Excess(v)
	switch {
	case v.Value == nil || v.Unit == "fraction" || over <= 0:
		return ""
	case mustExceed(v):
		return text.RoughPercent(over) + " under"
	case over >= 1:
		return text.Trim(text.Significant(over+1, 2, 1)) + " times the limit"
	}
	return text.RoughPercent(over) + " over"
}

// ShortName is the name of an objective in a headline: "ttft p99".
func ShortName(v slo.Verdict) string { return strings.TrimSuffix(Name(v), fromDue) }

// fromDue says that a figure counts from the due time.
const fromDue = " from due"

// Name spells an objective so that the figure judged is plain:
// "ttft:p99<500ms" is judged from the due time and says so.
func Name(v slo.Verdict) string {
	name, stat, _, ok := Parts(v.Objective)
	if strings.HasPrefix(v.Objective, Quality) {
		return document.Shorten(v.Objective, 32)
	}
	if !ok {
		return short(v.Objective)
	}
	words := short(name + " " + text.Percentile(stat))
	if name == "throughput" {
		words = "output"
	}
	if f, known := figure.Find(name); known && f.Due != "" {
		words += fromDue
	}
	if whose := scope(v.Scope); whose != "" {
		words = whose + document.Hard + words
	}
	return words
}

// scope names whose requests are meant: "rag", "rag of acme".
func scope(s slo.Scope) string {
	class, tenant := short(s.Class), short(s.Tenant)
	if class != "" && tenant != "" {
		return class + document.Hard + "of" + document.Hard + tenant
	}
	return class + tenant
}

// Parts takes an objective's canonical spelling apart.
func Parts(spelling string) (name, stat, op string, ok bool) {
	o, err := slo.Parse(spelling)
	if err != nil {
		return "", "", "", false
	}
	op = "<"
	if o.Above {
		op = ">"
	}
	return o.Metric, o.Stat, op, true
}

// Sign is how the figure must lie to its limit: "<", ">", or of a gate "≤", "≥".
func Sign(v slo.Verdict) string {
	_, _, op, ok := Parts(v.Objective)
	switch {
	case strings.HasPrefix(v.Objective, Quality+"length"):
		return "≤"
	case strings.HasPrefix(v.Objective, Quality):
		return "≥"
	case !ok:
		return ""
	}
	return op
}

// Against is the figure beside its limit in a sentence: "812 ms > 500 ms",
// with the sign that the numbers have, not the one of the objective.
func Against(v slo.Verdict) string {
	if v.Value == nil {
		return "beyond " + Limit(v) + ": " + text.Count(v.Violations) + " of " + text.Count(v.N) + " without an answer in time"
	}
	relation := "="
	switch {
	case *v.Value > v.Limit:
		relation = ">"
	case *v.Value < v.Limit:
		relation = "<"
	}
	return Figure(v) + document.Hard + relation + document.Hard + Limit(v)
}

// Figure is the figure, in the unit of Limit. One that was judged and has no value
// lies among the requests that are not ok, beyond any bound.
func Figure(v slo.Verdict) string {
	v = InSeconds(v)
	if v.Value == nil {
		if v.Standing == slo.NotJudged {
			return text.Absent
		}
		if v.Bound != nil { // as far as it was followed
			return ">" + document.Hard + inUnit(text.Distinct(*v.Bound, v.Limit), v.Unit)
		}
		return ">" + document.Hard + Limit(v)
	}
	if v.Unit == "fraction" {
		return text.Percentage(text.Trim(text.Distinct(100**v.Value, 100*v.Limit, 100)))
	}
	return inUnit(text.Distinct(*v.Value, v.Limit), v.Unit)
}

// Limit is the limit in its unit.
func Limit(v slo.Verdict) string {
	v = InSeconds(v)
	if v.Unit == "fraction" {
		// A limit of 99.9% is 0.999 and not 99.90000000000001.
		return text.Percentage(text.Trim(text.Significant(100*v.Limit, 9, 9)))
	}
	return inUnit(text.Exact(v.Limit), v.Unit)
}

// inUnit puts a figure in the unit of its objective; a price has its sign in
// front and cents: "$2.50 per 1M tokens".
func inUnit(number, unit string) string {
	per, priced := strings.CutPrefix(unit, "$/")
	if !priced {
		return document.Unit(number, unit)
	}
	if _, cents, some := strings.Cut(number, "."); some && len(cents) == 1 {
		number += "0"
	}
	return "$" + number + document.Hard + "per" + document.Hard + strings.ReplaceAll(per, " ", document.Hard)
}

// Violations says how many of the requests judged broke the bound, where the
// objective is about single requests.
func Violations(v slo.Verdict) string {
	name, stat, _, _ := Parts(v.Objective)
	f, known := figure.Find(name)
	if v.N == 0 || stat == "mean" || known && !f.Spread() && !f.Share() {
		return ""
	}
	return text.Count(v.Violations) + " of " + text.Count(v.N)
}

// Quality begins the names of gates among the objectives.
const Quality = "quality "

// short is a name from outside, short enough for a column.
func short(name string) string { return document.Shorten(name, 24) }
