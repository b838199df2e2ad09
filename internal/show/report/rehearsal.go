package report

import (
	"fmt"
	"strings"
	"time"

	"redline/internal/judge/result"
)

// rehearsal says what came of trying the plan in virtual time: as planned, with
// an instance less, and hour by hour.
func (p *page) rehearsal(r *result.Rehearsal) {
	if r == nil {
		return
	}
	span := time.Duration(r.SpanS * float64(time.Second)).Round(time.Second)
	p.Field("rehearsed", joinDots(clean(r.Traffic)+" for "+span.String(), clean(r.Router), "engine "+clean(r.Engine)))
	p.Field("", rehearsalLine(&r.Planned))
	if r.OneLess != nil {
		p.Field("one less", rehearsalLine(r.OneLess))
	}
	p.Field("by hour", utilizations(r.Planned.Parts))
	p.Fields("", cleanAll(r.Notes))
}

// rehearsalLine is one fleet in a line.
func rehearsalLine(f *result.FleetRehearsal) string {
	verdict := "met"
	switch {
	case len(f.Objectives) == 0:
		verdict = "served"
	case !f.Met():
		verdict = "MISSED"
	}
	parts := []string{plural(f.Instances, "instance") + ": " + verdict}
	for _, o := range f.Objectives {
		parts = append(parts, fmt.Sprintf("%s missed by %s of requests, %s allowed", clean(o.Objective), percent2(o.Share), percent2(o.Allowed)))
	}
	for _, name := range []string{"ttft", "tpot"} {
		if d, ok := f.Latency[name]; ok {
			parts = append(parts, name+" p99 "+spoken(d.P99))
		}
	}
	if f.Cached != nil {
		parts = append(parts, percent2(*f.Cached)+" of prompt tokens cached")
	}
	parts = append(parts, countIfAny(int(f.Refused), "too long for the engine"))
	if f.Preemptions > 0 {
		parts = append(parts, plural(int(f.Preemptions), "preemption"))
	}
	return joinDots(parts...)
}

// utilizations is how busy the fleet is in each stretch of time; nothing where
// it is equally busy throughout, or not known to be.
func utilizations(parts []result.RehearsedPart) string {
	var list []string
	low, high := 1e9, 0.0
	for _, part := range parts {
		if part.Utilization == nil {
			return ""
		}
		low, high = min(low, *part.Utilization), max(high, *part.Utilization)
		list = append(list, fmt.Sprintf("%.0f", 100**part.Utilization))
	}
	if high < 1.3*low {
		return ""
	}
	return strings.Join(list, " ") + "% of what the instances carry"
}
