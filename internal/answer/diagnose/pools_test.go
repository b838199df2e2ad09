package diagnose

import (
	"fmt"
	"math/rand/v2"
	"time"

	"redline/internal/twin/sim"
)

// newPools is a draw on two engines that prefill and two that decode.
func newPools(r *rand.Rand, in, out float64) *draw {
	d := newDraw(r, in, out)
	d.roomy(60)
	d.spec.Fleet = sim.Fleet{Prefill: 2, Decode: 2}
	d.warmup, d.window = 5*time.Second, 20*time.Second
	return d
}

// prefillRate is the rate of prompts that two engines compute.
func (d *draw) prefillRate() float64 { return 2 / d.forecast(1).TTFT }

// ofPools are fleets of which one pool has too little for the load, and the other enough.
var ofPools = []regime{
	{name: "prefill-pool", make: func(r *rand.Rand, i int) []*draw {
		d := newPools(r, spread(r, 2000, 5000), spread(r, 20, 60))
		d.rate = d.prefillRate() * between(r, 0.9, 1.4)
		d.atLeast(80)
		d.slo = []string{fmt.Sprintf("ttft:p90<%.0fms", 2.5e3*d.forecast(1).TTFT), fmt.Sprintf("tpot:p90<%.1fms", 4e3*d.forecast(10).TPOT)}
		return one(d)
	}},
	{name: "decode-pool", make: func(r *rand.Rand, i int) []*draw {
		d := newPools(r, spread(r, 100, 300), spread(r, 300, 600))
		n := between(r, 16, 40) // on each
		d.rate = 2 * n / (d.out * d.forecast(n).TPOT)
		d.rate = min(d.rate, 0.5*d.prefillRate())
		d.atLeast(80)
		if i%2 == 0 { // too few places
			d.spec.MaxNumSeqs = max(2, int(d.rate*d.out*d.forecast(n).TPOT/2*between(r, 0.4, 0.7)))
			d.slo = []string{fmt.Sprintf("e2e:p90<%.0fms", 1.2e3*d.out*d.forecast(n).TPOT)}
		} else { // too slow
			d.slo = []string{fmt.Sprintf("tpot:p90<%.2fms", between(r, 0.5, 0.8)*1e3*d.forecast(d.rate*d.out*d.forecast(n).TPOT/2).TPOT)}
		}
		return one(d)
	}},
}

// controlPools are pools with enough of both.
func controlPools(r *rand.Rand, _ int) []*draw {
	d := newPools(r, spread(r, 300, 1500), spread(r, 80, 200))
	d.rate = min(0.25*d.prefillRate(), 2*between(r, 3, 10)/(d.out*d.forecast(10).TPOT))
	d.atLeast(60)
	return one(d)
}
