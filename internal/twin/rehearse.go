package twin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
	"redline/internal/traffic/arrival"
	"redline/internal/twin/sim"
)

// Plan is a fleet to be tried, and the traffic that it is for.
type Plan struct {
	Spec      sim.Spec
	Engine    string             // what the engine is, in words
	Error     map[string]float64 // of its fit
	Instances int
	Setup
	// Limit is what one instance carries in requests per second; 0 where it is
	// not known.
	Limit float64
	// Measured is the highest rate that one instance was measured at; 0 where it is not
	// known.
	Measured float64
	// KVBytes is the cache of a token, 0 where it is not known.
	KVBytes    float64
	Mix        []Conversation
	Objectives []slo.Objective
	Arrivals   Arrivals
	// Agents are played in place of the Mix, where there are some.
	Agents Agents
	Seed   uint64
}

// Setup is how the instances of a fleet are arranged.
type Setup struct {
	Router string
	// Pools asks for as few instances that prefill and that decode as meet the
	// objectives under Rate; Prefill and Decode are how many, where that is given.
	Pools           bool
	Prefill, Decode int
	KVTransferRate  float64
	Rate            float64
	Scale           Scale
}

// Arrivals is when requests come.
type Arrivals struct {
	Text  string
	Times iter.Seq[int64]
	Span  time.Duration
	// Rate is the mean, to see ahead how much is to be simulated.
	Rate float64
}

// Day is the arrivals of a day whose rate goes from its lowest to its peak and
// back, so that its mean is as given; of an hour at the peak where the mean is
// not known.
func Day(peak, mean float64, seed uint64) Arrivals {
	if mean <= 0 || mean >= peak {
		return planArrivals(arrival.Spec{Rate: peak}, time.Hour, seed)
	}
	// A cosine between two rates has their middle for a mean; where the mean is
	// too low for that, it falls to nearly nothing.
	low := max(2*mean-peak, peak/1000)
	return planArrivals(arrival.Spec{Profile: fmt.Sprintf("diurnal(%.6g..%.6g,24h)", low, peak)}, 24*time.Hour, seed)
}

// planArrivals is the arrivals of a plan's load.
func planArrivals(s arrival.Spec, span time.Duration, seed uint64) Arrivals {
	out := s.String()
	if s.Shape() == "" {
		out += " at " + text.Rate(s.Rate)
	}
	return Arrivals{Text: out, Times: s.Times(seed), Span: span, Rate: s.MeanOver(0, span)}
}

// ProfileArrivals is the arrivals of a rate over time, which may have rates of its own, for
// as long as it lasts, else an hour.
func ProfileArrivals(profile string, rate, limit float64) (Arrivals, error) {
	spec := arrival.Spec{Rate: rate, Profile: profile, Limit: limit}
	if err := spec.Validate(); err != nil {
		spec.Rate = 0
		if again := spec.Validate(); again != nil {
			return Arrivals{}, err
		}
	}
	return planArrivals(spec, cmp.Or(spec.Span(), time.Hour), 1), nil
}

// maxRecorded bounds what is kept of a schedule: a day, or some millions.
const maxRecorded = 24 * time.Hour

// RecordedArrivals is arrivals as a trace or a fitted workload has them.
func RecordedArrivals(name string, times iter.Seq[int64]) Arrivals {
	var all []int64
	for at := range times {
		if len(all) == maxSimulated || len(all) > 0 && at-all[0] > int64(maxRecorded) {
			break
		}
		all = append(all, at)
	}
	out := Arrivals{Text: name + ", at its own times"}
	if len(all) > 0 {
		first := all[0]
		for i := range all {
			all[i] -= first
		}
		out.Span = time.Duration(all[len(all)-1] + 1)
		out.Rate = float64(len(all)) / out.Span.Seconds()
	}
	out.Times = slices.Values(all)
	return out
}

// Trial is a plan to be tried on what a run tells.
type Trial struct {
	// Run is the directory whose requests are drawn from.
	Run string
	// Engine is the engine to try, from the file EngineName; nil for one fitted
	// to the run.
	Engine     *sim.Spec
	EngineName string
	// Fitted is what Fit made of the run before; nil where that is to be done.
	Fitted    *FittedEngine
	Instances int
	Setup
	Limit float64
	// Objectives are those of the plan; the run's own where there are none.
	Objectives []string
	Arrivals   Arrivals
	Agents     Agents
	Seed       uint64
}

// FittedEngine is an engine, and what it is offered: the requests and objectives of a
// run.
type FittedEngine struct {
	spec       sim.Spec
	name       string             // in words
	errors     map[string]float64 // of the fit
	notes      []string
	kvBytes    float64
	measured   float64 // the highest rate
	mix        []Conversation
	objectives []string
}

// Fit fits an engine to a run, for several trials of it.
func Fit(ctx context.Context, run string) (*FittedEngine, error) {
	return Trial{Run: run}.fittedEngine(ctx)
}

func (t Trial) fittedEngine(ctx context.Context) (*FittedEngine, error) {
	if t.Fitted != nil {
		return t.Fitted, nil
	}
	ev, err := Observe(t.Run)
	if err != nil {
		return nil, err
	}
	f := &FittedEngine{mix: ev.Mix(), objectives: ev.Objectives}
	for _, l := range ev.Levels {
		f.measured = max(f.measured, l.Load)
		if !l.Closed {
			f.measured = max(f.measured, l.Asked)
		}
	}
	if d := ev.deployed; d != nil {
		f.kvBytes = float64(d.Model.KVBytesPerToken(d.KV))
	}
	if t.Engine != nil {
		f.spec, f.name = *t.Engine, t.EngineName
		return f, nil
	}
	fitted, err := Calibrate(ctx, ev)
	if err != nil {
		return nil, err
	}
	f.spec, f.name, f.errors = fitted.Spec, "fitted to "+t.Run, fitted.InFit
	if fitted.HeldOut != nil {
		f.errors = fitted.HeldOut
	}
	word, why := fitted.Verdict()
	f.notes = []string{word + ": " + why}
	return f, nil
}

// Try fits an engine to the run, where none is given, and rehearses the plan.
func (t Trial) Try(ctx context.Context) (*result.Rehearsal, error) {
	f, err := t.fittedEngine(ctx)
	if err != nil {
		return nil, err
	}
	p := Plan{Spec: f.spec, Engine: f.name, Error: f.errors, Instances: t.Instances, Setup: t.Setup, Limit: t.Limit, Measured: f.measured, KVBytes: f.kvBytes, Mix: f.mix, Arrivals: t.Arrivals, Agents: t.Agents, Seed: t.Seed}
	texts := t.Objectives
	if len(texts) == 0 {
		texts = f.objectives
	}
	if p.Objectives, err = slo.ParseAll(texts); err != nil {
		return nil, err
	}
	out, err := Rehearse(ctx, p)
	if err != nil {
		return nil, err
	}
	out.Notes = append(out.Notes, f.notes...)
	return out, nil
}

// fitReach is how far beyond the highest load measured a twin is taken at its word.
const fitReach = 1.1

// maxSimulated is how many requests are simulated at most: about a minute.
const maxSimulated = 30_000_000

// Rehearse tries the plan, and beside it the same with one instance less or, where
// instances come and go, with such that come at once.
func Rehearse(ctx context.Context, p Plan) (*result.Rehearsal, error) {
	out := &result.Rehearsal{Engine: p.Engine, Error: p.Error, Traffic: p.Arrivals.Text, Router: cmp.Or(p.Router, sim.LeastOutstanding), DelayS: p.Scale.Delay.Seconds()}
	p.Scale.Limit = p.Limit
	span := p.Arrivals.Span
	if p.Agents.Live > 0 {
		span, out.Router = agentsSpan, "each job on one instance"
		out.Traffic = text.Plural(p.Agents.Live, "live agent")
		if p.Instances > maxPlayed {
			out.Notes = append(out.Notes, fmt.Sprintf("%d of the instances are simulated: the others have as many agents each", maxPlayed))
		}
	} else if most := time.Duration(maxSimulated / max(p.Arrivals.Rate, 1e-9) * 1e9); most < span && most > 0 {
		span = most
		out.Notes = append(out.Notes, fmt.Sprintf("only the first %v of %v are simulated: %.0f million requests are enough", span.Round(time.Second), p.Arrivals.Span, maxSimulated/1e6))
	}
	out.SpanS = span.Seconds()
	if len(p.Objectives) == 0 {
		out.Notes = append(out.Notes, "no objective to hold the fleet to: give one with --slo")
	}
	if p.Pools {
		var err error
		if out.Together, err = p.sizePools(ctx); err != nil {
			return nil, err
		}
	}
	if busiest := p.Rate / float64(max(1, min(cmp.Or(p.Prefill, p.Instances), cmp.Or(p.Decode, p.Instances), cmp.Or(out.Together, p.Instances)))); p.Measured > 0 && p.Scale.isFixed() && busiest > fitReach*p.Measured {
		out.Notes = append(out.Notes, fmt.Sprintf("an instance takes up to %s here, and %s was the highest load measured: beyond that the twin is not tested", text.Rate(busiest), text.Rate(p.Measured)))
	}
	setup, err := p.setupNotes(ctx)
	if err != nil {
		return nil, err
	}
	out.Notes = append(out.Notes, setup...)
	var others sync.WaitGroup
	errs := make([]error, 4)
	for i, o := range p.others(out) {
		others.Go(func() { *o.into, errs[i] = o.try(ctx, span) })
	}
	planned, err := p.try(ctx, span)
	others.Wait()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	out.Planned = *planned
	if s := planned.Scaled; s != nil && s.Failures < p.Scale.Failures {
		out.Notes = append(out.Notes, fmt.Sprintf("%s of %s happen: the rest find no instance that has not failed already", text.Count(s.Failures), text.Plural(p.Scale.Failures, "failure")))
	}
	return out, nil
}

// setupNotes say what the setup of the fleet takes for granted.
func (p Plan) setupNotes(ctx context.Context) (notes []string, err error) {
	pools := p.Prefill > 0
	if pools && p.KVBytes == 0 {
		notes = append(notes, "how large the KV cache of a token is, is not known: handing a prompt over takes a millisecond")
	}
	if (p.Router == sim.PrefixAware || p.Router == sim.Sticky) && !hasTurns(p.Mix) {
		notes = append(notes, "no session of the run has a second turn: for "+p.Router+" each request is a session")
	}
	if on := p.Spec.EnablePrefixCaching; p.Agents.Live == 0 && (on != nil && *on || p.Spec.KVOffloadingSize > 0) {
		notes = append(notes, "the cache has of each request what was measured: its size and a host tier are not simulated in a fleet")
	}
	if pools && !p.Pools && p.Rate > 0 {
		peak, err := p.tryPeak(ctx, 0, p.Prefill, p.Decode)
		if err != nil {
			return nil, err
		}
		if grows(peak) {
			notes = append(notes, "at a peak of "+text.Rate(p.Rate)+" that lasts, ever more requests are in the pools: they are too small for it, whatever the objectives say; --pools finds their sizes")
		}
	}
	return notes, nil
}

// variant is a plan that is tried beside another.
type variant struct {
	Plan
	into **result.FleetRehearsal
}

// others are the plans that are tried beside p: what its delay costs, or what becomes of
// it with one instance less.
func (p Plan) others(out *result.Rehearsal) (list []variant) {
	add := func(wanted bool, into **result.FleetRehearsal, change func(*Plan)) {
		if wanted {
			v := variant{p, into}
			change(&v.Plan)
			list = append(list, v)
		}
	}
	fixed, pools := p.Scale.isFixed(), p.Prefill > 0
	add(!fixed && p.Scale.Delay > 0, &out.AtOnce, func(v *Plan) { v.Scale.Delay = 0 })
	add(fixed && !pools && p.Instances > 1, &out.OneLess, func(v *Plan) { v.Instances-- })
	add(fixed && p.Prefill > 1, &out.LessPrefill, func(v *Plan) { v.Prefill-- })
	add(fixed && pools && p.Decode > 1, &out.LessDecode, func(v *Plan) { v.Decode-- })
	return list
}

// try plays the traffic against the instances.
func (p Plan) try(ctx context.Context, span time.Duration) (*result.FleetRehearsal, error) {
	if p.Agents.Live > 0 {
		return Fleet{Spec: p.Spec, Instances: p.Instances}.runAgents(p.Agents, p.Objectives)
	}
	// An hour's beginning is an empty fleet, which is not what a plan is for.
	settle := min(span/10, time.Minute)
	out, err := p.fleet().Run(ctx, Traffic{Times: p.Arrivals.Times, Mix: p.Mix, Seed: p.Seed, Span: span, Settle: settle}, p.Objectives)
	if err != nil || p.Limit <= 0 || p.Prefill > 0 {
		return out, err
	}
	for i := range out.Parts {
		instances := float64(p.Instances)
		if n := out.Parts[i].Instances; n != nil {
			instances = max(*n, 1e-9)
		}
		u := out.Parts[i].Rate / (p.Limit * instances)
		out.Parts[i].Utilization = &u
	}
	return out, nil
}

func (p Plan) fleet() Fleet {
	f := Fleet{Spec: p.Spec, Instances: p.Instances, Router: p.Router, Prefill: p.Prefill, Decode: p.Decode, KVBytes: p.KVBytes, KVTransferRate: p.KVTransferRate, Scale: p.Scale}
	if p.Scale.Max > 0 {
		f.Instances = p.Scale.Max
	}
	return f
}
