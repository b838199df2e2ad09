package search

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"redline/internal/slo"
	"redline/internal/stats"
)

// trial is one whole search in virtual time. searched and sustained are the
// requests due in windows, before the sustained runs and in them; offered is
// everything, warm-ups and cool-downs too.
type trial struct {
	answer                       Limit
	levels                       []Level
	searched, sustained, offered int
}

// runSearch conducts a search against an engine as the program does it: every
// level is measured by package metric, and the luck of its draw is told.
func runSearch(t testing.TB, e engine, seed uint64, spec Spec, objectives ...slo.Objective) trial {
	t.Helper()
	s, err := New(spec, objectives)
	if err != nil {
		t.Fatal(err)
	}
	var got trial
	for level, ok := s.Next(); ok; level, ok = s.Next() {
		g := e.level(t, 1000*seed+uint64(level.Draw), level.Rate, level.Duration)
		o := FromPoint(g.point(t, level.Rate, objectives))
		if e.drawsLengths {
			prompt, output := g.meanShape()
			mean := chatMean()
			o.Work = Luck(o.Work, prompt/mean[0], output/mean[1])
		}
		s.Observe(level, o)
		got.levels = append(got.levels, level)
		got.offered += len(g.trips)
		if level.Purpose == Sustain {
			got.sustained += o.Requests
		} else {
			got.searched += o.Requests
		}
		if len(got.levels) > 60 {
			t.Fatalf("no end after %v", got.levels)
		}
	}
	got.answer = s.Answer()
	return got
}

// chatMean is the mean prompt and output of the workload.
var chatMean = sync.OnceValue(func() [2]float64 {
	r, sum := stats.Rand(1, "mean", 0), [2]int{}
	for range 1_000_000 {
		s := chatShape(r)
		sum[0] += s.prompt
		sum[1] += s.output
	}
	return [2]float64{float64(sum[0]) / 1e6, float64(sum[1]) / 1e6}
})

// meanShape is the mean prompt and output of the window's requests.
func (g stage) meanShape() (prompt, output float64) {
	n, sum := 0, [2]int{}
	for _, one := range g.trips {
		if one.due >= g.start && one.due < g.stop {
			n++
			sum[0] += one.prompt
			sum[1] += one.output
		}
	}
	return float64(sum[0]) / float64(max(n, 1)), float64(sum[1]) / float64(max(n, 1))
}

// firstSeed begins the seeds of the trials. The constants of the belief were
// chosen on the seeds from 1 to 100 (REDLINE_LIMIT_SEED=1).
const firstSeed = 2001

// runTrials runs n searches, one on each processor.
func runTrials(t testing.TB, e engine, n int, o slo.Objective) []trial {
	trials := make([]trial, n)
	first := cmp.Or(count(t, "REDLINE_LIMIT_SEED"), firstSeed)
	parts := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for part := range parts {
		all.Go(func() {
			for i := part; i < n; i += parts {
				trials[i] = runSearch(t, e, uint64(first+i), Spec{}, o)
			}
		})
	}
	all.Wait()
	return trials
}

// score is how trials compare with the truth. Errors and half-widths are
// shares of the truth; loads are in seconds at the limit, of which twelve even
// levels of a minute to twice the limit take 780.
type score struct {
	trials, covered, confirmed    int
	errors, signed, halves        []float64
	search, everything, withWarms []float64
}

func (s *score) add(g trial, limit float64) {
	a := g.answer
	s.trials++
	if a.Interval[0] <= limit && limit <= a.Interval[1] {
		s.covered++
	}
	if a.Confirmed {
		s.confirmed++
	}
	s.errors = append(s.errors, math.Abs(a.Rate/limit-1))
	s.signed = append(s.signed, a.Rate/limit-1)
	s.halves = append(s.halves, (a.Interval[1]-a.Interval[0])/2/limit)
	s.search = append(s.search, float64(g.searched)/limit)
	s.everything = append(s.everything, float64(g.searched+g.sustained)/limit)
	s.withWarms = append(s.withWarms, float64(g.offered)/limit)
}

func (s *score) join(other score) {
	s.trials += other.trials
	s.covered += other.covered
	s.confirmed += other.confirmed
	s.errors = append(s.errors, other.errors...)
	s.halves = append(s.halves, other.halves...)
	s.search = append(s.search, other.search...)
	s.everything = append(s.everything, other.everything...)
	s.withWarms = append(s.withWarms, other.withWarms...)
}

func quantile(values []float64, p float64) float64 {
	return stats.Quantile(slices.Sorted(slices.Values(values)), p)
}
