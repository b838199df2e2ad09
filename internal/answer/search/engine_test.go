package search

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// trip is one request in virtual time, in nanoseconds; cut is when the drain
// was over for one that was still in flight, which has no end.
type trip struct {
	id                         int
	due, first, end, cut, full int64
	prompt, output             int
	session, turn, turns       int // of a job of an agent
}

// engine is a server in virtual time. It plays arrivals until they stop, and
// gives their trips in the order of arrival.
type engine struct {
	name   string
	chosen bool // constants were chosen on it
	// shape draws the lengths of a request, and lengths is what they come to; 0
	// where requests do not differ, so that no luck is in them.
	shape   func(*rand.Rand) shape
	lengths func() Lengths
	// turns and settle are those of sessions of several requests.
	turns  float64
	settle time.Duration
	play   func(t testing.TB, seed uint64, arrivals iter.Seq2[int64, shape], on hooks) []*trip
	// lanes plays agents in place of arrivals: its limit is a number of them.
	lanes func(t testing.TB, seed uint64, live int, warmup, window, drain time.Duration) stage
}

// hooks are called as the replies come.
type hooks struct {
	first, ended func(*trip)
	token        func(at int64)
	later        func(due int64) // a later turn of a session
}

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

// papers draws a chat, or once in four times a question on a text of about 5,000
// tokens.
func papers(r *rand.Rand) shape {
	s := chat(r)
	if r.IntN(4) == 0 {
		s.prompt = min(max(int(stats.LogNormal(r, math.Log(5000), 0.4)), 1000), maxTalk)
	}
	return s
}

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
	prompt := make([]int32, maxTalk)
	return func(t testing.TB, seed uint64, arrivals iter.Seq2[int64, shape], on hooks) []*trip {
		spec.Seed = seed
		core := must.Get(sim.NewBatching(spec))(t)
		var trips []*trip
		jobs := func(yield func(int64, *sim.Job) bool) {
			for at, s := range arrivals {
				trips = append(trips, &trip{id: len(trips), due: at, prompt: s.prompt, output: s.output})
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
	simEngine("8B", chat, sim.Spec{Model: "llama-3.1-8b", GPU: "H100"}),
	simEngine("70B", chat, sim.Spec{Model: "llama-3.1-70b", GPU: "H100", TP: 4}),
	simEngine("32B", chat, sim.Spec{Model: "qwen3-32b", GPU: "H200"}),
	simEngine("405B", chat, sim.Spec{Model: "llama-3.1-405b", GPU: "H200", TP: 8}),
	simEngine("70B long", essay, sim.Spec{Model: "llama-3.1-70b", GPU: "H100", TP: 4}),
	simEngine("32B long", essay, sim.Spec{Model: "qwen3-32b", GPU: "H200"}),
	chatEngine("32B talks", sim.Spec{Model: "qwen3-32b", GPU: "H200"}),
	markChosen(chatEngine("8B talks", sim.Spec{Model: "llama-3.1-8b", GPU: "H100"})),
	simEngine("8B few", chat, sim.Spec{Model: "llama-3.1-8b", GPU: "H100", MaxNumSeqs: 32}),
	simEngine("32B papers", papers, sim.Spec{Model: "qwen3-32b", GPU: "H200"}),
	stallingEngine(simEngine("32B stalls", chat, sim.Spec{Model: "qwen3-32b", GPU: "H200"}), 30*time.Second, time.Second),
	markChosen(simEngine("14B few", chat, sim.Spec{Model: "qwen3-14b", GPU: "L40S", MaxNumSeqs: 16})),
	markChosen(simEngine("72B papers", papers, sim.Spec{Model: "qwen2.5-72b", GPU: "A100-80G-SXM", TP: 4})),
	markChosen(stallingEngine(simEngine("72B stalls", chat, sim.Spec{Model: "qwen2.5-72b", GPU: "A100-80G-SXM", TP: 4}), 40*time.Second, 1500*time.Millisecond)),
	markChosen(simEngine("27B papers", papers, sim.Spec{Model: "gemma-3-27b", GPU: "H100"})),
	markChosen(stallingEngine(simEngine("7B stalls", chat, sim.Spec{Model: "mistral-7b", GPU: "L40S"}), 20*time.Second, time.Second)),
	markChosen(chatEngine("14B talks", sim.Spec{Model: "qwen3-14b", GPU: "L40S"})),
	markChosen(simEngine("14B", chat, sim.Spec{Model: "qwen3-14b", GPU: "L40S"})),
	markChosen(simEngine("72B", chat, sim.Spec{Model: "qwen2.5-72b", GPU: "A100-80G-SXM", TP: 4})),
	markChosen(simEngine("14B long", essay, sim.Spec{Model: "qwen3-14b", GPU: "A100-80G-SXM"})),
	markChosen(simEngine("8B long", replies(1500, 8000), sim.Spec{Model: "llama-3.1-8b", GPU: "H100"})),
	agents("8B agents", sim.Spec{Model: "llama-3.1-8b", GPU: "H100"}),
	agents("70B agents", sim.Spec{Model: "llama-3.1-70b", GPU: "H100", TP: 4}),
	agents("32B agents", sim.Spec{Model: "qwen3-32b", GPU: "H200"}),
	codingAgents("8B coding", sim.Spec{Model: "llama-3.1-8b", GPU: "H100"}),
	markChosen(agents("14B agents", sim.Spec{Model: "qwen3-14b", GPU: "A100-80G-SXM"})),
	markChosen(agents("27B agents", sim.Spec{Model: "gemma-3-27b", GPU: "H200"})),
}

// Sessions of talkers are conversations: two to eight turns, each equally likely,
// with a pause of 8 s in the median between a reply and the next turn, whose
// prompt has all that was said before.
const (
	minTurns, maxTurns = 2, 8
	medianThink        = 8.0
	maxTalk            = 20_000
)

func talk(r *rand.Rand) shape {
	within := func(v float64, lo, hi int) int { return min(max(int(v), lo), hi) }
	return shape{within(stats.LogNormal(r, math.Log(200), 0.8), 20, 2000), within(stats.LogNormal(r, math.Log(200), 0.8), 10, 1000)}
}

// session draws the turns of a session that begins with a shape, and the pauses
// before them.
func session(r *rand.Rand, first shape) (turns []shape, pauses []int64) {
	turns, pauses = []shape{first}, []int64{0}
	for n := minTurns + r.IntN(maxTurns-minTurns+1); len(turns) < n; {
		last, next := turns[len(turns)-1], talk(r)
		next.prompt = min(next.prompt+last.prompt+last.output, maxTalk)
		turns = append(turns, next)
		pauses = append(pauses, int64(stats.LogNormal(r, math.Log(medianThink), 0.8)*1e9))
	}
	return turns, pauses
}

// chatEngine is an engine that serves such sessions.
func chatEngine(name string, spec sim.Spec) engine {
	e := simEngine(name, talk, spec)
	off := false
	spec.EnablePrefixCaching = &off
	r := stats.Rand(1, "talk", 0)
	var l Lengths
	var ages []float64
	n := 0.0
	for range 20_000 {
		turns, pauses := session(r, talk(r))
		age := int64(0)
		for i, one := range turns {
			age += pauses[i]
			ages = append(ages, float64(age))
			l.Prompt, l.Output = l.Prompt+float64(one.prompt), l.Output+float64(one.output)
			l.Residence += float64(one.output) * (float64(one.prompt) + float64(one.output)/2)
			n++
		}
	}
	l = Lengths{l.Prompt / n, l.Output / n, l.Residence / n}
	e.lengths = func() Lengths { return l }
	e.turns, e.settle = n/20_000, time.Duration(quantile(ages, 0.95))
	e.play = talkingEngine(spec)
	return e
}

// turn is one that comes after a pause.
type turn struct {
	at    int64
	left  []shape
	pause []int64
}

// talkingEngine plays sessions: each later turn is due a pause after the reply
// before it.
func talkingEngine(spec sim.Spec) func(testing.TB, uint64, iter.Seq2[int64, shape], hooks) []*trip {
	prompt := make([]int32, maxTalk)
	return func(t testing.TB, seed uint64, arrivals iter.Seq2[int64, shape], on hooks) []*trip {
		spec.Seed = seed
		core := must.Get(sim.NewBatching(spec))(t)
		var trips []*trip
		rest := map[uint64]turn{} // what follows a request
		var waiting []turn        // by time
		step := int64(sim.Idle)
		submit := func(at int64, one turn) {
			id := uint64(len(trips))
			trips = append(trips, &trip{due: at, prompt: one.left[0].prompt, output: one.left[0].output})
			rest[id] = turn{left: one.left[1:], pause: one.pause[1:]}
			must.Do(t, core.Submit(at, &sim.Job{ID: id, Prompt: prompt[:one.left[0].prompt], Output: one.left[0].output}))
			step = min(step, at)
		}
		emit := func(k sim.Token) {
			one := trips[k.Job.ID]
			if on.token != nil {
				on.token(k.At)
			}
			if k.Index == 0 {
				one.first = k.At
				on.first(one)
			}
			if k.Last {
				one.end = k.At
				on.ended(one)
				if next := rest[k.Job.ID]; len(next.left) > 0 {
					next.at = k.At + next.pause[0]
					i, _ := slices.BinarySearchFunc(waiting, next.at, func(w turn, at int64) int { return cmp.Compare(w.at, at) })
					waiting = slices.Insert(waiting, i, next)
				}
			}
		}
		advance := func(before int64) {
			for {
				for step < before && (len(waiting) == 0 || step <= waiting[0].at) {
					step = core.Step(step, emit)
				}
				if len(waiting) == 0 || waiting[0].at >= before {
					return
				}
				next := waiting[0]
				waiting = waiting[1:]
				on.later(next.at)
				submit(next.at, next)
			}
		}
		draws := stats.Rand(seed, "sessions", 0)
		for at, first := range arrivals {
			advance(at)
			turns, pauses := session(draws, first)
			submit(at, turn{left: turns, pause: pauses})
		}
		waiting = nil
		for step < sim.Idle {
			step = core.Step(step, emit)
			waiting = nil
		}
		return trips
	}
}

// stallingEngine is an engine that stands still for so long, about every so often: its
// own time does not pass then.
func stallingEngine(e engine, every, still time.Duration) engine {
	inner := e.play
	e.play = func(t testing.TB, seed uint64, arrivals iter.Seq2[int64, shape], on hooks) []*trip {
		r := stats.Rand(seed, "stalls", 0)
		var begins []int64 // by the engine's own time
		begin := func(i int) int64 {
			for len(begins) <= i {
				last := int64(0)
				if len(begins) > 0 {
					last = begins[len(begins)-1]
				}
				begins = append(begins, last+int64(stats.Exponential(r)*float64(every)))
			}
			return begins[i]
		}
		outside := func(own int64) int64 { // what the clock says when the engine's does
			n := 0
			for begin(n) < own {
				n++
			}
			return own + int64(n)*int64(still)
		}
		inside := func(at int64) int64 {
			for n := 0; ; n++ {
				switch from := begin(n) + int64(n)*int64(still); {
				case at <= from:
					return at - int64(n)*int64(still)
				case at < from+int64(still):
					return begin(n)
				}
			}
		}
		var order []int64
		moved := func(yield func(int64, shape) bool) {
			for at, s := range arrivals {
				order = append(order, at)
				if !yield(inside(at), s) {
					return
				}
			}
		}
		trips := inner(t, seed, moved, hooks{
			first: func(one *trip) {
				shifted := *one
				shifted.first = outside(one.first)
				on.first(&shifted)
			},
			ended: func(one *trip) {
				shifted := *one
				shifted.first, shifted.end = outside(one.first), outside(one.end)
				shifted.due = order[one.id]
				on.ended(&shifted)
			},
			token: func(at int64) {
				if on.token != nil {
					on.token(outside(at))
				}
			},
		})
		for i, one := range trips {
			one.due = order[i]
			if one.first > 0 {
				one.first = outside(one.first)
			}
			if one.end > 0 {
				one.end = outside(one.end)
			}
		}
		return trips
	}
	return e
}

// markChosen marks an engine that constants were chosen on.
func markChosen(e engine) engine {
	e.chosen = true
	return e
}

func simEngine(name string, draw func(*rand.Rand) shape, spec sim.Spec) engine {
	return engine{name: name, shape: draw, lengths: lengthsOf(draw), play: batchingEngine(spec)}
}

const (
	maxWarmup = 60 * time.Second
	drain     = 60 * time.Second
)

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
	if e.lanes != nil {
		return e.lanes(t, seed, int(rate), maxWarmup, window, drain)
	}
	ended, took := 0, 0.0
	running, since := 0, 0.0
	settled := e.settleTime(t)
	warm := func(i int, at float64) bool {
		if at < settled {
			return false
		}
		return at >= float64(maxWarmup) || i >= 50 && ended > 0 && at >= 2*(took+float64(running)*at-since)/float64(ended)
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

// settleTime is when later turns come as often as they ever will, where replies take
// half as long again as a lone one.
func (e engine) settleTime(t testing.TB) float64 {
	if e.turns == 0 {
		return 0
	}
	lone, _ := e.alone(t)
	return float64(e.settle) + 1.5*e.turns*float64(lone)
}

// level plays a level of a search as the program runs it.
func (e engine) level(t testing.TB, seed uint64, l Level) stage {
	if e.lanes != nil {
		return e.lanes(t, seed, int(l.Rate), l.Warmup, l.Duration, l.Drain)
	}
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
		load.add(one.due, one.first, end, one.prompt, one.output)
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
	on.later = func(due int64) {
		if due >= g.start && due < g.stop {
			open++
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
	g.cutOff()
	return g
}

// cutOff takes back what came when the drain was over.
func (g stage) cutOff() {
	for _, one := range g.trips {
		if one.end > g.over || one.end == 0 {
			one.cut, one.full, one.end = g.over, one.end, 0
		}
		if one.first > g.over {
			one.first = 0
		}
	}
}

// record is the trip as the load engine would have written it down.
func (one *trip) record() *record.Record {
	r := &record.Record{Due: one.due, Begin: one.due, Slot: one.due, Try: 1, Streamed: true, AskedOutput: one.output, Session: one.session, Turn: one.turn, Turns: one.turns}
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
	s := must.Get(account.Summarize(func() iter.Seq2[*record.Record, error] { return records },
		account.Options{Start: g.start, End: g.stop, AskedRate: rate, Objectives: objectives}))(t)
	return result.Point{Load: result.Load{Mode: "open", Rate: &rate}, Summary: s}
}

// violations counts the requests of the window and those that break the last of
// the objectives, or any of the others where it is about good requests; which is
// all that the truth needs. What the drain cut off counts with what it had shown.
func (g stage) violations(objectives []slo.Objective) (n, broken int) {
	about := objectives[len(objectives)-1:]
	good := about[0].Metric == "good"
	if good {
		about = objectives[:len(objectives)-1]
	}
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
		counts, breaks := good || one.cut > 0, false
		for _, o := range about {
			kept, judged := o.Judge(true, own[o.Metric])
			counts, breaks = counts || judged, breaks || judged && !kept
		}
		if counts {
			n++
		}
		if breaks {
			broken++
		}
	}
	return n, broken
}
