package metric

import (
	"iter"
	"math"
	"math/rand/v2"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// answer is one request in virtual time, in ns: when it was due and when its
// tokens came. One that failed has none. Of long runs only the first and the
// last token are kept, and how many there were.
type answer struct {
	due    int64
	tokens []int64
	count  int
}

// virtualRun is a run as the load engine would have made it: warm-up, window
// and cool-down.
type virtualRun struct {
	start, end int64
	answers    []answer
}

// server answers arrivals in virtual time. It reports each answer that ended,
// and gives them all.
type server func(seed uint64, arrivals iter.Seq[int64], ended func(due, end int64)) []answer

const trialDrain = 60 * int64(second)

// play makes a run with Poisson arrivals: a warm-up of 50 requests and twice
// the mean request seen so far, at most a minute; the window; a cool-down until
// all that was due in it has ended, or the drain is over.
func (s server) play(seed uint64, rate float64, window int64) virtualRun {
	const origin, never = int64(second), int64(math.MaxInt64)
	g := virtualRun{start: never, end: never}
	open, done, took, running, since := 0, 0, 0.0, 0, 0.0
	arrivals := func(yield func(int64) bool) {
		gaps := stats.Rand(seed, "gaps", 0)
		at := float64(origin)
		for i := 0; ; i++ {
			at += stats.Exponential(gaps) / rate * second
			due := int64(at)
			warm := i >= 50 && done > 0 && at-float64(origin) >= 2*(took+float64(running)*at-since)/float64(done)
			if g.start == never && (warm || due >= origin+60*second) {
				g.start = (due + second - 1) / second * second
				g.end = g.start + window
			}
			if due >= g.end && (open == 0 || due >= g.end+trialDrain) {
				return
			}
			if due >= g.start && due < g.end {
				open++
			}
			running++
			since += float64(due)
			if !yield(due) {
				return
			}
		}
	}
	g.answers = s(seed, arrivals, func(due, end int64) {
		done++
		running--
		since -= float64(due)
		took += float64(end - due)
		if due >= g.start && due < g.end {
			open--
		}
	})
	return g
}

// trimmed is the run without the tokens between first and last.
func (g virtualRun) trimmed() virtualRun {
	for i, a := range g.answers {
		if n := len(a.tokens); n > 2 {
			g.answers[i] = answer{a.due, []int64{a.tokens[0], a.tokens[n-1]}, n}
		}
	}
	return g
}

// upTo is the run as if its window had ended earlier.
func (g virtualRun) upTo(window int64) virtualRun {
	g.end = g.start + window
	return g
}

// due is how many requests were due in the window.
func (g virtualRun) due() int {
	n := 0
	for _, a := range g.answers {
		if a.due >= g.start && a.due < g.end {
			n++
		}
	}
	return n
}

// records are the run's as the load engine would have written them.
func (g virtualRun) records() []*record.Record {
	list := make([]*record.Record, 0, len(g.answers))
	over := g.end + trialDrain
	for _, a := range g.answers {
		if a.due >= over {
			break
		}
		list = append(list, a.record(over))
	}
	return list
}

func (a answer) record(over int64) *record.Record {
	r := &record.Record{Due: a.due, Begin: a.due, Slot: a.due, Try: 1, Streamed: true}
	r.Observe(llm.Event{Kind: llm.Sent, At: a.due})
	tokens := 0
	for _, at := range a.tokens {
		if at > over {
			break
		}
		r.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte("word")})
		tokens++
		if a.count > 0 && tokens == 1 {
			// Of the events that are left out each brought one token, as the
			// first did.
			r.Observe(llm.Event{Kind: llm.UsageSeen, At: at, Usage: llm.Usage{OutputTokens: tokens}})
		}
	}
	switch {
	case len(a.tokens) == 0:
		r.End, r.Outcome = a.due+1e6, llm.HTTP
	case tokens < len(a.tokens):
		r.End, r.Outcome = over, llm.Censored
	default:
		r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: max(tokens, a.count)}})
		r.Observe(llm.Event{Kind: llm.End, At: a.tokens[tokens-1]})
	}
	r.Settle()
	return r
}

// inTurn is one server with a queue and service times that are drawn.
func inTurn(draw func(*rand.Rand) float64) server {
	return func(seed uint64, arrivals iter.Seq[int64], ended func(due, end int64)) (list []answer) {
		r := stats.Rand(seed, "service", 0)
		free, reported := int64(0), 0
		for at := range arrivals {
			for reported < len(list) && list[reported].tokens[0] <= at {
				ended(list[reported].due, list[reported].tokens[0])
				reported++
			}
			free = max(free, at) + int64(draw(r)*second)
			list = append(list, answer{due: at, tokens: []int64{free}})
		}
		return list
	}
}

// independently is a server whose response times do not depend on one another;
// a negative one fails.
func independently(draw func(*rand.Rand) float64) server {
	return func(seed uint64, arrivals iter.Seq[int64], ended func(due, end int64)) (list []answer) {
		r := stats.Rand(seed, "service", 0)
		for at := range arrivals {
			a := answer{due: at}
			if took := draw(r); took >= 0 {
				a.tokens = []int64{at + int64(took*second)}
			}
			list = append(list, a)
			ended(at, at+1e6)
		}
		return list
	}
}

// stalling answers within 50 ms with 20 tokens 10 ms apart, and stands still
// for half a second every 20 s.
func stalling(seed uint64, arrivals iter.Seq[int64], ended func(due, end int64)) (list []answer) {
	const every, stall = 20 * second, second / 2
	r := stats.Rand(seed, "stall", 0)
	first := int64(r.Float64()*every) - every
	// after is when work that begins at a time and takes so long is done.
	after := func(at, took int64) int64 {
		for {
			began := first + (at-first)/every*every
			at = max(at, began+stall)
			if next := began + every; at+took > next {
				took -= next - at
				at = next
				continue
			}
			return at + took
		}
	}
	for at := range arrivals {
		now := after(at, int64(stats.LogNormal(r, math.Log(0.05), 0.3)*second))
		a := answer{due: at, tokens: []int64{now}}
		for range 20 {
			now = after(now, int64(stats.LogNormal(r, math.Log(0.01), 0.1)*second))
			a.tokens = append(a.tokens, now)
		}
		list = append(list, a)
		ended(at, now)
	}
	return list
}

// embedded is the simulated engine on the chat workload, whose prompts share
// nothing.
func embedded(spec sim.Spec) server {
	spec.EnablePrefixCaching = ptr(false)
	prompt := make([]int32, 4000)
	return func(seed uint64, arrivals iter.Seq[int64], ended func(due, end int64)) []answer {
		spec := spec // trials run side by side
		spec.Seed = seed
		core, err := sim.NewBatching(spec)
		if err != nil {
			panic(err) // the table of cases is wrong
		}
		r := stats.Rand(seed, "shapes", 0)
		draw := func(median float64, lo, hi int) int {
			return min(max(int(stats.LogNormal(r, math.Log(median), 0.8)), lo), hi)
		}
		var list []answer
		jobs := func(yield func(int64, *sim.Job) bool) {
			for at := range arrivals {
				list = append(list, answer{due: at})
				if !yield(at, &sim.Job{ID: uint64(len(list) - 1), Prompt: prompt[:draw(500, 50, 4000)], Output: draw(200, 10, 2000)}) {
					return
				}
			}
		}
		sim.RunOpen(core, jobs, sim.Watch{Token: func(k sim.Token) {
			a := &list[k.Job.ID]
			a.tokens = append(a.tokens, k.At)
			if k.Last {
				ended(a.due, k.At)
			}
		}})
		return list
	}
}
