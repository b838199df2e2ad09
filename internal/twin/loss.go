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
	measured distributions
	// groups are the requests that are treated differently, by their place in groupOf,
	// with what was measured of each; one where all are treated alike.
	groupOf []int
	groups  []distributions
}

// distributions are the values of each figure, sorted, in nanoseconds.
type distributions [metrics][]float64

func newTarget(l *Level) target {
	t := target{Level: l}
	of, n := groupsOf(&l.Recording)
	was := func(i int) [metrics]float64 {
		o := &l.Requests[i]
		return [metrics]float64{o.TTFT, o.TPOT, o.E2E}
	}
	t.measured, t.groupOf = t.collect(was, -1), of
	for g := range n {
		t.groups = append(t.groups, t.collect(was, g))
	}
	return t
}

// collect gives the distributions of what is known of the counted requests of a group,
// of all where it is negative.
func (t *target) collect(of func(i int) [metrics]float64, group int) (out distributions) {
	for i := range t.Requests {
		o := &t.Requests[i]
		if !o.Counted || group >= 0 && t.groupOf[i] != group {
			continue
		}
		known := [metrics]bool{o.TTFT > 0, o.TPOT > 0, o.E2E > 0}
		for m, v := range of(i) {
			if known[m] && v > 0 {
				out[m] = append(out[m], v)
			}
		}
	}
	for m := range out {
		slices.Sort(out[m])
	}
	return out
}

// simulate gives the figures that an engine has for the same requests.
func (t *target) simulate(spec sim.Spec) (func(i int) [metrics]float64, error) {
	played, _, err := replay.Play(spec, &t.Recording)
	return func(i int) [metrics]float64 {
		return [metrics]float64{played[i].TTFT, played[i].TPOT, played[i].E2E}
	}, err
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
	for g, measured := range t.groups {
		off, weight := distance(measured, t.collect(got, g))
		// Each group counts by its share of the requests.
		sum, weights = sum+off*float64(len(measured[metrics-1])), weights+weight*float64(len(measured[metrics-1]))
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// distance is that of two sets of distributions, not yet divided by its weight.
func distance(measured, got distributions) (sum, weights float64) {
	for m := range got {
		for _, c := range quantileWeights {
			if len(measured[m]) == 0 || c.p > 0.9 && len(measured[m]) < 100 {
				continue
			}
			w := c.weight * metricWeight[m]
			weights += w
			if len(got[m]) == 0 {
				sum += w * boundedSquare(math.Inf(1))
				continue
			}
			sum += w * boundedSquare(math.Log(stats.Quantile(got[m], c.p)/stats.Quantile(measured[m], c.p)))
		}
	}
	return sum, weights
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
