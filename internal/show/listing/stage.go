package listing

import (
	"fmt"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/run/experiment"
	"redline/internal/show/report"
	"redline/internal/text"
)

// StageLine says in one short line what came of a stage: its figures where some
// are taken from it, and of the objectives those that it misses. Of a level of a
// search the belief from all levels says that, which follows.
func StageLine(s experiment.Stage, res *result.Result, kept bool) string {
	parts := []string{s.Name}
	if kept {
		parts = append(parts, "kept from before")
	}
	if len(res.Points) > 0 {
		parts = append(parts, pointParts(&res.Points[0], s)...)
	}
	if res.Verdict.Valid == result.Invalid && s.Measures() {
		parts = append(parts, text.Join(": ", "not valid", firstReason(res)))
	}
	return strings.Join(parts, " · ")
}

// firstReason is why a run is not valid, the first of several.
func firstReason(res *result.Result) string {
	for _, c := range res.Verdict.FailedChecks() {
		return c.Reason()
	}
	return ""
}

func pointParts(p *result.Point, s experiment.Stage) []string {
	var parts []string
	figures := s.Measures()
	if d := p.Latency.TTFTDue; d != nil && figures {
		unit, by := text.TimeUnit(d.P["p99"])
		parts = append(parts, fmt.Sprintf("ttft p50 %s p99 %s %s", text.Figure(d.P["p50"]/by), text.Figure(d.P["p99"]/by), unit))
	}
	if d := p.Latency.TPOT; d != nil && figures {
		parts = append(parts, "tpot p50 "+text.Figure(d.P["p50"])+" ms")
	}
	answered := fmt.Sprintf("%d ok", p.Requests.OK)
	if p.Requests.OK < p.Requests.Due {
		answered = fmt.Sprintf("%d of %d ok", p.Requests.OK, p.Requests.Due)
	}
	parts = append(parts, answered)
	if lost := report.UnansweredShare(p); lost != "" {
		parts = append(parts, lost)
	}
	if p.Requests.Censored > 0 {
		parts = append(parts, fmt.Sprintf("%d unfinished", p.Requests.Censored))
	}
	for _, v := range p.Objectives {
		if v.Standing == slo.Missed && figures && !s.Searches() {
			parts = append(parts, v.Objective+" missed")
		}
	}
	return parts
}
