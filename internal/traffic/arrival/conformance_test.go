package arrival

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"

	"redline/internal/must"
	"redline/internal/stats"
)

// theory is what the mathematics of a process says of its gaps, in units of
// the mean gap, and of its counts.
type theory struct {
	process string
	// first is the mean time of the first arrival.
	first float64
	// cv is the standard deviation of a gap; tail its fourth central moment
	// over the square of its variance, 1 where it does not vary.
	cv, tail float64
}

// theories holds one row for every process of the table, gammas at both sides
// of Poisson.
var theories = []theory{
	{process: "poisson", first: 1, cv: 1, tail: 9},
	{process: "constant", tail: 1},
	gamma(0.1), gamma(0.5), gamma(1), gamma(4), gamma(100),
}

func gamma(shape float64) theory {
	return theory{process: fmt.Sprintf("gamma(%g)", shape), first: 1, cv: 1 / math.Sqrt(shape), tail: 3 + 6/shape}
}

var seeds = []uint64{1, 2, 3}

// take gives the first n times.
func take(times iter.Seq[int64], n int) []int64 {
	taken := make([]int64, 0, n)
	for t := range times {
		if taken = append(taken, t); len(taken) == n {
			break
		}
	}
	return taken
}

func TestEveryProcessHasItsTheory(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, th := range theories {
		p, _ := must.Get2(parse(th.process))(t)
		covered[p.name] = true
	}
	for _, p := range processes {
		if !covered[p.name] {
			t.Errorf("process %s has no row in the table of theories", p.name)
		}
	}
}

// each runs a check for every process, rate and seed.
func each(t *testing.T, check func(t *testing.T, th theory, spec Spec, seed uint64)) {
	for _, th := range theories {
		for _, rate := range []float64{0.001, 1, 37.5, 100_000} {
			spec := Spec{Rate: rate, Process: th.process}
			t.Run(fmt.Sprintf("%s/%g", th.process, rate), func(t *testing.T) {
				t.Parallel()
				for _, seed := range seeds {
					check(t, th, spec, seed)
				}
			})
		}
	}
}

func TestTimesAscendAndRepeat(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, th theory, spec Spec, seed uint64) {
		times := take(spec.Times(seed), 5000)
		if times[0] < 0 || !slices.IsSorted(times) {
			t.Errorf("seed %d: times do not ascend from 0", seed)
		}
		if th.first == 0 && times[0] != 0 {
			t.Errorf("seed %d: the first time is %d, want 0", seed, times[0])
		}
		if !slices.Equal(times, take(spec.Times(seed), 5000)) {
			t.Errorf("seed %d gives other times the second time", seed)
		}
		if th.cv > 0 && slices.Equal(times, take(spec.Times(seed+1), 5000)) {
			t.Errorf("seeds %d and %d give the same times", seed, seed+1)
		}
	})
}

// TestGapsFollowTheory bounds each figure by five of its standard errors, plus
// the rounding of times to whole nanoseconds.
func TestGapsFollowTheory(t *testing.T) {
	t.Parallel()
	const n = 10_000
	root := math.Sqrt(n)
	each(t, func(t *testing.T, th theory, spec Spec, seed uint64) {
		times := take(spec.Times(seed), n+1)
		mean := second / spec.Rate
		gaps := make([]float64, n)
		for i := range gaps {
			gaps[i] = float64(times[i+1]-times[i]) / mean
		}
		grain := 1 / mean
		bound := func(what string, got, want, error float64) {
			if !(math.Abs(got-want) <= 5*error+grain) {
				t.Errorf("seed %d: %s is %g, want %g ± %g", seed, what, got, want, 5*error+grain)
			}
		}
		bound("mean gap", stats.Mean(gaps), 1, th.cv/root)
		// The standard error of a variance comes from the fourth moment.
		bound("gap variance", stats.Variance(gaps), th.cv*th.cv, th.cv*th.cv*math.Sqrt((th.tail-1)/n))
		if th.cv > 0 {
			bound("lag-1 autocorrelation", stats.Autocorrelation(gaps, 1), 0, 1/root)
		}
	})
}

// TestCountsFollowTheory looks at whole windows of many gaps, where the index
// of dispersion of a renewal process comes near the squared CV of its gaps:
// the correction is of the order of one gap in the window.
func TestCountsFollowTheory(t *testing.T) {
	t.Parallel()
	const n, perWindow = 20_000, 100
	each(t, func(t *testing.T, th theory, spec Spec, seed uint64) {
		times := take(spec.Times(seed), n)
		got := stats.IndexOfDispersion(times, int64(perWindow*second/spec.Rate))
		want := th.cv * th.cv
		if stated := spec.Dispersion(); math.Abs(stated-want) > 1e-12 {
			t.Errorf("dispersion %g, want %g", stated, want)
		}
		// A variance of w window counts that are nearly normal has a relative
		// standard error of sqrt(2/w); skewed counts need more, by the tail.
		w := float64(n) / perWindow
		error := want * math.Sqrt((2+th.tail/perWindow*math.Max(1, want))/w)
		edge := (1 + want*want) / perWindow
		if !(math.Abs(got-want) <= 5*error+edge) {
			t.Errorf("seed %d: index of dispersion is %g, want %g ± %g", seed, got, want, 5*error+edge)
		}
	})
}

func TestOneSeedGivesOnePatternAtEveryRate(t *testing.T) {
	t.Parallel()
	for _, th := range theories {
		slow := take(Spec{Rate: 1, Process: th.process}.Times(4), 1000)
		fast := take(Spec{Rate: 1000, Process: th.process}.Times(4), 1000)
		for i := range slow {
			if d := float64(slow[i])/1000 - float64(fast[i]); math.Abs(d) > 2 {
				t.Errorf("%s: arrival %d is %g ns off its place", th.process, i, d)
				break
			}
		}
	}
}
