package twin

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/traffic/job"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// Fleet is several equal engines behind the gateway of the simulated server.
type Fleet struct {
	Spec      sim.Spec
	Instances int
	Router    string // sim.LeastOutstanding by default
	// Prefill and Decode are pools in place of instances. Handing the cache of a token
	// from the one to the other takes KVBytes at KVTransferRate, in GB/s.
	Prefill, Decode int
	KVBytes         float64
	KVTransferRate  float64
	Scale           Scale
}

// Traffic is what users send: when, and requests drawn from those of a mix.
type Traffic struct {
	Times iter.Seq[int64] // ascending, nanoseconds; may have no end
	Mix   []Conversation
	Seed  uint64
	Span  time.Duration
	// Settle is how much of the beginning is not counted.
	Settle time.Duration
}

// parts is into how many stretches the time is cut: of a day, hours.
const parts = 24

// Run plays the traffic against the fleet in virtual time. Objectives that
// concern no single request, or not all of them, are left out.
func (f Fleet) Run(ctx context.Context, t Traffic, objectives []slo.Objective) (*result.FleetRehearsal, error) {
	if len(t.Mix) == 0 {
		return nil, fmt.Errorf("no request lengths to draw from")
	}
	if f.Prefill+f.Decode == 0 && f.Instances < 1 {
		return nil, fmt.Errorf("a fleet has at least one instance, got %d", f.Instances)
	}
	engines, err := replay.NewEngines(f.Spec, cachedTokens)
	if err != nil {
		return nil, err
	}
	gateway := sim.Fleet{Replicas: max(f.Instances, f.Scale.Max), Prefill: f.Prefill, Decode: f.Decode, Router: f.Router}
	if gateway.HasPools() {
		gateway.Replicas = 0
	}
	core, err := sim.NewFleet(gateway, sim.Engines{Raise: engines.Raise, Check: engines.Check, Transfer: func(j *sim.Job) int64 {
		return sim.TransferTime(int64(f.KVBytes*float64(j.PromptLength)), cmp.Or(f.KVTransferRate, sim.DefaultKVTransferRate))
	}})
	if err != nil {
		return nil, err
	}
	count, users := newAccount(t, objectives), newUsers(t, f.Router == sim.PrefixAware)
	keeper := f.keeper(core, gateway, t)
	emit := func(token sim.Token) {
		j := token.Job
		if keeper != nil {
			keeper.now = token.At
		}
		switch {
		case token.Cut:
			count.lose(j.AtGateway)
			users.leave(j)
		case token.Last:
			count.add(j.AtGateway, j.First, token.At, j.Output)
			users.read(j, token.At)
		}
	}
	n := 0
	for at := range t.Times {
		if at >= int64(t.Span) {
			break
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for keeper != nil && keeper.next() <= at {
			keeper.act(emit)
		}
		j := users.ask(at)
		if core.Submit(at, j) != nil {
			count.refuse(at)
			users.leave(j)
			continue
		}
		core.Step(at, emit)
		if keeper != nil {
			keeper.arrivals++
		}
	}
	core.Step(replay.Idle-1, emit)
	stats := engines.Stats()
	count.out.Preemptions, count.out.Steps = stats.Preemptions, stats.Steps
	out := count.close()
	out.Instances = gateway.Engines()
	if gateway.HasPools() {
		out.Pools = f.busyPools(engines, t.Span)
	}
	keeper.report(out, t.Span)
	return out, nil
}

// busyPools is how much of the time the instances of each pool worked.
func (f Fleet) busyPools(engines *replay.Engines, span time.Duration) *result.RehearsedPools {
	share := func(from, n int) result.RehearsedPool {
		return result.RehearsedPool{Instances: n, Busy: min(1, float64(engines.Busy(from, from+n))/(float64(span)*float64(n)))}
	}
	return &result.RehearsedPools{Prefill: share(0, f.Prefill), Decode: share(f.Prefill, f.Decode)}
}

// Agents is so many live agents, who begin the next of their jobs when one has ended.
type Agents struct {
	Live int
	Jobs []*job.Job
	// Pause is what becomes of a recorded one.
	Pause func(time.Duration) time.Duration
}

// How long agents are played, of which the first part is not counted, and on how many
// instances: as many agents on each are the same for all.
const (
	agentsSpan   = 40 * time.Minute
	agentsSettle = 10 * time.Minute
	maxPlayed    = 4
)

// runAgents plays agents against the fleet in virtual time, each job on one instance,
// whose prefix cache keeps blocks by their content.
func (f Fleet) runAgents(a Agents, objectives []slo.Objective) (*result.FleetRehearsal, error) {
	played := min(f.Instances, maxPlayed)
	engines := make([]sim.Core, played)
	f.Spec.EnablePrefixCaching = nil // a fitted engine takes the cache as it was measured
	for i := range engines {
		var err error
		if engines[i], err = sim.NewBatching(f.Spec); err != nil {
			return nil, err
		}
		f.Spec.Seed++
	}
	count := newAccount(Traffic{Span: agentsSpan, Settle: agentsSettle}, objectives)
	each := (a.Live + f.Instances - 1) / f.Instances
	replay.PlayJobs(engines, replay.Agents{Jobs: a.Jobs, Live: each * played, Pause: a.Pause, End: int64(agentsSpan)}, func(t replay.Turn) {
		if t.Refused != nil {
			count.refuse(t.Due)
			return
		}
		count.add(t.Due, t.First, t.Last, t.Request.Output)
	})
	for _, e := range engines {
		stats := e.Stats()
		count.out.Preemptions += stats.Preemptions
		count.out.Steps += stats.Steps
		count.cached, count.asked = count.cached+stats.PrefixHits, count.asked+stats.PrefixQueries
	}
	out := count.close()
	out.Instances, out.Cached = f.Instances, new(float64(count.cached)/float64(max(1, count.asked)))
	return out, nil
}

// account counts what became of a fleet's requests as they end.
type account struct {
	out        result.FleetRehearsal
	objectives []judgedObjective
	violating  int64
	histograms [metrics]*hdrhistogram.Histogram // microseconds
	settle     int64
	part       int64
	// cached are the prompt tokens of all that were asked for that were in the cache.
	cached, asked int64
	counts        [parts]struct {
		n, violating int64
		inside       float64 // nanoseconds
	}
}

// judgedObjective is an objective and how many requests it was asked of.
type judgedObjective struct {
	slo.Objective
	figure         int // its place in accounted
	missed, judged int64
}

// accounted are the figures of which a fleet's objectives are: those of every twin first.
var accounted = [...]string{"ttft", "tpot", "e2e", "decode"}

func newAccount(t Traffic, objectives []slo.Objective) *account {
	a := &account{settle: int64(t.Settle), part: max(1, int64(t.Span)/parts)}
	a.out.Objectives = []result.RehearsedObjective{}
	for _, o := range objectives {
		if figure := slices.Index(accounted[:], o.Metric); figure >= 0 && o.PerRequest() && o.Scope == (slo.Scope{}) {
			a.objectives = append(a.objectives, judgedObjective{Objective: o, figure: figure})
		}
	}
	for m := range a.histograms {
		a.histograms[m] = hdrhistogram.New(1, int64(48*time.Hour/time.Microsecond), 3)
	}
	return a
}

// add takes one answer of so many tokens.
func (a *account) add(asked, first, last int64, output int) {
	if asked < a.settle {
		return
	}
	a.out.Requests++
	figures := [len(accounted)]float64{float64(first - asked), -1, float64(last - asked), float64(last - first)}
	if output > 1 { // one token has no time between
		figures[1] = float64(last-first) / float64(output-1)
	}
	for m, h := range a.histograms {
		if v := figures[m]; v >= 0 {
			// Two days bound everything that is simulated.
			_ = h.RecordValue(int64(v / 1e3))
		}
	}
	bad := false
	for i := range a.objectives {
		o := &a.objectives[i]
		switch v := figures[o.figure]; {
		case v > o.Limit:
			o.missed++
			bad = true
			fallthrough
		case v >= 0:
			o.judged++
		}
	}
	a.note(asked, bad, figures[2])
}

// refuse counts a request that no instance takes: it breaks every objective.
func (a *account) refuse(at int64) {
	if at < a.settle {
		return
	}
	a.out.Requests++
	a.out.Refused++
	for i := range a.objectives {
		a.objectives[i].judged++
		a.objectives[i].missed++
	}
	a.note(at, true, 0)
}

// lose counts a request whose instance failed: it breaks every objective too.
func (a *account) lose(at int64) {
	if at < a.settle {
		return
	}
	a.out.Lost++
	a.out.Refused--
	a.refuse(at)
}

func (a *account) note(at int64, bad bool, inside float64) {
	c := &a.counts[min(at/a.part, parts-1)]
	c.n++
	c.inside += inside
	if bad {
		c.violating++
		a.violating++
	}
}

// close turns counts into shares.
func (a *account) close() *result.FleetRehearsal {
	out := &a.out
	share := func(n, of int64) float64 { return float64(n) / float64(max(1, of)) }
	out.Violating = share(a.violating, out.Requests)
	for _, o := range a.objectives {
		j := result.RehearsedObjective{Objective: o.Text, Share: share(o.missed, o.judged)}
		if o.P > 0 { // a maximum allows none beyond it
			j.Allowed = 1 - o.P
		}
		j.Met = j.Share <= j.Allowed
		out.Objectives = append(out.Objectives, j)
	}
	out.Latency = map[string]result.Percentile{}
	for m, name := range Figures {
		h := a.histograms[m]
		at := func(p float64) float64 { return float64(h.ValueAtQuantile(p)) / 1e3 }
		out.Latency[name] = result.Percentile{P50: at(50), P95: at(95), P99: at(99)}
	}
	for i, c := range a.counts {
		start := int64(i) * a.part
		seconds := float64(start+a.part-min(max(start, a.settle), start+a.part-1)) / 1e9
		out.Parts = append(out.Parts, result.RehearsedPart{StartS: float64(start) / 1e9, Rate: float64(c.n) / seconds,
			InFlight: c.inside / 1e9 / seconds, Violating: share(c.violating, c.n)})
	}
	return out
}
