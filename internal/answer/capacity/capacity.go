// Package capacity says how many instances a demand takes: it takes a load, the
// configurations that were measured, headroom and spare instances, and gives
// for each the instances, accelerators, utilisation, expected latency, cost and
// what changes them, the best first. It must not know how a limit was found,
// nor read any file.
package capacity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// Configuration is one way to serve, as it was measured.
type Configuration struct {
	// Name is that of the run.
	Name string
	// Result is what was measured; nil where Limit is given by hand.
	Result *result.Result
	// Limit is what one instance carries in requests per second, in place of
	// the result's own; 0 for that.
	Limit float64
	// Prices are those of one instance.
	Prices price.Spec
}

// Trial is a plan to simulate: a number of instances under a load.
type Trial struct {
	Instances int
	// Rate is the peak, Mean the average, 0 where it is not known.
	Rate, Mean float64
	// Limit is what one instance carries under the Objectives.
	Limit      float64
	Objectives []string
	// Headroom is the share of the rate that is kept free.
	Headroom float64
}

// Rehearse tries a plan in virtual time.
type Rehearse func(context.Context, Configuration, Trial) (*result.Rehearsal, error)

// Options are how much is kept free, and for what.
type Options struct {
	// Headroom is the share of the demand that is kept free for what was not
	// foreseen.
	Headroom float64
	// Spare is how many instances may fail while the rest carry the demand with
	// its headroom.
	Spare int
	// Rehearse tries each plan; nil for none.
	Rehearse Rehearse
}

// The bounds of what makes sense.
const (
	DefaultHeadroom = 0.2
	maxHeadroom     = 3
	maxSpare        = 1000
	maxRate         = 1e9
	maxInstances    = 1_000_000
)

// usageError is an error in what was asked, not in what was measured.
type usageError struct{ text string }

func (a usageError) Error() string { return a.text }

func usageErrorf(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// IsUsageError reports whether err is about the question, and begins with its part.
func IsUsageError(err error) bool {
	var a usageError
	return errors.As(err, &a)
}

func (o Options) validate() error {
	switch {
	case !(o.Headroom >= 0 && o.Headroom <= maxHeadroom):
		return usageErrorf("headroom: expected a share of the demand such as 0.2, at most %d, got %g", maxHeadroom, o.Headroom)
	case o.Spare < 0 || o.Spare > maxSpare:
		return usageErrorf("spare: must be 0 to %d instances, got %d", maxSpare, o.Spare)
	}
	return nil
}

// Plan answers for every configuration and chooses: the cheapest by the month
// where all have a price, else the one with the fewest accelerators.
func Plan(ctx context.Context, d Demand, list []Configuration, o Options) (*result.Capacity, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := d.validate(); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("nothing was measured: give the directory of a run, or a limit")
	}
	var plans []result.CapacityPlan
	for _, c := range list {
		p, err := c.plan(ctx, d, o)
		if err != nil {
			return nil, err
		}
		plans = append(plans, *p)
	}
	answer := &result.Capacity{}
	if len(plans) > 1 {
		answer.Chosen = choose(plans)
		answer.Configurations = plans
	}
	answer.CapacityPlan = plans[0]
	return answer, nil
}

// choose puts the best plan first and says why it is.
func choose(plans []result.CapacityPlan) string {
	possible := slices.DeleteFunc(slices.Clone(plans), func(p result.CapacityPlan) bool { return p.Impossible != "" })
	priced := !slices.ContainsFunc(possible, func(p result.CapacityPlan) bool { return p.Cost == nil })
	oneCurrency := priced && alike(possible, func(p result.CapacityPlan) string { return cmp.Or(p.Cost.Currency, "USD") })
	byCost := priced && oneCurrency
	slices.SortStableFunc(plans, func(a, b result.CapacityPlan) int {
		if (a.Impossible == "") != (b.Impossible == "") {
			return cmp.Compare(a.Impossible, b.Impossible)
		}
		if byCost && a.Cost != nil && b.Cost != nil {
			return cmp.Compare(a.Cost.PerMonth, b.Cost.PerMonth)
		}
		return cmp.Compare(a.GPUsToRun, b.GPUsToRun)
	})
	why := "the fewest accelerators: without a price for each, the cheapest is not known"
	switch {
	case len(possible) == 0:
		return "none keeps the objectives"
	case byCost:
		why = "the cheapest of those measured"
	case priced:
		why = "the fewest accelerators: prices in several currencies cannot be compared"
	}
	if !alike(possible, func(p result.CapacityPlan) string {
		return strings.Join(slices.Sorted(slices.Values(p.Limit.Objectives)), "\n")
	}) {
		why += "; their limits are not under the same objectives"
	}
	return why
}

func alike(plans []result.CapacityPlan, of func(result.CapacityPlan) string) bool {
	return !slices.ContainsFunc(plans, func(p result.CapacityPlan) bool { return of(p) != of(plans[0]) })
}

func (c Configuration) plan(ctx context.Context, d Demand, o Options) (*result.CapacityPlan, error) {
	measured := c.curve(d.Agents > 0)
	limit, err := c.limit(measured)
	if err != nil {
		return nil, err
	}
	prices, err := c.Prices.For(c.devices())
	if err != nil {
		return nil, err
	}
	p := &result.CapacityPlan{Name: c.Name, Limit: limit.CapacityLimit, Headroom: o.Headroom, Spare: o.Spare,
		GPUsPerInstance: prices.Devices, Accelerator: c.accelerator(), Notes: limit.notes, Impossible: limit.impossible}
	if c.Result != nil {
		p.Model = c.Result.Model.Name
	}
	p.Demand = d.against(measured, limit.Rate/(1+o.Headroom))
	if p.Impossible != "" {
		p.Assumptions = []string{}
		return p, nil
	}
	if p.Demand.Mean != nil && *p.Demand.Mean > p.Demand.Rate {
		return nil, usageErrorf("mean-rate: must be at most the peak of %s, got %g", measured.load(p.Demand.Rate), *p.Demand.Mean)
	}
	fleet := fleet{rate: p.Demand.Rate, limit: limit.Rate, headroom: o.Headroom, spare: o.Spare}
	if !(fleet.rate*(1+fleet.headroom)/fleet.limit <= maxInstances) {
		return nil, fmt.Errorf("%s take more than %s instances of %s: check the load and the limit", measured.load(fleet.rate), text.Count(maxInstances), measured.load(fleet.limit))
	}
	fleet.fill(p)
	p.UtilizationAtPeak = fleet.utilization(p.Demand.Rate)
	if mean := meanOf(&p.Demand, prices, fleet); mean != nil {
		p.UtilizationAtMean = new(fleet.utilization(*mean))
	}
	p.Expected = measured.at(p.Demand.Rate / float64(p.InstancesToRun))
	p.Notes = append(p.Notes, overLimits(p.Expected, limit.Objectives)...)
	p.Cost = costOf(p, prices, measured, measured.lengths())
	var how string
	if p.Watts, how = prices.Power(measured.watts(p.Demand.Rate/float64(p.InstancesToRun)), p.Accelerator); p.Watts != nil {
		*p.Watts *= float64(p.InstancesToRun)
	}
	p.Sensitivity = sensitivities(p, fleet, prices, measured)
	if o.Rehearse != nil {
		trial := Trial{Instances: p.InstancesToRun, Rate: p.Demand.Rate, Limit: limit.Rate, Objectives: limit.Objectives, Headroom: o.Headroom}
		if p.Demand.Mean != nil {
			trial.Mean = *p.Demand.Mean
		}
		if p.Rehearsal, err = o.Rehearse(ctx, c, trial); err == nil && prices.ByHour() {
			r := p.Rehearsal
			for _, f := range append(r.Others(), &r.Planned) {
				f.CostPerHour = new(prices.Hour * f.MeanInstances(r.SpanS))
			}
		}
	}
	p.Assumptions = c.assumptions(p, prices, measured, d.Mean == 0 && p.Demand.Mean != nil)
	if how != "" {
		p.Assumptions = append(p.Assumptions, how)
	}
	return p, err
}

// overLimits says which figures of the loads measured next to the planned one are
// over their limits: a limit rests on all loads together, and may lie above one that
// was measured badly.
func overLimits(e *result.ExpectedLatency, objectives []string) (notes []string) {
	if e == nil {
		return nil
	}
	for _, one := range objectives {
		o, err := slo.Parse(one)
		f, known := fig.Find(o.Metric)
		if err != nil || !known || o.Scope != (slo.Scope{}) {
			continue
		}
		for _, figure := range e.Figures {
			if (figure.Name == f.Key+"_ms" || figure.Name == f.JudgedForm().Key+"_ms") && figure.Stat == o.Stat && o.JudgeExact(figure.MS, o.Limit/1e6) == slo.Missed {
				notes = append(notes, fmt.Sprintf("%s %s was %s next to the planned load, over its limit of %s: measure that load again, for longer or on a quieter machine", o.Metric, o.Stat, text.Time(figure.MS), text.Time(o.Limit/1e6)))
			}
		}
	}
	return notes
}

// engines is how many served the run: an instance is what was measured, so it may be a
// fleet.
func (c Configuration) engines() int {
	n := 1
	for i := 0; c.Result != nil && i < len(c.Result.Points); i++ {
		n = max(n, c.Result.Points[i].Engines())
	}
	return n
}

// devices are the accelerators of an instance by the run: one an engine, where it has
// counted none of several; 0 where it is not known.
func (c Configuration) devices() int {
	n := 0
	if c.Result != nil {
		n = c.Result.Hardware.Count
	}
	if engines := c.engines(); n == 0 && engines > 1 {
		return engines
	}
	return n
}

func (c Configuration) accelerator() string {
	switch {
	case c.Prices.Accelerator != "":
		return c.Prices.Accelerator
	case c.Result != nil:
		return c.Result.Hardware.Accelerator
	}
	return ""
}

// fleet is the arithmetic of instances.
type fleet struct {
	rate, limit, headroom float64
	spare                 int
}

// instances is how many carry a load; a hair of rounding does not buy one more.
func (f fleet) instances(load float64) int { return max(1, int(math.Ceil(load/f.limit-1e-9))) }

func (f fleet) withHeadroom() int { return f.instances(f.rate * (1 + f.headroom)) }

func (f fleet) toRun() int { return f.withHeadroom() + f.spare }

// utilization is the share of what all instances that run can carry.
func (f fleet) utilization(rate float64) float64 { return rate / (float64(f.toRun()) * f.limit) }

func (f fleet) fill(p *result.CapacityPlan) {
	p.Instances, p.InstancesWithHeadroom, p.InstancesToRun = f.instances(f.rate), f.withHeadroom(), f.toRun()
	p.GPUs, p.GPUsWithHeadroom = p.Instances*p.GPUsPerInstance, p.InstancesWithHeadroom*p.GPUsPerInstance
	p.GPUsToRun = p.InstancesToRun * p.GPUsPerInstance
	if i := p.Limit.Interval; i != nil && i[0] > 0 {
		low := f
		low.limit = i[0]
		if n := low.toRun(); n != p.InstancesToRun {
			p.InstancesIfLow = &n
		}
	}
}

// assumptions say what the answer takes for granted; meanPlanned is whether the
// mean load is that of the planned utilisation.
func (c Configuration) assumptions(p *result.CapacityPlan, prices price.Prices, m curve, meanPlanned bool) []string {
	list := []string{}
	if p.Demand.Text != "" {
		list = append(list, p.Demand.Text)
	}
	if meanPlanned {
		list = append(list, fmt.Sprintf("on average the instances carry %s of what they can (cost.utilization)", text.Percent(prices.Utilization)))
	}
	even := "load is spread evenly over the instances"
	if p.Limit.Basis != result.LimitGiven {
		even += ", and its requests are like those that were measured"
	}
	list = append(list, even)
	if r := p.Rehearsal; p.Spare == 0 && (r == nil || r.Planned.Scaled == nil || r.Planned.Scaled.Failures == 0) {
		list = append(list, "no instance fails: no spare one is counted")
	}
	if n := c.engines(); n > 1 {
		each := ""
		if c.Prices.Accelerators == 0 && c.Result.Hardware.Count == 0 {
			each = ", each with one accelerator: set --gpus-per-instance to those of all"
		}
		list = append(list, fmt.Sprintf("an instance is here a fleet of %d engines, as it was measured%s", n, each))
	}
	if c.Prices.Accelerators == 0 && c.devices() == 0 && !c.Prices.ByHour() {
		list = append(list, "one accelerator per instance is assumed: set --gpus-per-instance to change it")
	}
	if m.agents && c.Result != nil {
		list = append(list, "agents begin a new job when one has ended, with the pauses of the run")
	}
	if m.turns > 1 {
		list = append(list, fmt.Sprintf("a session has %s, as in the run: its rates of sessions are multiplied by that", text.Units(text.Number(m.turns), "request")))
	}
	return append(list, prices.Assumptions...)
}
