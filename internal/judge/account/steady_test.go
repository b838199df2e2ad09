package account

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// engine is a simulated server and the replies that are asked of it, driven in
// virtual time.
type engine struct {
	name   string
	spec   sim.Spec
	output float64 // median tokens
}

// engines differ in how long a reply takes against a window of a minute: about
// 0.6 s, 2.5 s and 3.2 s.
var engines = []engine{
	{"8B, 8 at a time", sim.Spec{MaxNumSeqs: 8}, 60},
	{"70B, 16 at a time", sim.Spec{Model: "llama-3.1-70b", TP: 4, MaxNumSeqs: 16}, 100},
	{"8B, 32 at a time, long replies", sim.Spec{MaxNumSeqs: 32}, 300},
}

var somePrompt = make([]int32, 256)

func (e engine) job(r *rand.Rand, id uint64) *sim.Job {
	const sigma, limit = 0.8, 2000
	output := e.output * math.Exp(sigma*r.NormFloat64())
	return &sim.Job{ID: id, Prompt: somePrompt, Output: int(min(max(output, 1), limit))}
}

func (e engine) core(seed uint64) sim.Core {
	spec := e.spec
	spec.Seed, spec.EnablePrefixCaching = seed, ptr(false)
	core, err := sim.NewBatching(spec)
	if err != nil {
		panic(err) // the table of engines is wrong
	}
	return core
}

// capacity is the requests per second that the engine ends while it always has
// enough of them.
func (e engine) capacity() float64 {
	inFlight := 2 * e.spec.MaxNumSeqs
	n := 60 * inFlight
	r := stats.Rand(1, "capacity", 0)
	var last *sim.Job
	sim.RunClosed(e.core(1), 0, inFlight, func(yield func(*sim.Job) bool) {
		for i := range n {
			if last = e.job(r, uint64(i)); !yield(last) {
				return
			}
		}
	}, sim.Watch{})
	// As the last one came, all before it but those in flight had ended.
	return float64(n-inFlight) * second / float64(last.Arrived)
}

// drive gives the records of a Poisson load.
func (e engine) drive(seed uint64, rate float64, until int64) []*record.Record {
	r := stats.Rand(seed, "load", 0)
	var jobs []*sim.Job
	sim.RunOpen(e.core(seed), func(yield func(int64, *sim.Job) bool) {
		for at := 1.0; at < float64(until); at += stats.Exponential(r) * second / rate {
			j := e.job(r, uint64(len(jobs)+1))
			jobs = append(jobs, j)
			if !yield(int64(at), j) {
				return
			}
		}
	}, sim.Watch{})
	list := make([]*record.Record, len(jobs))
	for i, j := range jobs {
		one := &record.Record{Due: j.Arrived, Streamed: true, Try: 1}
		for _, ev := range []llm.Event{{Kind: llm.Sent, At: j.Arrived}, {Kind: llm.Output, At: j.First},
			{Kind: llm.Output, At: j.Last}, {Kind: llm.End, At: j.Last}} {
			one.Observe(ev)
		}
		one.Settle()
		list[i] = one
	}
	return list
}

// judged is how often a window was called what.
type judged struct{ overload, unknown, unsteady int }

func (j *judged) add(w metric.Window) {
	if w.Overload == nil {
		j.unknown++
	}
	if w.Overloaded() {
		j.overload++
	}
	if w.Unsteady() {
		j.unsteady++
	}
}

// judge drives an engine once for each seed and judges 20 s, a minute and two
// minutes of it, after a warm-up of 20 s.
func (e engine) judge(rate float64, seeds int) map[int64]*judged {
	const warm = 20 * second
	by := map[int64]*judged{20: {}, 60: {}, 120: {}}
	var mu sync.Mutex
	each(seeds, func(seed uint64) {
		records := e.drive(seed, rate, warm+125*second)
		for length, j := range by {
			c := newCollector(Options{Start: warm, End: warm + length*second, AskedRate: rate})
			for _, r := range records {
				c.add(r)
			}
			var w metric.Window
			judgeSettling(&w, &c.inFlight, c.flow.endings, c.meanService(), seed)
			judgeGrowth(&w, &c.inSystem, c.requests.n, c.meanService(), seed)
			mu.Lock()
			j.add(w)
			mu.Unlock()
		}
	})
	return by
}

// each calls f for every seed below n, on every core.
func each(n int, f func(seed uint64)) {
	var all sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for from := range workers {
		all.Go(func() {
			for seed := from; seed < n; seed += workers {
				f(uint64(seed))
			}
		})
	}
	all.Wait()
}

// TestTheWindowTellsOverloadFromChance holds the rules of the window to what
// they promise on engines whose capacity is known: a load of 20 or 80 % is called
// an overload in at most 5 % of all runs and, over a minute or more, unsteady in
// at most 7 %; there 120 % is called an overload in at least 95 %.
func TestTheWindowTellsOverloadFromChance(t *testing.T) {
	t.Parallel()
	seeds, scatter := effort.Of(20, 200), effort.Of(2, 0)
	most := func(share float64) int { return int(share*float64(seeds)) + scatter }
	for _, e := range engines {
		capacity := e.capacity()
		for _, load := range []float64{0.2, 0.8, 1.2} {
			for length, got := range e.judge(load*capacity, seeds) {
				t.Logf("%s at %.0f %% of %.1f/s, %d s: of %d runs %+v", e.name, 100*load, capacity, length, seeds, *got)
				missed := seeds - got.overload
				switch {
				case load > 1 && length >= 60 && missed > most(0.05):
					t.Errorf("%s at %.0f %%, %d s: overload missed in %d of %d runs", e.name, 100*load, length, missed, seeds)
				case load < 1 && got.overload > most(0.05):
					t.Errorf("%s at %.0f %%, %d s: %d of %d runs called an overload", e.name, 100*load, length, got.overload, seeds)
				case load < 1 && length >= 60 && got.unsteady > most(0.07):
					t.Errorf("%s at %.0f %%, %d s: %d of %d runs called unsteady", e.name, 100*load, length, got.unsteady, seeds)
				}
			}
		}
	}
}
