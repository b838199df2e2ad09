package twin

import (
	"math"
	"slices"
	"sync"

	"redline/internal/stats"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// Figures are those that a twin is held to, in their order everywhere below.
var Figures = [...]string{"ttft", "tpot", "e2e"}

const metrics = len(Figures)

// quantileWeights are the percentiles at which measured and simulated distributions
// are compared, and their weights. The middle counts most; the
// tail is few requests, and chance.
var quantileWeights = []struct{ p, weight float64 }{
	{0.1, 0.5}, {0.25, 1}, {0.5, 2}, {0.75, 1}, {0.9, 1}, {0.97, 0.3},
}

// metricWeight is how much each figure counts in a fit. Requests that wait make
// ttft span orders of magnitude, so that it would drown the others.
var metricWeight = [metrics]float64{0.6, 1, 1}

// target is a level with its measured distributions at hand.
type target struct {
	*Level
	measured [metrics][]float64 // sorted, in nanoseconds
}

func newTarget(l *Level) target {
	t := target{Level: l}
	for i := range l.Requests {
		if o := &l.Requests[i]; o.Counted {
			for m, v := range [metrics]float64{o.TTFT, o.TPOT, o.E2E} {
				if v > 0 {
					t.measured[m] = append(t.measured[m], v)
				}
			}
		}
	}
	for m := range t.measured {
		slices.Sort(t.measured[m])
	}
	return t
}

// simulate gives the distributions that an engine has for the same requests.
func (t *target) simulate(spec sim.Spec) ([metrics][]float64, error) {
	var out [metrics][]float64
	played, _, err := replay.Play(spec, &t.Recording)
	if err != nil {
		return out, err
	}
	for i, f := range played {
		o := &t.Requests[i]
		if !o.Counted {
			continue
		}
		known := [metrics]bool{o.TTFT > 0, o.TPOT > 0, o.E2E > 0}
		for m, v := range [metrics]float64{f.TTFT, f.TPOT, f.E2E} {
			if known[m] && v > 0 {
				out[m] = append(out[m], v)
			}
		}
	}
	for m := range out {
		slices.Sort(out[m])
	}
	return out, nil
}

// distance is how far an engine is from what was measured at one level: a
// weighted mean of the logarithms of ratios, bounded so that no single one
// decides.
func (t *target) distance(spec sim.Spec) float64 {
	got, err := t.simulate(spec)
	if err != nil {
		return math.Inf(1)
	}
	sum, weights := 0.0, 0.0
	for m := range got {
		for _, c := range quantileWeights {
			if len(t.measured[m]) == 0 || c.p > 0.9 && len(t.measured[m]) < 100 {
				continue
			}
			w := c.weight * metricWeight[m]
			weights += w
			if len(got[m]) == 0 {
				sum += w * boundedSquare(math.Inf(1))
				continue
			}
			sum += w * boundedSquare(math.Log(stats.Quantile(got[m], c.p)/stats.Quantile(t.measured[m], c.p)))
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// boundedSquare is a square that becomes a straight line, and in the end a constant.
func boundedSquare(x float64) float64 {
	const bend, limit = 0.2, 8
	x = min(math.Abs(x), limit)
	if x <= bend {
		return x * x
	}
	return bend * (2*x - bend)
}

// distances is the mean over levels, which are simulated side by side.
func distances(targets []target, spec sim.Spec) float64 {
	each := make([]float64, len(targets))
	var all sync.WaitGroup
	for i := range targets {
		all.Go(func() { each[i] = targets[i].distance(spec) })
	}
	all.Wait()
	return stats.Mean(each)
}
