package report

import (
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
)

// headline is the first line of a report: one word that decides, and why.
type headline struct {
	word string // with what parts it from the rest
	tone tone
	why  string
}

// lead puts headlines above all else.
func (p *page) lead(list ...headline) {
	for _, h := range list {
		p.Headline(h.word, h.tone, h.why)
	}
}

// headlines lead the report. A run that was cut short or that is invalid says
// so before anything is said about the server.
func (p *page) headlines(r *result.Result) (lines []headline) {
	if r.CutShort() || r.Verdict.Valid == result.Incomplete {
		if endedInWarmup(r) {
			return []headline{{"INTERRUPTED: ", unset, "the run ended in its warm-up, nothing was measured"}}
		}
		lines = append(lines, cutShort(r.Interrupted, len(r.Points) > 0))
	}
	failed := FailedChecks(r)
	p.invalid = r.Verdict.Valid == result.Invalid || len(failed) > 0
	if p.invalid && (r.HasServed() || len(r.Points) == 0) {
		return append(lines, invalidity(failed))
	}
	if h, ok := experimentHeadline(r); ok {
		return append(lines, h)
	}
	return append(lines, p.server(r)) // where nothing succeeded, that comes first
}

// evidence is what the headlines rest on.
func (p *page) evidence(r *result.Result) {
	if held := MachineText(r); held != "" {
		p.Finding(findingWidth, weak, "machine", held)
	}
	for _, check := range FailedChecks(r) {
		p.Finding(findingWidth, bad, label(check.Name), CheckText(check))
	}
	if p.invalid && r.HasServed() {
		p.Finding(findingWidth, weak, unproven, p.wouldBe(r))
	}
	p.reasons(r)
}

// wouldBe is what a run would have found, were it valid.
func (p *page) wouldBe(r *result.Result) string {
	h, ok := experimentHeadline(r)
	if !ok {
		h = p.server(r)
	}
	word := strings.TrimRight(h.word, " ·:")
	return strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(word, "SO FAR"))+": "+h.why, ": ")
}

// endedInWarmup reports whether a user ended a run before anything was measured: its one line says all.
func endedInWarmup(r *result.Result) bool {
	return r.Interrupted == result.ByUser && r.Verdict.Valid == result.Incomplete && len(r.Points)+len(r.Stages) == 0
}

// cutShort says why a run did not last as long as it was meant to.
func cutShort(why string, measured bool) headline {
	rest := when(measured, "; the figures cover what was measured")
	switch why {
	case "", result.ByUser:
		return headline{"INTERRUPTED", unset, rest}
	case result.Running:
		return headline{"STILL RUNNING", unset, when(measured, "; the figures cover what was measured so far")}
	case result.Killed:
		return headline{"KILLED", unset, ": the run was cut off" + rest}
	}
	return headline{"STOPPED EARLY: ", unset, clean(why) + rest}
}

// grewShare is the share of the requests due by which a queue grows that is no
// settling any more, though the window is too short to exclude chance.
const grewShare = 0.05

// findingWidth holds the names of what the window can show.
const (
	findingWidth = len("not steady")
	unproven     = "unproven"
)

// FailedChecks are the checks of the run itself that it did not pass.
func FailedChecks(r *result.Result) []result.Check {
	return slices.DeleteFunc(slices.Clone(r.Verdict.Checks), func(c result.Check) bool { return c.OK })
}

func invalidity(failed []result.Check) headline {
	why := "the figures below are unproven"
	if len(failed) > 0 {
		why = strings.Join(each(failed, func(c result.Check) string { return strings.Replace(clean(c.Name), " as asked", " not as asked", 1) }), ", ") + ": " + why
	}
	return headline{"INVALID  ", lost, why}
}

// CheckText says what was found, what was wanted, and what to do.
func CheckText(check result.Check) string {
	return clean(check.Figure) + when(check.Threshold != "", ", allowed "+clean(check.Threshold)) +
		when(check.Cure != "", ". "+sentence(clean(check.Cure)))
}

// server says in one line what the server did: against its objectives, or,
// where there are none, at this load.
func (p *page) server(r *result.Result) headline {
	if len(r.Points) == 0 {
		return headline{"NOTHING MEASURED: ", lost, "the run ended before its window began"}
	}
	verdicts, last := allObjectives(r), &r.Points[len(r.Points)-1]
	switch {
	case !r.HasServed() && last.Requests.Due == 0:
		return headline{"NOTHING MEASURED: ", lost, "no request was due in the window"}
	case !r.HasServed():
		return headline{"NOTHING SERVED: ", lost, "none of " + plural(last.Requests.Due, "request") + " succeeded: " + fates(last.Requests)}
	case r.Verdict.SLO == slo.Met, r.Verdict.SLO == slo.Missed, r.Verdict.SLO == slo.Undecided:
		h := objectivesHeadline(r, verdicts)
		p.allInFront = len(r.Points) == 1 && len(verdicts) <= maxInFront && len(standingAt(verdicts, r.Verdict.SLO)) == len(verdicts)
		if len(verdicts) == 0 {
			h.why = p.servedSummary(last)
		}
		if r.Verdict.SLO == slo.Undecided {
			p.headlineNotes = notesOf(standingAt(verdicts, slo.Undecided))
		}
		return h
	case last.Window.Overload != nil && *last.Window.Overload:
		return headline{"OVERLOAD: ", lost, p.servedSummary(last)}
	}
	word, tone := validWord(r)
	return headline{word, tone, p.servedSummary(last)}
}

// validWord leads a report without a finding against the server. A run that
// was cut short has not been found valid, and one that another benchmark made
// has not been checked.
func validWord(r *result.Result) (string, tone) {
	switch {
	case isSound(r) && r.Verdict.IsUnmade():
		return "UNCHECKED  ", unset
	case isSound(r):
		return "MEASURED  ", met
	}
	return "SO FAR  ", unset
}

// isSound reports whether a run went to its end and was found valid.
func isSound(r *result.Result) bool {
	return r.Verdict.Valid == result.Valid && !r.CutShort()
}

func allObjectives(r *result.Result) []slo.Verdict {
	var all []slo.Verdict
	for i := range r.Points {
		all = append(all, r.Points[i].Objectives...)
	}
	return all
}

// servedSummary is the answer without objectives: the figures that people look for, and
// how many requests they are of.
func (p *page) servedSummary(point *result.Point) string {
	requests, latency := point.Requests, &point.Latency
	figures := present(p.headlinePercentiles("ttft", latency.JudgedDist("ttft")), p.headlinePercentiles("tpot", latency.TPOT))
	if len(figures) == 0 {
		figures = present(p.headlinePercentiles("e2e", latency.JudgedDist("e2e")))
	}
	if v := point.Throughput.Output; v > 0 {
		figures = append(figures, inUnit(figure(v), "output tokens/s"))
	}
	if j := point.Jobs; j != nil && j.Finished > 0 {
		figures = append(figures, inUnit(figure(j.PerHour), jobWord(point)+"s/h"))
	}
	return joinDots(append(figures, count(requests.OK)+" of "+plural(requests.Due, requestWord(point))+" answered "+loadPhrase(point))...)
}

// headlinePercentiles are the median, footnoted where it has low confidence, and the
// p99 where it has not.
func (p *page) headlinePercentiles(name string, d *metric.Dist) string {
	v, ok := percentile(d, "p50")
	if !ok {
		return ""
	}
	text := name + hard + "p50 " + spoken(v)
	if !d.IsFirm("p50") {
		text += mark(p.whyWeak(name, "p50", metric.Tokens{}))
	}
	if tail, ok := percentile(d, "p99"); ok && d.IsFirm("p99") {
		text += ", p99 " + spoken(tail)
	}
	return text
}

// reasons explains the verdict: what the window shows of the server's state,
// and what the result itself gives, unless the lines above have said it.
func (p *page) reasons(r *result.Result) {
	for _, i := range detailedPoints(r) {
		window := r.Points[i].Window
		if window.Overload != nil && *window.Overload {
			growth := ifKnown(window.Growth, func(v float64) string { return " by " + inUnit(figure(v), "requests") })
			p.Finding(findingWidth, bad, "queue", "grew"+growth+" over the window: this is more load than the server sustains")
		} else if g := window.Growth; window.Steady != nil && !*window.Steady && g != nil && *g > grewShare*float64(r.Points[i].Requests.Due) {
			p.Finding(findingWidth, bad, "queue", "grew by "+inUnit(figure(*g), "requests")+" over the window: probably more load than the server sustains")
		} else if window.Steady != nil && !*window.Steady {
			why := "more than half of the window was still settling; a longer warm-up or window helps"
			if window.SettledS == nil {
				why = "fewer and fewer requests finished over the window; check the server"
			}
			p.Finding(findingWidth, weak, "not steady", why)
		}
	}
	for _, reason := range r.Verdict.Reasons {
		if !isShownElsewhere(r, reason) && !endedInWarmup(r) {
			p.Note(clean(reason))
		}
	}
}

// isShownElsewhere reports whether a reason speaks of an objective or a check that
// stands, with its figures, elsewhere on the page.
func isShownElsewhere(r *result.Result, reason string) bool {
	return slices.ContainsFunc(allObjectives(r), func(v slo.Verdict) bool { return v.Objective != "" && strings.Contains(reason, v.Objective) }) ||
		slices.ContainsFunc(FailedChecks(r), func(c result.Check) bool { return c.Name != "" && strings.HasPrefix(reason, c.Name) })
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string {
	return when(text != "", strings.TrimSuffix(document.Capital(text), ".")+".")
}
