package search

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// trip is one request in virtual time, in nanoseconds; cut is when the drain
// was over for one that was still in flight, which has no end.
type trip struct {
	due, first, end, cut, full int64
	prompt, output             int
}

// engine is a server in virtual time. It plays arrivals until they stop, and
// gives their trips in the order of arrival.
type engine struct {
	name   string
	about  string // model and accelerators
	chosen bool   // constants were chosen on it
	// shape draws the lengths of a request, and lengths is what they come to; 0
	// where requests do not differ, so that no luck is in them.
	shape   func(*rand.Rand) shape
	lengths func() Lengths
	play    func(t testing.TB, seed uint64, arrivals iter.Seq2[int64, shape], on hooks) []*trip
}

// hooks are called as the replies come.
type hooks struct {
	first, ended func(*trip)
	token        func(at int64)
}

// shape is what one request asks for.
type shape struct{ prompt, output int }

// replies draws log-normal lengths with sigma 0.8: prompts around 500 tokens,
// as the chat workload has them, and replies around a median.
func replies(median float64, longest int) func(*rand.Rand) shape {
	within := func(v float64, lo, hi int) int { return min(max(int(v), lo), hi) }
	return func(r *rand.Rand) shape {
		return shape{
			prompt: within(stats.LogNormal(r, math.Log(500), 0.8), 50, 4000),
			output: within(stats.LogNormal(r, math.Log(median), 0.8), 10, longest),
		}
	}
}

// The lengths of the chat workload, and of one whose replies are four times as
// long.
var (
	chat  = replies(200, 2000)
	essay = replies(800, 4000)
)

// lengthsOf is what the requests of a workload come to.
func lengthsOf(draw func(*rand.Rand) shape) func() Lengths {
	return sync.OnceValue(func() Lengths {
		const many = 1_000_000
		r := stats.Rand(1, "mean", 0)
		var l Lengths
		for range many {
			s := draw(r)
			prompt, output := float64(s.prompt), float64(s.output)
			l.Prompt += prompt / many
			l.Output += output / many
			l.Residence += output * (prompt + output/2) / many
		}
		return l
	})
}

// queueService is the fixed service time of the plain queue.
const queueService = 20 * time.Millisecond

// plainQueue is one server with a fixed service time: with Poisson arrivals it
// is M/D/1, whose waiting time has a closed form.
func plainQueue(_ testing.TB, _ uint64, arrivals iter.Seq2[int64, shape], on hooks) []*trip {
	var trips []*trip
	free, told := int64(0), 0
	for at := range arrivals {
		for told < len(trips) && trips[told].end <= at {
			on.first(trips[told])
			on.ended(trips[told])
			told++
		}
		free = max(free, at) + int64(queueService)
		trips = append(trips, &trip{due: at, first: free, end: free, output: 1})
	}
	return trips
}

// batchingEngine is the simulated engine with prompts that share nothing.
func batchingEngine(spec sim.Spec) func(testing.TB, uint64, iter.Seq2[int64, shape], hooks) []*trip {
	off := false
	spec.EnablePrefixCaching = &off
	prompt := make([]int32, 4000)
	return func(t testing.TB, seed uint64, arrivals iter.Seq2[int64, shape], on hooks) []*trip {
		spec.Seed = seed
		core, err := sim.NewBatching(spec)
		if err != nil {
			t.Fatal(err)
		}
		var trips []*trip
		jobs := func(yield func(int64, *sim.Job) bool) {
			for at, s := range arrivals {
				trips = append(trips, &trip{due: at, prompt: s.prompt, output: s.output})
				if !yield(at, &sim.Job{ID: uint64(len(trips) - 1), Prompt: prompt[:s.prompt], Output: s.output}) {
					return
				}
			}
		}
		sim.RunOpen(core, jobs, sim.Watch{Token: func(k sim.Token) {
			if on.token != nil {
				on.token(k.At)
			}
			if k.Index == 0 {
				trips[k.Job.ID].first = k.At
				on.first(trips[k.Job.ID])
			}
			if k.Last {
				trips[k.Job.ID].end = k.At
				on.ended(trips[k.Job.ID])
			}
		}})
		return trips
	}
}

var engines = []engine{
	{name: "M/D/1", shape: chat, lengths: func() Lengths { return Lengths{} }, play: plainQueue},
	simulated("8B", chat, sim.Spec{Model: "llama-3.1-8b", GPU: "H100"}),
	simulated("70B", chat, sim.Spec{Model: "llama-3.1-70b", GPU: "H100", TP: 4}),
	simulated("32B", chat, sim.Spec{Model: "qwen3-32b", GPU: "H200"}),
	simulated("405B", chat, sim.Spec{Model: "llama-3.1-405b", GPU: "H200", TP: 8}),
	simulated("70B long", essay, sim.Spec{Model: "llama-3.1-70b", GPU: "H100", TP: 4}),
	simulated("32B long", essay, sim.Spec{Model: "qwen3-32b", GPU: "H200"}),
	chosen(simulated("14B", chat, sim.Spec{Model: "qwen3-14b", GPU: "L40S"})),
	chosen(simulated("72B", chat, sim.Spec{Model: "qwen2.5-72b", GPU: "A100-80G-SXM", TP: 4})),
	chosen(simulated("14B long", essay, sim.Spec{Model: "qwen3-14b", GPU: "A100-80G-SXM"})),
	chosen(simulated("8B long", replies(1500, 8000), sim.Spec{Model: "llama-3.1-8b", GPU: "H100"})),
}

// chosen marks an engine that constants were chosen on.
func chosen(e engine) engine {
	e.chosen = true
	return e
}

func simulated(name string, draw func(*rand.Rand) shape, spec sim.Spec) engine {
	about := fmt.Sprintf("%s on %d %s", spec.Model, max(spec.TP, 1), spec.GPU)
	return engine{name: name, about: about, shape: draw, lengths: lengthsOf(draw), play: batchingEngine(spec)}
}

const (
	longestWarmup = 60 * time.Second
	drain         = 60 * time.Second
)

// stage is one level as it was played.
type stage struct {
	trips       []*trip
	start, stop int64 // of the window
	over        int64 // when the drain ended
}

// run plays a load as every single run is made: a warm-up of 50 requests and
// twice the mean request seen so far, at most a minute; the window; and a
// cool-down in which load goes on until all that was due in the window has
// ended, at most the drain. One seed gives the same requests at every rate
// with their gaps scaled.
func (e engine) run(t testing.TB, seed uint64, rate float64, window time.Duration) stage {
	ended, took := 0, 0.0
	running, since := 0, 0.0
	warm := func(i int, at float64) bool {
		return at >= float64(longestWarmup) || i >= 50 && ended > 0 && at >= 2*(took+float64(running)*at-since)/float64(ended)
	}
	on := hooks{first: func(one *trip) {}, ended: func(one *trip) {
		ended++
		running--
		since -= float64(one.due)
		took += float64(one.end - one.due)
	}}
	return e.stage(t, seed, steady(rate), window, drain, warm, on, func(due int64) bool {
		running++
		since += float64(due)
		return true
	})
}

// level plays a level of a search as the program runs it.
func (e engine) level(t testing.TB, seed uint64, l Level) stage {
	warm := func(_ int, at float64) bool { return at >= float64(l.Warmup) }
	nothing := func(*trip) {}
	return e.stage(t, seed, steady(l.Rate), l.Duration, l.Drain, warm, hooks{first: nothing, ended: nothing}, func(int64) bool { return true })
}

// watchEvery is how often the program looks at a ramp.
const watchEvery = 250 * time.Millisecond

// ramp plays a ramp until it has risen far enough, and says how far that was.
func (e engine) ramp(t testing.TB, seed uint64, l Level, climber *Climber) (Level, Observation) {
	var m Moment
	stopped := time.Duration(0)
	look := func(now int64) {
		for stopped == 0 && m.Elapsed+watchEvery <= min(time.Duration(now), l.Duration) {
			m.Elapsed += watchEvery
			if climber.Enough(m) {
				stopped = m.Elapsed
			}
		}
	}
	on := hooks{
		first: func(one *trip) { look(one.first); m.Answered++ },
		ended: func(one *trip) { look(one.end); m.Ended++ },
		token: func(at int64) { look(at); m.Events++ },
	}
	double := l.Duration.Seconds() / math.Log2(l.Rate/l.From)
	rising := func(sum float64) float64 { return double * math.Log2(1+sum*math.Ln2/(l.From*double)) * 1e9 }
	before := int64(-1) // when the last request was due: the engine has come so far
	g := e.stage(t, seed, rising, l.Duration, 0, func(int, float64) bool { return true }, on, func(due int64) bool {
		if before >= 0 {
			look(before)
			m.Due++
		}
		before = due
		return stopped == 0
	})
	o := Observation{Queued: stopped > 0}
	if stopped > 0 {
		l = l.Until(stopped)
	}
	o.Slowing = climber.slowing()
	o.InFlight, o.Resident = g.load(int64(l.Duration-l.Stretch()), int64(l.Duration))
	o.E2E, o.Pace = e.alone(t)
	return l, o
}

// load is how many requests were in flight and how many tokens were in memory,
// in the mean over a stretch.
func (g stage) load(from, to int64) (inFlight, resident float64) {
	var load Load
	load.From, load.To = from, to
	for _, one := range g.trips {
		end := max(one.end, one.full)
		load.Add(one.due, one.first, end, one.prompt, one.output)
	}
	return load.Mean()
}

// alone is what the program expects of a lone request before any load, from its
// preflight: time to a first token, and the pace of the others.
func (e engine) alone(t testing.TB) (e2e, pace time.Duration) {
	const tokens = 16
	one := e.play(t, 1, func(yield func(int64, shape) bool) { yield(0, shape{tokens, tokens}) }, hooks{first: func(*trip) {}, ended: func(*trip) {}})[0]
	pace = time.Duration(one.end-one.first) / (tokens - 1)
	return time.Duration(float64(one.first) + float64(pace)*e.lengths().Output), pace
}

// steady is when an arrival is due at a rate, by the sum of gaps of mean 1
// before it.
func steady(rate float64) func(sum float64) float64 {
	return func(sum float64) float64 { return sum / rate * 1e9 }
}

// stage plays arrivals until the window's requests have ended or the drain is
// over, or until due says so.
func (e engine) stage(t testing.TB, seed uint64, when func(sum float64) float64, window, drain time.Duration,
	warm func(i int, at float64) bool, on hooks, due func(int64) bool) stage {
	const never = int64(math.MaxInt64)
	g := stage{start: never, stop: never}
	open := 0
	arrivals := func(yield func(int64, shape) bool) {
		gaps, shapes := stats.Rand(seed, "gaps", 0), stats.Rand(seed, "shapes", 0)
		sum := 0.0
		for i := 0; ; i++ {
			sum += stats.Exponential(gaps)
			at := int64(when(sum))
			if g.start == never && warm(i, float64(at)) {
				g.start, g.stop = at, at+int64(window)
			}
			if at >= g.stop && (open == 0 || at >= g.stop+int64(drain)) {
				g.over = min(at, g.stop+int64(drain))
				return
			}
			if at >= g.start && at < g.stop {
				open++
			}
			if !due(at) || !yield(at, e.shape(shapes)) {
				return
			}
		}
	}
	inner := on.ended
	on.ended = func(one *trip) {
		inner(one)
		if one.due >= g.start && one.due < g.stop {
			open--
		}
	}
	g.trips = e.play(t, seed, arrivals, on)
	for _, one := range g.trips {
		if one.end > g.over || one.end == 0 {
			one.cut, one.full, one.end = g.over, one.end, 0
		}
		if one.first > g.over {
			one.first = 0
		}
	}
	return g
}

// record is the trip as the load engine would have written it down.
func (one *trip) record() *record.Record {
	r := &record.Record{Due: one.due, Begin: one.due, Slot: one.due, Try: 1, Streamed: true, AskedOutput: one.output}
	r.Observe(llm.Event{Kind: llm.Sent, At: one.due})
	if one.first > 0 {
		r.Observe(llm.Event{Kind: llm.Output, At: one.first, Text: []byte("word")})
		r.Observe(llm.Event{Kind: llm.UsageSeen, At: one.first, Usage: llm.Usage{OutputTokens: 1}})
	}
	if one.cut > 0 {
		r.End = one.cut
		r.Outcome = llm.Censored
		r.Settle()
		return r
	}
	if one.end > one.first {
		r.Observe(llm.Event{Kind: llm.Output, At: one.end, Text: []byte("word")})
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: one.output}})
	r.Observe(llm.Event{Kind: llm.End, At: one.end})
	r.Settle()
	return r
}

// point is the stage as it is measured everywhere else.
func (g stage) point(t testing.TB, rate float64, objectives []slo.Objective) result.Point {
	t.Helper()
	records := func(yield func(*record.Record, error) bool) {
		for _, one := range g.trips {
			if !yield(one.record(), nil) {
				return
			}
		}
	}
	s, err := metric.Summarize(func() iter.Seq2[*record.Record, error] { return records },
		metric.Options{Start: g.start, End: g.stop, AskedRate: rate, Objectives: objectives})
	if err != nil {
		t.Fatal(err)
	}
	return result.Point{Load: result.Load{Mode: "open", Rate: &rate}, Summary: s}
}

// violations counts the requests of the window and those that break the
// objective, which is all that the truth needs. What the drain cut off counts
// with what it had shown.
func (g stage) violations(o slo.Objective) (n, broken int) {
	for _, one := range g.trips {
		if one.due < g.start || one.due >= g.stop {
			continue
		}
		own := map[string]float64{"ttft": -1, "e2e": float64(max(one.end, one.cut) - one.due), "tpot": -1}
		if one.first > 0 {
			own["ttft"] = float64(one.first - one.due)
		}
		if one.cut > 0 && one.first == 0 {
			own["ttft"] = float64(one.cut - one.due)
		}
		if one.end > 0 && one.output > 1 {
			own["tpot"] = float64(one.end-one.first) / float64(one.output-1)
		}
		kept, judged := o.Judge(true, own[o.Metric])
		if judged || one.cut > 0 {
			n++
		}
		if judged && !kept {
			broken++
		}
	}
	return n, broken
}
