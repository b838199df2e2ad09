package account

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"redline/internal/effort"
	"redline/internal/judge/evidence"
	"redline/internal/judge/metric"
	"redline/internal/stats"
)

func valuesOf(list []float32, at func(i int) int64) values {
	return func(yield func(int64, float32) bool) {
		for i, v := range list {
			if !yield(at(i), v) {
				return
			}
		}
	}
}

func TestSortFloats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 4*radixFrom).Draw(t, "n")
		r := stats.Rand(rapid.Uint64().Draw(t, "seed"), "sort", 0)
		list := make([]float32, n)
		for i := range list {
			switch r.IntN(4) {
			case 0:
				list[i] = float32(r.IntN(5))
			case 1:
				list[i] = float32(math.Inf(1))
			default:
				list[i] = float32(math.Exp(10 * r.NormFloat64()))
			}
		}
		want := slices.Clone(list)
		slices.Sort(want)
		w := workspace{values: list}
		if w.sort(); !slices.Equal(want, w.values) {
			t.Fatalf("%d values are not in order", n)
		}
	})
}

func TestQuantileIsType7(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float32Range(0, 1e6), 1, 50).Draw(t, "values")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		s := new(workspace).sample(valuesOf(list, func(int) int64 { return 0 }))
		doubles := make([]float64, len(s.sorted))
		for i, v := range s.sorted {
			doubles[i] = float64(v)
		}
		if got, want := s.quantile(p), stats.Quantile(doubles, p); math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Fatalf("quantile(%v) = %v, want %v", p, got, want)
		}
	})
}

func TestNumberOfBatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		windowS, meanS float64
		want           int
	}{
		{60, 1, 30}, {60, 0.1, maxBatches}, {60, 3.1, 9}, {60, 40, 1}, {60, 0, maxBatches},
	}
	for _, tt := range tests {
		if got := newBatches(0, int64(tt.windowS*second), tt.meanS*second).count; got != tt.want {
			t.Errorf("%v s of requests of %v s: %d batches, want %d", tt.windowS, tt.meanS, got, tt.want)
		}
	}
}

func TestBatchOfATime(t *testing.T) {
	t.Parallel()
	b := newBatches(100, 140, 0)
	for at, want := range map[int64]int{100: 0, 101: 1, 139: 39, 140: 39, 99: 0} {
		if got := b.of(at); got != want {
			t.Errorf("time %d falls into batch %d, want %d", at, got, want)
		}
	}
}

// correlatedLatencies makes latencies that remember one another over about twenty
// requests, as those of a queue do: log-normal over an AR(1) walk.
func correlatedLatencies(seed uint64, n int) []float32 {
	const memory = 0.95
	r := stats.Rand(seed, "remembering", 0)
	list := make([]float32, n)
	x := r.NormFloat64()
	for i := range list {
		x = memory*x + math.Sqrt(1-memory*memory)*r.NormFloat64()
		list[i] = float32(100 * math.Exp(0.5*x))
	}
	return list
}

// describeValues is a distribution of values that came one after another, and its
// intervals.
func describeValues(list []float32, percentiles []float64, t trust) *metric.Dist {
	d := new(workspace).sample(valuesOf(list, func(i int) int64 { return int64(i) })).dist(percentiles)
	addIntervals(d, percentiles, t, func() *evidence.Sample {
		observed := make([]evidence.Observation, len(list))
		for i, v := range list {
			observed[i] = evidence.Observation{At: float32(i), Value: v, Weight: 1, Group: evidence.Alone}
		}
		return evidence.New(observed, evidence.Window{Length: float64(len(list))})
	})
	return d
}

// TestIntervalsCoverTheTruth counts how often the 95 % interval holds the true
// percentile of latencies that depend on one another.
func TestIntervalsCoverTheTruth(t *testing.T) {
	t.Parallel()
	const n = 10_000
	runs := effort.Of(40, 100)
	normal := map[string]float64{"p50": 0, "p90": 1.281552, "p99": 2.326348}
	missed, width := map[string]int{}, map[string]float64{}
	for seed := range uint64(runs) {
		d := describeValues(correlatedLatencies(seed, n), []float64{50, 90, 99}, trust{batches: newBatches(0, n, 0), sound: true})
		for key, z := range normal {
			truth := 100 * math.Exp(0.5*z)
			ci, firm := d.CI[key]
			if !firm {
				// Too crowded: nothing bounds it.
				continue
			}
			width[key] += (ci[1] - ci[0]) / truth / float64(runs)
			if truth < ci[0] || truth > ci[1] {
				missed[key]++
			}
		}
	}
	for key := range normal {
		if missed[key] > runs*15/100 {
			t.Errorf("the interval of the %s missed the truth %d times in %d", key, missed[key], runs)
		}
		if width[key] > 0.7 || width[key] == 0 {
			t.Errorf("the interval of the %s is %.0f %% wide: it says nothing", key, 100*width[key])
		}
	}
	t.Logf("missed %v times in %d, mean width %.3v of the value", missed, runs, width)
}

func TestDependentValuesAreWorthLess(t *testing.T) {
	t.Parallel()
	const n = 800
	dist := func(list []float32) *metric.Dist {
		return describeValues(list, standard, trust{batches: newBatches(0, n, 0), sound: true})
	}
	r := stats.Rand(1, "independent", 0)
	independent := make([]float32, n)
	for i := range independent {
		independent[i] = float32(math.Exp(r.NormFloat64()))
	}
	if d := dist(independent); !d.IsFirm("p99") || d.IsFirm("p999") {
		t.Errorf("800 independent values: firm %v, want the p99 and not the p999", d.Firm)
	}
	reach := func(d *metric.Dist) float64 { return d.CI["p90"][1] / d.CI["p90"][0] }
	if alone, together := reach(dist(independent)), reach(dist(correlatedLatencies(3, n))); together < 1.5*alone {
		t.Errorf("the p90 is known within a factor of %.2f, and of %.2f where twenty values hang together", alone, together)
	}
}

func TestNothingIsFirmWithFewBatchesOrAnUnsoundWindow(t *testing.T) {
	t.Parallel()
	for name, tr := range map[string]trust{
		"nine batches": {batches: newBatches(0, 5000, 270), sound: true},
		"unsound":      {batches: newBatches(0, 5000, 0)},
	} {
		if d := describeValues(correlatedLatencies(1, 5000), standard, tr); d.Firm != nil || d.CI != nil {
			t.Errorf("%s: firm %v with intervals %v, want nothing", name, d.Firm, d.CI)
		}
	}
}
