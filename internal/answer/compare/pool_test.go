package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/result"
)

// The expected figures are those of numpy and scipy 1.17.1:
//
//	v.std(ddof=1) / v.mean(); stats.t.interval(0.95, 4, v.mean(), stats.sem(v))
func TestPoolShowsTheVariationBetweenRuns(t *testing.T) {
	t.Parallel()
	runs := runsOf("r", 100, 104, 98, 101, 103)
	broken := run("x", 500, func(r *result.Result) { r.Interrupted = result.Killed })
	other := run("y", 500, func(r *result.Result) { r.Workload.Name = "rag" })
	got := Pool(append(runs, broken, other))
	want := &PoolSummary{Runs: 5,
		Metrics: []Spread{{Name: "ttft:p99", Unit: "ms", N: 5, Mean: 101.2, Min: 98, Max: 104,
			CV: new(0.023591573885994713), WithinCV: new(0.005),
			Interval: &[2]float64{98.23556783493339, 104.16443216506661}}},
		Warnings: []result.Warning{{Text: "run x does not count: it was cut short, so that it lacks its slowest requests"},
			{Text: "run y does not count: workload: chat against rag"}}}
	expect.Same(t, want, got, nineDigits)
}

func TestPoolOfLittle(t *testing.T) {
	t.Parallel()
	expect.NoDiff(t, cmp.Diff(&PoolSummary{Metrics: []Spread{}}, Pool(nil)), "no runs (-want +got)")
	want := &PoolSummary{Runs: 1, Metrics: []Spread{{Name: "ttft:p99", Unit: "ms", N: 1, Mean: 100, Min: 100, Max: 100,
		WithinCV: new(0.005)}}}
	expect.NoDiff(t, cmp.Diff(want, Pool(runsOf("r", 100)), nineDigits), "one run (-want +got)")
	// Two runs that lie far apart bound a latency no better than by nothing,
	// and a share by all.
	apart := runsOf("r", 10, 1000)
	for i, share := range []float64{0.2, 0.9} {
		withCounts(1000, 0, share, 4000)(apart[i])
	}
	got := Pool(apart)
	for _, m := range got.Metrics {
		if m.Name == "ttft:p99" && m.Interval[0] != 0 || m.Name == "good:fraction" && *m.Interval != [2]float64{0, 1} {
			t.Errorf("%s: interval %v", m.Name, *m.Interval)
		}
	}
	same := runsOf("r", 100, 100)
	same[1].Seed = same[0].Seed
	if w := texts(Pool(same).Warnings); len(w) != 1 || w[0] != "runs share a seed: their spread shows the server's, not that of the requests" {
		t.Errorf("runs of one seed: warnings %v", w)
	}
}

func TestPoolOfCurvesNamesTheLoads(t *testing.T) {
	t.Parallel()
	var runs []*result.Result
	for _, r := range runsOf("r", 100, 110) {
		withLoads(5, 10)(r)
		runs = append(runs, r)
	}
	var got []string
	for _, m := range Pool(runs).Metrics {
		got = append(got, m.Name+" "+m.Load)
	}
	expect.Same(t, []string{"ttft:p99 5/s", "ttft:p99 10/s"}, got)
}
