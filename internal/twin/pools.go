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
// prefill. Together is how few that do both it finds, 0 where no number would do.
func (p *Plan) sizePools(ctx context.Context) (together int, err error) {
	if len(p.Objectives) == 0 {
		return 0, fmt.Errorf("without an objective any size of the pools will do: give one with --slo")
	}
	holds := func(both, prefill, decode int) (bool, error) {
		out, err := p.tryPeak(ctx, both, prefill, decode)
		return err == nil && out.Met() && !grows(out), err
	}
	enough, err := p.enough(func(n int) (bool, error) { return holds(0, n, n) })
	if err != nil {
		return 0, err
	}
	if enough == 0 {
		return 0, fmt.Errorf("%d instances that prefill and as many that decode miss the objectives at the peak, or do not keep up with it: no number of them would do; look at the objectives", maxPool)
	}
	if p.Decode, err = fewest(enough, func(n int) (bool, error) { return holds(0, enough, n) }); err != nil {
		return 0, err
	}
	if p.Prefill, err = fewest(enough, func(n int) (bool, error) { return holds(0, n, p.Decode) }); err != nil {
		return 0, err
	}
	both := func(n int) (bool, error) { return holds(n, 0, 0) }
	if enough, err = p.enough(both); err != nil || enough == 0 {
		return 0, err
	}
	return fewest(enough, both)
}

// enough is a number of instances that holds, 0 where none does.
func (p *Plan) enough(holds func(int) (bool, error)) (int, error) {
	for n := max(1, p.Instances); n <= maxPool; n *= 2 {
		if ok, err := holds(n); ok || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// tryPeak plays the peak against instances that do both, or against pools of these sizes.
func (p *Plan) tryPeak(ctx context.Context, both, prefill, decode int) (*result.FleetRehearsal, error) {
	span := min(max(time.Duration(poolRequests/p.Rate*1e9), poolMinSpan), poolMaxSpan)
	f := p.fleet()
	f.Instances, f.Prefill, f.Decode, f.Scale = both, prefill, decode, Scale{}
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
