package account

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/stats"
	"redline/internal/twin/process"
	"redline/internal/twin/sim"
)

// answer is one request in virtual time, in ns: when it was due and when its
// tokens came. One that failed has none. Where only the first and the last token
// are kept, count is how many there were.
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

// simServer is the simulated engine on the chat workload, whose prompts share
// nothing.
func simServer(spec sim.Spec) server {
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

// engineProcesses are the simulated engine under chat at several loads, by each of
// the figures it is judged by. Its capacity is what it ends per second with enough
// to do.
func engineProcesses() []process.Process {
	const capacity = 25.3
	spec := sim.Spec{Model: "llama-3.1-8b", GPU: "H100"}
	var list []process.Process
	for _, load := range []float64{0.3, 0.6, 0.9} {
		e := &playedEngine{serve: simServer(spec), rate: load * capacity, known: map[uint64][][3]process.Request{}}
		for i, figure := range []struct {
			metric string
			p      float64
		}{{"ttft", 0.99}, {"tpot", 0.95}, {"e2e", 0.9}} {
			name := fmt.Sprintf("8B engine, %.0f%%, chats", 100*load)
			list = append(list, process.Another(name, figure.metric, figure.p, math.Round(10*e.rate)/10, func(seed uint64, length float64) []process.Request {
				return e.play(i, seed, length)
			}))
		}
	}
	return list
}

// playedEngine plays a run once for all its figures.
type playedEngine struct {
	serve server
	rate  float64

	mu    sync.Mutex
	known map[uint64][][3]process.Request
}

func (e *playedEngine) play(figure int, seed uint64, length float64) []process.Request {
	e.mu.Lock()
	run, ok := e.known[seed]
	e.mu.Unlock()
	if !ok {
		run = e.requests(seed, length)
		e.mu.Lock()
		e.known[seed] = run
		e.mu.Unlock()
	}
	var list []process.Request
	for _, q := range run {
		if !math.IsNaN(q[figure].Took) {
			list = append(list, q[figure])
		}
	}
	return list
}

// requests are those of a run with their time to the first token, per token, and in
// all.
func (e *playedEngine) requests(seed uint64, length float64) (list [][3]process.Request) {
	// The truth is that of long runs: windows must not begin while the server fills.
	const settle = 300 * second
	g := e.serve.play(seed, e.rate, settle+int64(length*second))
	g.start += settle
	for i, a := range g.answers {
		last := len(a.tokens) - 1
		if a.due < g.start || a.due >= g.end || last < 0 {
			continue
		}
		took := [3]float64{float64(a.tokens[0] - a.due), math.NaN(), float64(a.tokens[last] - a.due)}
		if last > 0 {
			took[1] = float64(a.tokens[last]-a.tokens[0]) / float64(last)
		}
		var all [3]process.Request
		for k, ns := range took {
			all[k] = process.Request{Due: float64(a.due-g.start) / second, Took: ns / second, Session: i}
		}
		list = append(list, all)
	}
	return list
}

// TestGapsAreJudgedAsRequests: a p99 of the gaps between tokens is decided where its
// limit is far, and seldom wrongly where it is near.
func TestGapsAreJudgedAsRequests(t *testing.T) {
	t.Parallel()
	seeds := effort.Of(12, 30)
	serve := simServer(sim.Spec{Model: "llama-3.1-8b", GPU: "H100"})
	runs := make([]virtualRun, seeds)
	each(seeds, func(i uint64) { runs[i] = serve.play(firstJudged+i, 7.6, 60*second) })
	var gaps []float64
	for _, g := range runs {
		for _, a := range g.answers {
			for k := 1; k < len(a.tokens); k++ {
				if at := a.tokens[k]; at >= g.start && at < g.end {
					gaps = append(gaps, float64(at-a.tokens[k-1]))
				}
			}
		}
	}
	slices.Sort(gaps)
	truth := stats.Quantile(gaps, 0.99)
	wrong, decided := 0, 0
	for _, g := range runs {
		o := Options{Start: g.start, End: g.end, AskedRate: 7.6}
		for _, ratio := range []float64{0.33, 0.9, 1.1, 3} {
			o.Objectives = append(o.Objectives, slo.Objective{Metric: "itl", Stat: "p99", P: 0.99, Limit: truth / ratio, Text: fmt.Sprint("itl ", ratio)})
		}
		list, _ := must.Get2(Verdicts(record.FromList(g.records()), o))(t)
		for i, want := range []slo.Standing{slo.Met, slo.Met, slo.Missed, slo.Missed} {
			switch far := i == 0 || i == 3; {
			case list[i].Standing == want && far:
				decided++
			case list[i].Standing != want && list[i].Standing != slo.Undecided:
				wrong++
			}
		}
	}
	if decided < 2*seeds*9/10 || wrong > seeds/6 {
		t.Errorf("%d of %d far limits decided, %d of %d verdicts wrong", decided, 2*seeds, wrong, 4*seeds)
	}
}
