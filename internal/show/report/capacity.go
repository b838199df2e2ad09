package report

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/document"
	"redline/internal/text"
)

// Capacity is a capacity plan for a person: how many instances, why, what they
// do and cost, and what was assumed.
func Capacity(c *result.Capacity) *document.Document {
	p := newPage(&result.Result{}, whole)
	p.lead(capacityHeadline(c))
	p.capacity(c)
	return &p.Document
}

// InFlight is how many requests are in flight under a load, and how to send that.
func InFlight(n result.InFlight) *document.Document {
	p := newPage(&result.Result{}, whole)
	p.lead(headline{"IN FLIGHT: ", unset, figure(n.Mean) + " requests on average, by Little's law"})
	p.Field("because", inUnit(figure(n.Rate), "requests/s")+" × "+seconds(n.LatencyS)+" = "+figure(n.Mean))
	p.Field("at p99", count(n.P99)+" at once, where arrivals are random and no request waits for another")
	p.Field("measure it", "redline run --concurrency "+strconv.Itoa(int(math.Ceil(n.Mean)))+" (closed loop), or redline run --rate "+trimNumber(figure(n.Rate))+" (open loop)")
	return &p.Document
}

func capacityHeadline(c *result.Capacity) headline {
	if c.Impossible != "" && c.Limit.Basis == result.LimitUndecided {
		return headline{"TOO CLOSE TO CALL: ", unset, clean(c.Impossible)}
	}
	if c.Impossible != "" && c.Limit.Basis == result.LimitKept { // a load that was not tried may do
		return headline{"NOT FOUND: ", unset, clean(c.Impossible)}
	}
	if c.Impossible != "" {
		return headline{"IMPOSSIBLE: ", lost, clean(c.Impossible)}
	}
	text := plural(c.InstancesToRun, "instance") + " (" + devices(c.GPUsToRun, c.Accelerator) + ")"
	if r := c.Rehearsal; r != nil && r.Planned.Pools != nil {
		pools := poolSizes(r.Planned.Pools) + " instances (" + devices(r.Planned.Instances*c.GPUsPerInstance, c.Accelerator) + ")"
		if n := r.Together; n > 0 {
			text = pools + " by the twin, or " + plural(n, "instance") + " (" + devices(n*c.GPUsPerInstance, c.Accelerator) + ") that " + cmp.Or(when(n == 1, "does"), "do") + " both; " +
				text + " by the limit measured"
		} else {
			text = pools + " by the twin; " + text + " that do both by the limit measured"
		}
	}
	text += when(c.Name != "" && len(c.Configurations) > 1, " of "+clean(c.Name)) + ": " + inUnit(figure(c.Demand.Rate), loadUnit(c)) + when(len(c.Limit.Objectives) > 0, " under "+clean(strings.Join(c.Limit.Objectives, " and "))) +
		", with " + percent(c.Headroom) + " headroom" + when(c.Spare > 0, " and "+count(c.Spare)+" spare")
	if n := c.InstancesIfLow; n != nil {
		text += "; " + count(*n) + " if the limit is really " + figure(c.Limit.Interval[0])
	}
	tone := met
	if len(c.Notes) > 0 {
		tone = unset
	}
	return headline{"CAPACITY: ", tone, text}
}

// plansCapacity reports whether a first look is at a plan: the sweep that it rests on
// has a report of its own.
func (p *page) plansCapacity(r *result.Result) bool { return r.Capacity != nil && p.room&brief > 0 }

// loadUnit is the unit of a plan's loads.
func loadUnit(c *result.Capacity) string { return cmp.Or(c.Demand.Unit, "requests/s") }

// devices names accelerators: "48 H100", "8 accelerators".
func devices(n int, name string) string {
	return cmp.Or(when(name != "", count(n)+hard+clean(name)), plural(n, "accelerator"))
}

// capacity writes a plan beneath its headline.
func (p *page) capacity(c *result.Capacity) {
	if c == nil {
		return
	}
	if c.Impossible == "" {
		p.instances(c)
		p.expectedLatency(c.Expected, loadUnit(c))
		p.Field("power", ifKnown(c.Watts, power))
		p.capacityCost(c.Cost, loadUnit(c))
		p.rehearsal(c.Rehearsal, c.Cost)
		p.sensitivity(c.Sensitivity)
	}
	p.configurations(c)
	p.Fields("assumed", cleanAll(c.Assumptions))
	p.Fields("but", cleanAll(c.Notes))
}

var bases = map[string]string{
	result.LimitMeasured: "its measured limit", result.LimitBound: "the least that its search allows", result.LimitKept: "the highest load that met the objectives",
	result.LimitUndecided: "the highest load that did not miss the objectives", result.LimitGiven: "as given",
}

// instances says how the number of instances comes about, and how busy they are.
func (p *page) instances(c *result.Capacity) {
	limit := inUnit(loadNumber(c.Limit.Rate, loadUnit(c)), loadUnit(c)) + listInBrackets(ifKnown(c.Limit.Interval, func(i [2]float64) string { return loadInterval(i, loadUnit(c)) }))
	need := c.Demand.Rate * (1 + c.Headroom)
	// With fewer digits the quotient seems to be a whole number that it is above.
	digits := func(v float64) string { return text.Digits(v, 4) }
	p.Field("because", joinDots("one instance carries "+limit+", "+bases[c.Limit.Basis],
		digits(need)+hard+"/"+hard+digits(c.Limit.Rate)+hard+"="+hard+digits(need/c.Limit.Rate)))
	of := func(instances int, what string, gpus int) string {
		return count(instances) + " " + what + " (" + devices(gpus, c.Accelerator) + ")"
	}
	spare := ""
	if c.Spare > 0 {
		spare = of(c.InstancesToRun, "with spare", c.GPUsToRun)
	}
	p.Field("instances", joinDots(of(c.Instances, "carry the peak alone", c.GPUs), of(c.InstancesWithHeadroom, "with headroom", c.GPUsWithHeadroom), spare))
	mean := ""
	if c.UtilizationAtMean != nil && c.Demand.Mean != nil {
		mean = percent2(*c.UtilizationAtMean) + " at the mean of " + inUnit(figure(*c.Demand.Mean), loadUnit(c))
	}
	p.Field("busy", joinDots(percent2(c.UtilizationAtPeak)+" of what they carry at peak", mean))
}

// expectedLatency says what a request will see, by name.
func (p *page) expectedLatency(e *result.ExpectedLatency, unit string) {
	if e == nil {
		return
	}
	var parts []string
	last := ""
	for _, f := range e.Figures {
		name := strings.TrimSuffix(f.Name, "_ms")
		text := f.Stat + hard + milliseconds(f.MS)
		if name == last {
			parts[len(parts)-1] += ", " + text
			continue
		}
		parts, last = append(parts, strings.ReplaceAll(name, "_", " ")+" "+text), name
	}
	at := "at " + inUnit(figure(e.Rate), unit) + " an instance"
	switch e.Beyond {
	case "below":
		at += ", below what was measured: as at the lowest load"
	case "above":
		at += ", beyond what was measured: worse than at the highest load, which is"
	}
	p.Field("latency", at+": "+joinDots(parts...))
}

func (p *page) capacityCost(c *result.CapacityCost, unit string) {
	if c == nil {
		return
	}
	in := func(v float64) string { return amount(v, c.Currency) }
	p.Field("cost", joinDots(in(c.PerHour)+" an hour", in(c.PerMonth)+" a month"))
	if c.ReservedPerHour != nil {
		saved := 1 - *c.ReservedPerHour/c.PerHour
		change := percent2(saved) + " less"
		if saved < 0 {
			change = percent2(-saved) + " more"
		}
		p.Field("reserved", joinDots(in(*c.ReservedPerHour)+" an hour", in(*c.ReservedPerMonth)+" a month", change+" than on demand"))
	}
	per := func(what string) func(float64) string {
		return func(v float64) string { return in(v) + " per " + what }
	}
	p.Field("each", joinDots(ifKnown(c.PerAgentHour, per("agent-hour")), when(c.PerRequest > 0, in(c.PerRequest)+" a request"), ifKnown(c.Per1kTokens, per("1k tokens")), ifKnown(c.Per1mTokens, per("1M tokens")),
		ifKnown(c.Per1mOutput, per("1M output tokens")))+", at "+inUnit(figure(c.AtRate), unit))
}

// currency is that of a result's prices, "" where nothing is said.
func currency(r *result.Result) string {
	for i := range r.Points {
		if c := r.Points[i].Cost; c != nil && c.Currency != "" {
			return c.Currency
		}
	}
	return ""
}

func (p *page) sensitivity(list []result.Sensitivity) {
	t := document.NewTable(left("if"), right("instances"), right("accelerators"), right("a month").Optional(1))
	for _, s := range list {
		t.Add(clean(s.Name), count(s.InstancesToRun), count(s.GPUsToRun), ifKnown(s.PerMonth, figure))
	}
	p.Add(t)
}

// configurations lays the plans of several runs side by side, the best first.
func (p *page) configurations(c *result.Capacity) {
	if len(c.Configurations) < 2 {
		return
	}
	p.Field("chosen", clean(c.Chosen))
	t := document.NewTable(left("configurations"), left("model").Optional(1), decimal("limit"), right("instances"), right("accelerators").Optional(4), right("a month").Optional(3),
		right("1M output").Optional(2), prose(""))
	for _, one := range c.Configurations {
		if one.Impossible != "" {
			t.Add(document.Shorten(one.Name, 40), label(one.Model), absent, absent, absent, "", "", clean(one.Impossible))
			continue
		}
		t.Add(document.Shorten(one.Name, 40), label(one.Model), figure(one.Limit.Rate), count(one.InstancesToRun), devices(one.GPUsToRun, one.Accelerator),
			ifKnown(one.Cost, func(c result.CapacityCost) string { return figure(c.PerMonth) }),
			ifKnown(one.Cost, func(c result.CapacityCost) string {
				return ifKnown(c.Per1mOutput, func(v float64) string { return amount(v, c.Currency) })
			}), "")
	}
	p.Add(t)
}
