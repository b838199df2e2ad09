package report

import (
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// headline is the first line of a report: one word that decides, and why.
type headline struct {
	word string // with what parts it from the rest
	tone tone
	why  string
}

// verdict leads the report. A run that was cut short or that is invalid says
// so before anything is said about the server.
func (p *page) verdict(r *result.Result) {
	for _, h := range p.headlines(r) {
		p.headline(h)
	}
	p.evidence(r)
}

func (p *page) headlines(r *result.Result) (lines []headline) {
	if r.Interrupted != "" || r.Verdict.Valid == result.Incomplete {
		lines = append(lines, cutShort(r.Interrupted))
	}
	failed := failedChecks(r)
	p.invalid = r.Verdict.Valid == result.Invalid || len(failed) > 0
	if p.invalid && (r.Served() || len(r.Points) == 0) {
		return append(lines, invalidity(failed))
	}
	if h, ok := answered(r); ok {
		return append(lines, h)
	}
	return append(lines, p.server(r)) // where nothing succeeded, that comes first
}

// evidence is what the headlines rest on.
func (p *page) evidence(r *result.Result) {
	failed := failedChecks(r)
	p.failedChecks(failed)
	if p.invalid && r.Served() {
		p.finding(weak, unproven, findingsWidth(failed), p.wouldBe(r))
	}
	p.reasons(r, findingsWidth(failed))
}

// wouldBe is what a run would have found, were it valid.
func (p *page) wouldBe(r *result.Result) string {
	h, ok := answered(r)
	if !ok {
		h = p.server(r)
	}
	word := strings.TrimRight(h.word, " ·:")
	return strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(word, "SO FAR"))+": "+h.why, ": ")
}

// cutShort says why a run did not last as long as it was meant to.
func cutShort(why string) headline {
	const rest = "; the figures cover what was measured"
	switch why {
	case "", result.ByUser:
		return headline{"INTERRUPTED", unset, rest}
	case result.Killed:
		return headline{"KILLED", unset, ": the run was cut off" + rest}
	}
	return headline{"STOPPED EARLY: ", unset, clean(why) + rest}
}

func (p *page) headline(h headline) { p.hang(p.paint(h.tone, h.word), h.why) }

// findingWidth holds the names of what the window can show.
const (
	findingWidth = len("not steady")
	unproven     = "unproven"
)

// finding is a named line of evidence under a headline.
func (p *page) finding(t tone, name string, width int, text string) {
	if p.kept != nil {
		p.keep(piece{kind: fact, key: name, text: text, tone: t})
		return
	}
	p.hang(indent+p.paint(t, padRight(name, width))+indent, text)
}

// findingsWidth holds the names of the failed checks as well.
func findingsWidth(failed []result.Check) int {
	width := findingWidth
	for _, check := range failed {
		width = max(width, visible(label(check.Name)))
	}
	return width
}

func (p *page) failedChecks(failed []result.Check) {
	width := findingsWidth(failed)
	for _, check := range failed {
		p.finding(bad, label(check.Name), width, checkText(check))
	}
}

func failedChecks(r *result.Result) []result.Check {
	var failed []result.Check
	for _, check := range r.Verdict.Checks {
		if !check.OK {
			failed = append(failed, check)
		}
	}
	return failed
}

func invalidity(failed []result.Check) headline {
	why := "the figures below are unproven"
	if len(failed) > 0 {
		names := make([]string, len(failed))
		for i, check := range failed {
			names[i] = clean(check.Name)
		}
		names[0] += " (" + clean(failed[0].Figure) + ")"
		why = strings.Join(names, ", ") + ": " + why
	}
	return headline{"INVALID  ", lost, why}
}

// checkText says what was found, what was wanted, and what to do.
func checkText(check result.Check) string {
	text := clean(check.Figure)
	if check.Threshold != "" {
		text += ", want " + clean(check.Threshold)
	}
	if check.Cure != "" {
		text += ". " + sentence(clean(check.Cure))
	}
	return text
}

// server says in one line what the server did: against its objectives, or,
// where there are none, at this load.
func (p *page) server(r *result.Result) headline {
	if len(r.Points) == 0 {
		return headline{"NOTHING MEASURED: ", lost, "the run ended before its window began"}
	}
	verdicts, last := allObjectives(r), &r.Points[len(r.Points)-1]
	switch {
	case !r.Served():
		return nothingServed(last.Requests)
	case r.Verdict.SLO == slo.Met, r.Verdict.SLO == slo.Missed, r.Verdict.SLO == slo.Undecided:
		h := judged(r, verdicts)
		if len(verdicts) == 0 {
			h.why = p.served(last)
		}
		if r.Verdict.SLO == slo.Undecided {
			p.said = notesOf(standingAt(verdicts, slo.Undecided))
		}
		return h
	case last.Window.Overload != nil && *last.Window.Overload:
		return headline{"OVERLOAD: ", lost, p.served(last)}
	}
	return headline{validWord(r), met, p.served(last)}
}

// validWord leads a report without a finding against the server. A run that
// was cut short has not been found valid.
func validWord(r *result.Result) string {
	if soundly(r) {
		return "VALID  "
	}
	return "SO FAR  "
}

// soundly reports whether a run went to its end and was found valid.
func soundly(r *result.Result) bool {
	return r.Verdict.Valid == result.Valid && r.Interrupted == ""
}

func allObjectives(r *result.Result) []slo.Verdict {
	var all []slo.Verdict
	for i := range r.Points {
		all = append(all, r.Points[i].Objectives...)
	}
	return all
}

func nothingServed(requests metric.Requests) headline {
	if requests.Due == 0 {
		return headline{"NOTHING MEASURED: ", lost, "no request was due in the window"}
	}
	return headline{"NOTHING SERVED: ", lost, "none of " + plural(requests.Due, "request") + " succeeded: " + fates(requests)}
}

// served is the answer without objectives: what came of this load.
func (p *page) served(point *result.Point) string {
	requests, latency := point.Requests, &point.Latency
	text := loadPhrase(point) + ", " + count(requests.OK) + " of " + plural(requests.Due, "request") + " answered"
	figures := slices.DeleteFunc([]string{
		p.spokenPercentile("ttft", dueSuffix, latency.TTFTDue, "p99"),
		p.spokenPercentile("tpot", "", latency.TPOT, "p50"),
	}, func(s string) bool { return s == "" })
	if len(figures) == 0 {
		figures = append(figures, p.spokenPercentile("e2e", dueSuffix, latency.E2EDue, "p99"))
	}
	if v := point.Throughput.Output; v > 0 {
		figures = append(figures, inUnit(figure(v), "output tokens/s"))
	}
	return strings.TrimSuffix(text+": "+strings.Join(figures, ", "), ": ")
}

// spokenPercentile falls back to the median where the tail is not firm, and
// footnotes even that where it is not.
func (p *page) spokenPercentile(name, of string, d *metric.Dist, key string) string {
	if !d.IsFirm(key) {
		key = "p50"
	}
	v, ok := percentile(d, key)
	if !ok {
		return ""
	}
	mark := ""
	if !d.IsFirm(key) {
		mark = p.notes.mark(p.whyWeak(name, key, metric.Tokens{}))
	}
	return name + hard + key + of + " " + spoken(v) + mark
}

// reasons explains the verdict: what the window shows of the server's state,
// and what the result itself gives, unless the lines above have said it.
func (p *page) reasons(r *result.Result, width int) {
	for _, i := range detailed(r) {
		window := r.Points[i].Window
		if window.Overload != nil && *window.Overload {
			growth := ""
			if window.Growth != nil {
				growth = " by " + inUnit(figure(*window.Growth), "requests")
			}
			p.finding(bad, "queue", width, "grew"+growth+" over the window: this is more load than the server sustains")
		}
		if window.Steady != nil && !*window.Steady {
			text := "more than half of the window was still settling; a longer warm-up or window helps"
			if window.SettledS == nil {
				text = "ever fewer requests ended over the window; look at the server"
			}
			p.finding(weak, "not steady", width, text)
		}
	}
	for _, reason := range r.Verdict.Reasons {
		if !alreadySaid(r, reason) {
			p.hang(indent, clean(reason))
		}
	}
}

// alreadySaid reports whether a reason speaks of an objective or a check that
// stands, with its figures, elsewhere on the page.
func alreadySaid(r *result.Result, reason string) bool {
	for _, v := range allObjectives(r) {
		if v.Objective != "" && strings.Contains(reason, v.Objective) {
			return true
		}
	}
	for _, check := range failedChecks(r) {
		if check.Name != "" && strings.HasPrefix(reason, check.Name) {
			return true
		}
	}
	return false
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	runes := []rune(text)
	text = strings.ToUpper(string(runes[0])) + string(runes[1:])
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
