package twin

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// The constants of what requests carry beside their text, which follow the others
// where the records name any of it.
const (
	perGrammar = constants + iota
	perAdapter
)

// usualLoad is where the times of grammars and adapters begin, in microseconds.
const usualLoad = 1e4

// carriage is what requests carry beside their text, as far as the records name it.
type carriage struct {
	adapters   int // different ones
	slots      int // different ones that streamed at once, at most
	grammars   int // requests that were the first of theirs, in the window
	priorities int // different ones
}

// lookAtCarriage counts what the requests of all levels carry.
func lookAtCarriage(levels []Level) carriage {
	var c carriage
	adapters, priorities := map[string]bool{}, map[int]bool{}
	for i := range levels {
		streams := map[string][]int64{}
		known := map[string]bool{}
		for _, o := range levels[i].Requests {
			priorities[o.Priority] = true
			if o.Grammar != "" && !known[o.Grammar] {
				known[o.Grammar] = true
				if o.Counted {
					c.grammars++
				}
			}
			if o.Adapter != "" {
				adapters[o.Adapter] = true
				streams[o.Adapter] = append(streams[o.Adapter], o.First<<1|1, o.Last<<1)
			}
		}
		var all []int64
		for _, events := range streams {
			all = append(all, spans(events)...)
		}
		c.slots = max(c.slots, maxConcurrent(all))
	}
	c.adapters, c.priorities = len(adapters), len(priorities)
	return c
}

// spans makes one start and one end of starts and ends that overlap.
func spans(events []int64) (out []int64) {
	slices.Sort(events)
	inside := 0
	for _, e := range events {
		before := inside
		if e&1 == 1 {
			inside++
		} else {
			inside--
		}
		if before == 0 || inside == 0 {
			out = append(out, e)
		}
	}
	return out
}

// ask gives an engine the parts that serve what requests carry, and their constants
// places among the others.
func (c carriage) ask(base *sim.Spec, slots int) (more []float64) {
	if c.adapters > 0 {
		base.MaxLoras, base.LoraLoadTime = cmp.Or(slots, c.adapters), new(time.Duration)
	}
	if c.grammars > 0 {
		base.GrammarCompileTime = new(time.Duration)
	}
	if c.adapters+c.grammars > 0 {
		more = []float64{math.Log(usualLoad), math.Log(usualLoad)}
	}
	return more
}

// buildCarried puts the constants of what requests carry into an engine that serves it.
func buildCarried(base *sim.Spec, us func(int) float64) {
	for _, part := range []struct {
		place int
		into  **time.Duration
	}{{perGrammar, &base.GrammarCompileTime}, {perAdapter, &base.LoraLoadTime}} {
		if *part.into != nil {
			*part.into = new(min(time.Duration(us(part.place)*1e3), time.Minute))
		}
	}
}

// policies are the ways in which an engine may treat what requests carry.
func (c carriage) policies(slots int) []func(*sim.Spec) bool {
	return []func(*sim.Spec) bool{
		func(s *sim.Spec) bool {
			s.SchedulingPolicy = sim.Priority
			return c.priorities > 1
		},
		func(s *sim.Spec) bool {
			s.MaxLoras = max(1, c.slots)
			return slots == 0 && c.slots < c.adapters
		},
	}
}

// speculate tries an engine that guesses ahead, with the shares of drafts whose first,
// second, third … guess was right.
func speculate(ctx context.Context, targets []target, best candidate, byPlace []float64) candidate {
	if len(byPlace) == 0 {
		return best
	}
	other := candidate{best.base, slices.Clone(best.x), best.usual, math.Inf(1)}
	length, share := 1.0, 1.0
	guesses := sim.Speculation{Tokens: len(byPlace)}
	for _, right := range byPlace {
		share = min(share, right)
		length += share
		guesses.Curve = append(guesses.Curve, length)
	}
	other.base.Speculation = guesses
	// A step brings several tokens, and so takes as much longer than was thought.
	for _, i := range []int{weights, perSequence, perContext, perStep, allExperts} {
		other.x[i] += math.Log(length)
	}
	if other = refine(ctx, targets, other, 0.3, 250); other.loss < better*best.loss {
		return other
	}
	return best
}

// group is which requests are compared with each other where they are treated
// differently: those of one priority, and those that wait for a grammar.
type group struct {
	priority int
	cold     bool
}

// groupsOf gives the group of each request of a recording, by its place in the list of
// groups, and how many groups there are.
func groupsOf(rec *replay.Recording) (of []int, n int) {
	of = make([]int, len(rec.Requests))
	places, known := map[group]int{}, map[string]bool{"": true}
	for i := range rec.Requests {
		o := &rec.Requests[i]
		g := group{o.Priority, !known[o.Grammar]}
		known[o.Grammar] = true
		place, seen := places[g]
		if !seen {
			place = len(places)
			places[g] = place
		}
		of[i] = place
	}
	return of, len(places)
}

// forgetKnownGrammars takes the grammars off requests that a run before them had on
// the same server, which has them compiled.
func (ev *Evidence) forgetKnownGrammars(rec *replay.Recording) {
	if ev.Embedded {
		return
	}
	var fresh []string
	for i := range rec.Requests {
		o := &rec.Requests[i]
		if ev.grammars[o.Grammar] {
			o.Grammar = ""
		} else if o.Grammar != "" {
			fresh = append(fresh, o.Grammar)
		}
	}
	if ev.grammars == nil {
		ev.grammars = map[string]bool{}
	}
	for _, g := range fresh {
		ev.grammars[g] = true
	}
}
