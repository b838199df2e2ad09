package twin

import (
	"context"
	"math"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/traffic/arrival"
	"redline/internal/twin/sim"
)

// Limit is the highest rate at which one engine keeps the objectives, in
// requests per second, by Poisson arrivals that last for span; 0 where it
// keeps them at no rate, and +Inf where there is none to keep.
func Limit(ctx context.Context, spec sim.Spec, mix []Conversation, objectives []slo.Objective, span time.Duration, seed uint64) (float64, error) {
	kept := func(rate float64) (bool, error) {
		// A percentile needs requests, however rare they are.
		long := max(span, time.Duration(1000/rate*1e9))
		out, err := Fleet{Spec: spec, Instances: 1}.Run(ctx, Traffic{Times: arrival.Spec{Rate: rate}.Times(seed), Mix: mix, Seed: seed,
			Span: long, Settle: long / 10}, objectives)
		if err != nil {
			return false, err
		}
		if len(out.Objectives) == 0 {
			return true, nil
		}
		return out.Met(), nil
	}
	const lowest, highest = 0.01, 1e4
	low, high := 0.0, lowest
	for {
		ok, err := kept(high)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if low, high = high, 2*high; high > highest {
			return math.Inf(1), nil
		}
	}
	for range 10 {
		if low == 0 {
			return 0, nil
		}
		middle := math.Sqrt(low * high)
		ok, err := kept(middle)
		switch {
		case err != nil:
			return 0, err
		case ok:
			low = middle
		default:
			high = middle
		}
	}
	return math.Sqrt(low * high), nil
}

// limitSpan is how long a rate is simulated in the search for the limit.
const limitSpan = 20 * time.Minute

// checkLimit has the twin search for the limit that the server's search found.
func (c *Calibration) checkLimit(ctx context.Context) error {
	found := c.Evidence.Limit
	if found == nil || found.Rate <= 0 {
		return nil
	}
	objectives, err := slo.ParseAll(c.Evidence.Objectives)
	if err != nil {
		return err
	}
	twin, err := Limit(ctx, c.Spec, c.Evidence.Mix(), objectives, limitSpan, 1)
	if err != nil || math.IsInf(twin, 1) {
		return err
	}
	c.Limit = &LimitCheck{Measured: found.Rate, Twin: twin, Error: math.Abs(twin/found.Rate - 1), Binding: found.Binding}
	return nil
}
