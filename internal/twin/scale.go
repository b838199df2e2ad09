package twin

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"redline/internal/judge/result"
	"redline/internal/twin/queue"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// Scale is how the number of instances changes: by an autoscaler, and because they fail.
type Scale struct {
	// Min and Max are what the autoscaler keeps between; Max is 0 where there is none.
	Min, Max int
	// Target is the share of Limit, in requests per second, that it gives an instance.
	Target, Limit float64
	// Delay passes until a new instance takes requests.
	Delay time.Duration
	// Failures is how many instances fail in the whole time, FailuresADay how many
	// times each does in a day.
	Failures     int
	FailuresADay float64
}

func (s Scale) isFixed() bool { return s.Max == 0 && s.Failures == 0 && s.FailuresADay == 0 }

// The autoscaler goes by the rate of the last minute, which it looks at every fifteen
// seconds. It adds instances at once and takes away those that it has not wanted for
// five minutes: the defaults of Kubernetes.
const (
	lookEvery   = 15 * time.Second
	rateOver    = 4  // looks
	calmBefore  = 20 // looks
	secondsADay = 86400
)

// The states of an instance.
const (
	away = iota
	coming
	taking // requests
	leaving
)

// keeper changes the number of instances of a fleet.
type keeper struct {
	Scale
	core     sim.Gateway
	draw     *rand.Rand
	states   []int
	ready    []int64 // when those that come are
	events   queue.Heap[change]
	arrivals int // since the last look
	counts   []int
	wanted   []int
	now      int64
	span     int64
	// by state, and what they add up to
	number  [leaving + 1]int
	since   int64
	paid    float64 // instance-seconds
	serving [parts]float64
	out     result.Scaled
}

// change is an instance that is ready, one that fails, or a look of the autoscaler.
type change struct {
	at     int64
	kind   int
	engine int
}

const (
	isReady = iota
	isFailing
	mayFail
	isLooking
)

func (c change) Before(o change) bool {
	return c.at < o.at || c.at == o.at && (c.kind < o.kind || c.kind == o.kind && c.engine < o.engine)
}

// keeper is that of the fleet; nil where the number of instances stays as it is.
func (f Fleet) keeper(core sim.Gateway, all sim.Fleet, t Traffic) *keeper {
	if f.Scale.isFixed() {
		return nil
	}
	k := &keeper{Scale: f.Scale, core: core, draw: rand.New(rand.NewPCG(t.Seed, 0x6b656570)), states: make([]int, all.Engines()), ready: make([]int64, all.Engines()), span: int64(t.Span)}
	begin := all.Engines()
	if k.Max > 0 {
		begin = k.want(openingRate(t))
		k.events.Push(change{at: int64(lookEvery), kind: isLooking})
	}
	for i := range k.states {
		k.states[i] = taking
		if i >= begin {
			k.states[i] = away
			_ = core.Kill(0, i, func(sim.Token) {})
		}
		k.number[k.states[i]]++
	}
	k.out.Min, k.out.Max = begin, begin
	for range k.Failures {
		k.events.Push(change{at: k.draw.Int64N(max(1, k.span)), kind: isFailing})
	}
	k.failLater()
	return k
}

// openingRate is that of the first minute.
func openingRate(t Traffic) float64 {
	n := 0
	for at := range t.Times {
		if at >= int64(time.Minute) {
			break
		}
		n++
	}
	return float64(n) / min(time.Minute, max(t.Span, 1)).Seconds()
}

// failLater draws when the next of all instances fails, of which those that are away do
// not.
func (k *keeper) failLater() {
	if k.FailuresADay > 0 {
		mean := secondsADay / (k.FailuresADay * float64(len(k.states)))
		k.events.Push(change{at: k.now + int64(min(1e9*mean*k.draw.ExpFloat64(), 1e18)), kind: mayFail})
	}
}

// want is how many instances a rate takes.
func (k *keeper) want(rate float64) int {
	return min(max(int(math.Ceil(rate/(k.Limit*k.Target)-1e-9)), k.Min, 1), k.Max)
}

func (k *keeper) next() int64 {
	if k.events.Len() == 0 {
		return replay.Idle
	}
	return k.events.Top().at
}

// act makes the next change.
func (k *keeper) act(emit func(sim.Token)) {
	c := k.events.Pop()
	k.core.Step(c.at, emit)
	k.now = c.at
	switch c.kind {
	case isReady:
		if k.states[c.engine] == coming && k.ready[c.engine] == c.at && k.core.Start(c.engine) == nil {
			k.become(c.engine, taking)
		}
	case isFailing:
		k.fail(k.number[taking], emit)
	case mayFail:
		k.fail(len(k.states), emit)
		k.failLater()
	case isLooking:
		k.look()
		k.events.Push(change{at: k.now + int64(lookEvery), kind: isLooking})
	}
}

// become changes the state of an instance, and counts what there was until now.
func (k *keeper) become(engine, state int) {
	k.tally(k.now)
	k.number[k.states[engine]]--
	k.states[engine] = state
	k.number[state]++
	k.out.Min, k.out.Max = min(k.out.Min, k.number[taking]), max(k.out.Max, k.number[taking])
}

func (k *keeper) tally(now int64) {
	now = min(now, k.span)
	part := max(1, k.span/parts)
	for k.since < now {
		i := min(k.since/part, parts-1)
		until := now
		if i < parts-1 {
			until = min(now, (i+1)*part)
		}
		seconds := float64(until-k.since) / 1e9
		k.paid += seconds * float64(len(k.states)-k.number[away])
		k.serving[i] += seconds * float64(k.number[taking])
		k.since = until
	}
}

// start asks for an instance, which comes after the delay.
func (k *keeper) start(engine int) {
	k.out.Started++
	k.become(engine, coming)
	k.ready[engine] = k.now + int64(k.Delay)
	k.events.Push(change{at: k.ready[engine], kind: isReady, engine: engine})
}

// fail has one of so many instances fail, if it is one that takes requests; another
// takes its place.
func (k *keeper) fail(of int, emit func(sim.Token)) {
	if of == 0 {
		return
	}
	which := k.draw.IntN(of)
	for i, s := range k.states {
		if s != taking {
			continue
		}
		if which--; which < 0 {
			k.out.Failures++
			_ = k.core.Kill(k.now, i, emit)
			k.start(i)
			return
		}
	}
}

// look has the autoscaler decide.
func (k *keeper) look() {
	k.counts, k.arrivals = append(k.counts, k.arrivals), 0
	k.counts = k.counts[max(0, len(k.counts)-rateOver):]
	sum := 0
	for _, n := range k.counts {
		sum += n
	}
	want := k.want(float64(sum) / (float64(len(k.counts)) * lookEvery.Seconds()))
	k.wanted = append(k.wanted, want)
	k.wanted = k.wanted[max(0, len(k.wanted)-calmBefore):]
	have := k.number[taking] + k.number[coming]
	for i := 0; i < len(k.states) && have < want; i++ {
		if k.states[i] == away {
			k.start(i)
			have++
		}
	}
	calm := slices.Max(k.wanted)
	for _, state := range []int{coming, taking} { // what is not there yet goes first
		for i := len(k.states) - 1; i >= 0 && have > calm; i-- {
			if k.states[i] == state {
				k.release(i)
				have--
			}
		}
	}
}

// release has an instance go away after its last request.
func (k *keeper) release(engine int) {
	if k.states[engine] == coming {
		k.become(engine, away)
		return
	}
	k.become(engine, leaving)
	_ = k.core.Drain(engine, func() { k.become(engine, away) })
}

// report adds what happened to what the users saw; nothing where nothing could.
func (k *keeper) report(out *result.FleetRehearsal, span time.Duration) {
	if k == nil {
		return
	}
	k.tally(int64(span))
	k.out.InstanceHours = k.paid / 3600
	part := max(1, k.span/parts)
	total := 0.0
	for i := range out.Parts {
		mean := k.serving[i] * 1e9 / float64(part)
		out.Parts[i].Instances = &mean
		total += k.serving[i]
	}
	k.out.Mean = total / span.Seconds()
	out.Instances = k.out.Max
	out.Scaled = &k.out
}
