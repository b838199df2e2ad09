package twin

import (
	"context"
	"fmt"
	"math"
	"time"

	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/traffic/arrival"
)

// How long the peak is simulated in the search for the pools' sizes: until there are so
// many requests, but for so long at least and at most.
const (
	poolRequests = 40_000
	poolMinSpan  = 2 * time.Minute
	poolMaxSpan  = 20 * time.Minute
	maxPool      = 1000
)

// sizePools finds as few instances of each pool as meet the objectives at the peak,
// beside which the other pool has enough: first those that decode, then those that
// prefill.
func (p *Plan) sizePools(ctx context.Context) error {
	if len(p.Objectives) == 0 {
		return fmt.Errorf("without an objective any size of the pools will do: give one with --slo")
	}
	holds := func(prefill, decode int) (bool, error) {
		out, err := p.tryPools(ctx, prefill, decode)
		return err == nil && out.Met() && !grows(out), err
	}
	enough := max(1, p.Instances)
	for ; ; enough *= 2 {
		ok, err := holds(enough, enough)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if 2*enough > maxPool {
			return fmt.Errorf("%d instances that prefill and as many that decode miss the objectives at the peak, or do not keep up with it: no number of them would do; look at the objectives", enough)
		}
	}
	var err error
	if p.Decode, err = fewest(enough, func(n int) (bool, error) { return holds(enough, n) }); err == nil {
		p.Prefill, err = fewest(enough, func(n int) (bool, error) { return holds(n, p.Decode) })
	}
	return err
}

// tryPools plays the peak against pools of these sizes.
func (p *Plan) tryPools(ctx context.Context, prefill, decode int) (*result.FleetRehearsal, error) {
	span := min(max(time.Duration(poolRequests/p.Rate*1e9), poolMinSpan), poolMaxSpan)
	f := p.fleet()
	f.Prefill, f.Decode, f.Scale = prefill, decode, Scale{}
	return f.Run(ctx, Traffic{Times: arrival.Spec{Rate: p.Rate}.Times(p.Seed), Mix: p.Mix, Seed: p.Seed, Span: span, Settle: span / 10}, p.Objectives)
}

// poolSwing is how far the number of requests inside wanders by chance, in roots of its mean.
const poolSwing = 3

// grows reports whether ever more requests are inside: a pool that does not keep up misses
// an objective sooner or later, and one about the first token never where it is the pool
// that decodes. The first half of the time is the fleet filling up.
func grows(out *result.FleetRehearsal) bool {
	var inside []float64
	for _, part := range out.Parts[len(out.Parts)/2:] {
		inside = append(inside, part.InFlight)
	}
	return stats.Slope(inside)*float64(len(inside)) > poolSwing*math.Sqrt(stats.Mean(inside))
}

// fewest is the lowest number from 1 to high that holds; high does.
func fewest(high int, holds func(int) (bool, error)) (int, error) {
	low := 0
	for high-low > 1 {
		middle := (low + high) / 2
		ok, err := holds(middle)
		switch {
		case err != nil:
			return 0, err
		case ok:
			high = middle
		default:
			low = middle
		}
	}
	return high, nil
}
