package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"redline/internal/judge/result"
)

// rehearsal says what came of trying the plan in virtual time: as planned, with
// an instance less, and hour by hour.
func (p *page) rehearsal(r *result.Rehearsal, cost *result.CapacityCost) {
	if r == nil {
		return
	}
	priced := func(f *result.FleetRehearsal) string {
		line := rehearsalLine(f)
		if cost != nil && f.CostPerHour != nil {
			line = joinDots(line, amount(*f.CostPerHour, cost.Currency)+" an hour")
		}
		return line
	}
	span := time.Duration(r.SpanS * float64(time.Second)).Round(time.Second)
	p.Field("rehearsed", joinDots(clean(r.Traffic)+" for "+span.String(), clean(r.Router), "engine "+clean(r.Engine)))
	p.Field("", priced(&r.Planned))
	for i, f := range r.Others() {
		if f != r.AtOnce {
			p.Field(when(i == 0, "one less"), priced(f))
		}
	}
	p.Field("scaled", scaledLine(r))
	if r.AtOnce != nil {
		p.Field("at once", joinDots("without the provisioning delay of "+seconds(r.DelayS)+": "+verdict(r.AtOnce), within(r.AtOnce), delayCost(r)))
	}
	p.Field("over time", utilizations(r.Planned.Parts, span))
	p.Fields("", cleanAll(r.Notes))
}

// rehearsalLine is one fleet in a line.
func rehearsalLine(f *result.FleetRehearsal) string {
	parts := []string{fleetSize(f) + ": " + verdict(f)}
	if len(f.Objectives) > 1 || f.Scaled != nil {
		parts = append(parts, within(f))
	}
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
	parts = append(parts, countIfAny(int(f.Refused), "too long for the engine"), countIfAny(int(f.Lost), "lost with their instance"))
	if f.Preemptions > 0 {
		parts = append(parts, plural(int(f.Preemptions), "preemption"))
	}
	return joinDots(parts...)
}

// verdict is how a fleet did, in a word.
func verdict(f *result.FleetRehearsal) string {
	switch {
	case len(f.Objectives) == 0:
		return "served"
	case !f.Met():
		return "MISSED"
	}
	return "met"
}

// within is how many requests were within all objectives.
func within(f *result.FleetRehearsal) string {
	if len(f.Objectives) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f%% of requests within all objectives", math.Floor(1e4*(1-f.Violating))/100)
}

// fleetSize is how many instances there are, of each pool and at most.
func fleetSize(f *result.FleetRehearsal) string {
	switch {
	case f.Pools != nil:
		return poolSizes(f.Pools)
	case f.Scaled != nil && f.Scaled.Min < f.Scaled.Max:
		return fmt.Sprintf("%d to %s", f.Scaled.Min, plural(f.Scaled.Max, "instance"))
	}
	return plural(f.Instances, "instance")
}

func poolSizes(p *result.RehearsedPools) string {
	return count(p.Prefill.Instances) + " prefill + " + count(p.Decode.Instances) + " decode"
}

// scaledLine is what an autoscaler and failures did with the instances.
func scaledLine(r *result.Rehearsal) string {
	s := r.Planned.Scaled
	if s == nil {
		return ""
	}
	return joinDots(figure(s.Mean)+" on average", figure(s.InstanceHours)+" instance-hours", when(s.Failures > 0, plural(s.Failures, "failure")), when(s.Min == 0, "none at times: what comes then is lost"),
		count(s.Started)+" started, each in "+seconds(r.DelayS))
}

// delayCost is what the wait for instances does to requests.
func delayCost(r *result.Rehearsal) string {
	if len(r.Planned.Objectives) == 0 {
		return ""
	}
	more := float64(r.Planned.Requests) * (r.Planned.Violating - r.AtOnce.Violating)
	return "the delay costs " + count(max(0, int(more+0.5))) + " requests their objectives"
}

// utilizations is how busy the fleet is in each stretch of time; nothing where
// it is equally busy throughout, or not known to be.
func utilizations(parts []result.RehearsedPart, span time.Duration) string {
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
	return strings.Join(list, " ") + "% of what the instances carry, in stretches of " + seconds(span.Seconds()/float64(len(parts)))
}
