package twin

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

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
	gateway := f.gateway()
	core, err := sim.NewFleet(gateway, sim.Engines{Raise: engines.Raise, Check: engines.Check, Transfer: func(j *sim.Job) int64 {
		return sim.TransferTime(int64(f.KVBytes*float64(j.PromptLength)), cmp.Or(f.KVTransferRate, sim.DefaultKVTransferRate))
	}})
	if err != nil {
		return nil, err
	}
	p := player{core: core, count: newAccount(t, objectives), users: newUsers(t, f.Router == sim.PrefixAware), keeper: f.keeper(core, gateway, t)}
	if err := p.play(ctx, t); err != nil {
		return nil, err
	}
	stats := engines.Stats()
	p.count.out.Preemptions, p.count.out.Steps = stats.Preemptions, stats.Steps
	out := p.count.close()
	out.Instances = gateway.Engines()
	if gateway.HasPools() {
		out.Pools = f.busyPools(engines, t.Span)
	}
	p.keeper.report(out, t.Span)
	return out, nil
}

// player has users send requests to a fleet, and counts what becomes of them.
type player struct {
	core   sim.Gateway
	count  *account
	users  *users
	keeper *keeper // nil where the number of instances stays as it is
}

// play sends requests until the span is over, and waits for the last reply.
func (p *player) play(ctx context.Context, t Traffic) error {
	n, keeper, take := 0, p.keeper, p.take
	for at := range ahead(t.Times) {
		if at >= int64(t.Span) {
			break
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for keeper != nil && keeper.next() <= at {
			keeper.act(take)
		}
		j := p.users.ask(at)
		if p.core.Submit(at, j) != nil {
			p.count.fail(at, &p.count.out.Refused)
			p.users.leave(j)
			continue
		}
		p.core.Step(at, take)
		if keeper != nil {
			keeper.arrivals++
		}
	}
	p.core.Step(replay.Idle-1, take)
	return nil
}

// take counts a request that has ended.
func (p *player) take(token sim.Token) {
	j := token.Job
	if p.keeper != nil {
		p.keeper.now = token.At
	}
	switch {
	case token.Cut:
		p.count.fail(j.AtGateway, &p.count.out.Lost)
		p.users.leave(j)
	case token.Last:
		p.count.add(j.AtGateway, j.First, token.At, j.Output)
		p.users.read(j, token.At)
	}
}

// ahead draws times on another core while earlier ones are used: those of a day's curve
// take a tenth of what simulating it does.
func ahead(times iter.Seq[int64]) iter.Seq[int64] {
	const size = 4096
	return func(yield func(int64) bool) {
		batches, done := make(chan []int64, 2), make(chan struct{})
		defer close(done)
		go func() {
			defer close(batches)
			batch := make([]int64, 0, size)
			send := func() bool {
				select {
				case batches <- batch:
					batch = make([]int64, 0, size)
					return true
				case <-done:
					return false
				}
			}
			for at := range times {
				if batch = append(batch, at); len(batch) == size && !send() {
					return
				}
			}
			send()
		}()
		for batch := range batches {
			for _, at := range batch {
				if !yield(at) {
					return
				}
			}
		}
	}
}

// gateway is what the instances stand behind.
func (f Fleet) gateway() sim.Fleet {
	if f.Prefill+f.Decode > 0 {
		return sim.Fleet{Prefill: f.Prefill, Decode: f.Decode, Router: f.Router}
	}
	return sim.Fleet{Replicas: max(f.Instances, f.Scale.Max), Router: f.Router}
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
			count.fail(t.Due, &count.out.Refused)
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
