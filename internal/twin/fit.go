package twin

import (
	"context"
	"math"
	"slices"
	"time"

	"redline/internal/catalog"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// The constants that are fitted, as logarithms of microseconds.
const (
	weights = iota
	perToken
	perSequence
	perContext
	perPair
	perStep
	perRequest
	allExperts
	frontRequest
	frontToken
	frontEvent
	eager
	perHostBlock
	constants
)

// negligible is a constant that decides nothing.
const negligible = 1e-7

// build gives the engine with these constants and the scheduler of base.
func build(base sim.Spec, x []float64) sim.Spec {
	us := func(i int) float64 { return math.Exp(min(max(x[i], math.Log(negligible)), math.Log(5e7))) }
	law := catalog.Law{WeightsUS: us(weights), TokenUS: us(perToken), Corner: base.Law.Corner, ClockDrop: base.Law.ClockDrop,
		SequenceUS: us(perSequence), ContextUS: us(perContext), PairUS: us(perPair)}
	if base.Law.ExpertShare > 0 {
		law.ExpertsUS, law.ExpertShare, law.ExpertSpread = us(allExperts), base.Law.ExpertShare, base.Law.ExpertSpread
	}
	if base.Law.EagerTokens > 0 {
		law.EagerUS, law.EagerTokens, law.EagerSequenceUS, law.PromptUS = us(eager), base.Law.EagerTokens, base.Law.EagerSequenceUS, base.Law.PromptUS
	}
	if law.HostBlocks = base.Law.HostBlocks; law.HostBlocks > 0 {
		law.HostBlockUS = us(perHostBlock)
	}
	base.Law = &law
	base.StepOverhead = time.Duration(us(perStep) * 1e3)
	base.RequestOverhead = time.Duration(us(perRequest) * 1e3)
	if !base.FrontEnd.Idle() {
		base.FrontEnd = catalog.FrontEnd{APIServers: base.APIServers, Request: time.Duration(us(frontRequest) * 1e3), TokenUS: us(frontToken), EventUS: us(frontEvent), StepUS: base.StepUS}
	}
	buildCarried(&base, us)
	return base
}

// candidate is a candidate with what it costs.
type candidate struct {
	base sim.Spec
	x    []float64
	// usual is what the constants are expected to be: levels below saturation hardly
	// tell some of them apart.
	usual []expectation
	loss  float64
}

func (f candidate) spec() sim.Spec { return build(f.base, f.x) }

// fit finds the engine that comes nearest to the levels. Constants are sought
// by simulation; how the scheduler works is tried out around the best ones.
func fit(ctx context.Context, levels []Level, ev *Evidence) candidate {
	room, maxLen := ev.Blocks, ev.MaxLen
	var targets []target
	for _, l := range levels {
		short := trim(l)
		targets = append(targets, newTarget(&short))
	}
	seen := look(levels)
	base := sim.Spec{MaxNumSeqs: seen.places(), MaxNumBatchedTokens: max(8192, seen.places()), NumGPUBlocksOverride: room,
		MaxModelLen: seen.length(maxLen, room), Law: &catalog.Law{Corner: 1.5}, EnablePrefixCaching: new(bool), Jitter: new(float64)}
	more, policies := seen.ask(&base, ev.adapterSlots), seen.policies(ev.adapterSlots)
	few := spreadOver(targets, 4)
	if known, ok := ev.catalogFit(base, seen); ok {
		known.x = append(known.x, more...)
		known = tryEach(ctx, few, refine(ctx, few, known, 0.3, 800), policies)
		if known = speculate(ctx, few, known, ev.specByPlace); known.loss <= 10*poor {
			known.loss = math.Inf(1)
			return refine(ctx, targets, known, 0.1, 200)
		}
	}
	x, usual := seen.guess(targets)
	first := refine(ctx, few, candidate{base: base, x: append(x, more...), usual: usual, loss: math.Inf(1)}, 1, 300)
	ways := schedulers(seen) // the first is the size of the batch, without which nobody waits for a turn
	ways = slices.Concat(ways[:1], policies, ways[1:])
	schedule := func(from candidate) candidate {
		from = speculate(ctx, few, tryEach(ctx, few, from, ways), ev.specByPlace)
		return behindFrontEnd(ctx, few, from)
	}
	best := schedule(first)
	if best.loss > poor {
		// Which scheduler comes near with steps of the wrong kind says nothing.
		if mixed := mixture(ctx, few, first); mixed.base.Law.ExpertShare > 0 {
			if mixed = schedule(mixed); mixed.loss < 0.9*best.loss {
				best = mixed
			}
		}
	}
	best.loss = math.Inf(1)
	return refine(ctx, targets, best, 0.25, 200)
}

// better is the distance, as a share of another's, below which one engine is taken in
// the place of the other.
const better = 0.98

// tryEach takes those of the ways in which an engine may work that come nearer.
func tryEach(ctx context.Context, targets []target, best candidate, ways []func(*sim.Spec) bool) candidate {
	for _, try := range ways {
		other := best
		if !try(&other.base) {
			continue
		}
		other.loss = math.Inf(1)
		if other = refine(ctx, targets, other, 0.3, 60); other.loss < better*best.loss {
			best = other
		}
	}
	return best
}

// poor is a distance beyond which another kind of engine is thought of: some
// five percent everywhere.
const poor = 0.0025

// mixture tries a model of experts: what a lone token reads is small then, and
// what a batch reads grows with it.
func mixture(ctx context.Context, targets []target, best candidate) candidate {
	light, heavy := targets[0].measured[1], targets[len(targets)-1].measured[1]
	if len(light) == 0 || len(heavy) == 0 {
		return best
	}
	alone, together := stats.Quantile(light, 0.25)/1e3, stats.Quantile(heavy, 0.75)/1e3
	for _, share := range []float64{0.03, 0.0625, 0.25} {
		other := candidate{best.base, slices.Clone(best.x), best.usual, math.Inf(1)}
		law := *best.base.Law
		law.ExpertShare, law.Corner, other.base.Law = share, 1.5, &law
		other.x[weights], other.x[allExperts] = math.Log(0.7*alone), math.Log(max(together-alone, alone/10))
		other.x[perSequence], other.x[perStep] = math.Log(alone/300), math.Log(alone/20)
		if other = refine(ctx, targets, other, 0.5, 250); other.loss < 0.9*best.loss {
			best = other
		}
	}
	return best
}

// behindFrontEnd tries an engine whose requests and tokens pass through a front
// end that has no time for both at once.
func behindFrontEnd(ctx context.Context, targets []target, best candidate) candidate {
	for _, async := range []bool{true, false} {
		other := candidate{best.base, slices.Clone(best.x), slices.Clone(best.usual), math.Inf(1)}
		other.base.AsyncScheduling = async
		other.base.FrontEnd = catalog.FrontEnd{EventUS: 1}
		for i, us := range usualFront {
			other.x[frontRequest+i], other.usual[frontRequest+i] = math.Log(us), expectation{math.Log(us), firm}
		}
		other.x[perRequest] = math.Log(max(math.Exp(best.x[perRequest])-usualFront[0], 500))
		if other = refine(ctx, targets, other, 0.3, 350); other.loss < 0.9*best.loss {
			best = other
		}
	}
	return best
}

// spreadOver picks so many of the targets, the first and the last among them.
func spreadOver(targets []target, n int) []target {
	if len(targets) <= n {
		return targets
	}
	out := make([]target, n)
	for i := range out {
		out[i] = targets[i*(len(targets)-1)/(n-1)]
	}
	return out
}

// enough is how many counted requests of a level a fit looks at.
const enough = 400

// trim is the beginning of a level that holds enough counted requests, and
// what came while they were answered.
func trim(l Level) Level {
	list := slices.Clone(l.Requests)
	counted, until := 0, int64(math.MaxInt64)
	for i := range list {
		o := &list[i]
		if o.At > until {
			list = list[:i]
			break
		}
		if !o.Counted {
			continue
		}
		if counted++; counted == enough {
			until = o.Last
		}
		o.Counted = counted <= enough
	}
	l.Requests = list
	return l
}

// refine seeks better constants from a candidate's own, of those that its engine has.
func refine(ctx context.Context, targets []target, from candidate, spread float64, calls int) candidate {
	places := constantsIn(from.base)
	at := func(values []float64) []float64 {
		x := slices.Clone(from.x)
		for k, i := range places {
			x[i] = values[k]
		}
		return x
	}
	start := make([]float64, len(places))
	for k, i := range places {
		start[k] = from.x[i]
	}
	values, loss := minimise(func(values []float64) float64 {
		if ctx.Err() != nil {
			return math.Inf(1)
		}
		x := at(values)
		return distances(targets, build(from.base, x)) + small(x) + unusual(x, from.usual)
	}, start, spread, calls)
	if loss >= from.loss {
		return from
	}
	return candidate{from.base, at(values), from.usual, loss}
}

// constantsIn are the places of the constants that an engine has.
func constantsIn(s sim.Spec) []int {
	places := []int{weights, perToken, perSequence, perContext, perPair, perStep, perRequest}
	for _, part := range []struct {
		has    bool
		places []int
	}{
		{s.Law.ExpertShare > 0, []int{allExperts}}, {!s.FrontEnd.Idle(), []int{frontRequest, frontToken, frontEvent}},
		{s.Law.EagerTokens > 0, []int{eager}}, {s.Law.HostBlocks > 0, []int{perHostBlock}},
		{s.GrammarCompileTime != nil, []int{perGrammar}}, {s.LoraLoadTime != nil, []int{perAdapter}},
	} {
		if part.has {
			places = append(places, part.places...)
		}
	}
	return places
}

// small pulls constants that nothing measured speaks for towards nothing, so
// weakly that it decides only then.
func small(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(min(v, 20))
	}
	return 1e-10 * sum
}

// usualFront is the work of a front end as vLLM has it, in microseconds: for a
// request, a token of its prompt, an event.
var usualFront = [...]float64{4000, 3.3, 80}

// expectation is the logarithm that a constant is expected to have, and how much it
// costs to be e times as large or as small.
type expectation struct{ at, weight float64 }

// What is expected of one model on one accelerator weighs as much as an error of some three
// percent everywhere where it is off by a factor of two; what any transformer has, as much
// where it is off by a factor of nine; what the processor time of an engine's front end
// shows, where it is off by a third, since a little more than it has makes a front end of
// which levels below the knee show nothing one that is overloaded behind it.
const (
	sure  = 1e-2
	firm  = 2e-3
	loose = 2e-4
)

// unusual pulls constants towards what they are expected to be.
func unusual(x []float64, usual []expectation) float64 {
	sum := 0.0
	for i, e := range usual {
		sum += e.weight * (x[i] - e.at) * (x[i] - e.at)
	}
	return sum
}

// schedulers are the other ways in which an engine may work: how much of
// computing hides behind reading, how many tokens a step takes, whether prompts
// go first, and how many requests run at once.
func schedulers(seen sight) []func(*sim.Spec) bool {
	corner := func(p float64) func(*sim.Spec) bool {
		return func(s *sim.Spec) bool {
			law := *s.Law
			law.Corner, s.Law = p, &law
			return true
		}
	}
	budget := func(tokens int) func(*sim.Spec) bool {
		return func(s *sim.Spec) bool {
			s.MaxNumBatchedTokens = max(tokens, s.MaxNumSeqs)
			return seen.maxPrompt > tokens || seen.inFlight > 1
		}
	}
	list := []func(*sim.Spec) bool{
		func(s *sim.Spec) bool {
			s.MaxNumSeqs = max(1, seen.streaming)
			return seen.full
		},
		func(s *sim.Spec) bool {
			s.PrefillFirst, s.EnableChunkedPrefill = true, new(bool)
			s.MaxNumBatchedTokens = max(s.MaxModelLen, s.MaxNumSeqs)
			return seen.inFlight > 1
		},
		func(s *sim.Spec) bool {
			s.AsyncScheduling = true
			return seen.inFlight > 1
		},
		corner(1), corner(8), budget(2048), budget(512), budget(1 << 20),
	}
	return list
}
