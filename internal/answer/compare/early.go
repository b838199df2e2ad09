package compare

import (
	"fmt"
	"math"

	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/text"
)

// leastEarly is how many runs it takes to say anything: two that show how runs
// differ, and a third.
const leastEarly = 3

// early compares the newest of a few runs with those before it: within which
// bounds it moved, by Student's t at 95% of each metric alone. They are wide,
// because a few runs say little about how much runs differ anyway.
func early(series []Sample, metrics []criterion, o DriftOptions) []result.Early {
	var list []result.Early
	for _, f := range metrics {
		var values []float64
		for _, s := range series {
			if v, ok := s.Values[f.name]; ok && f.usable(v) {
				values = append(values, f.nearest(s, values))
			}
		}
		if len(values) >= leastEarly {
			list = append(list, f.early(values, o.Tolerance))
		}
	}
	return list
}

func (f criterion) early(values []float64, tolerance float64) result.Early {
	before, newest := values[:len(values)-1], values[len(values)-1]
	n := float64(len(before))
	least := math.Log1p(tolerance) / 2 // runs that happen to agree are not alike for that
	if f.Share() {
		least = tolerance / 20
	}
	mean, spread := stats.Mean(before), max(math.Sqrt(stats.Variance(before)), least)
	reach := spread * math.Sqrt(1+1/n) * stats.StudentQuantile(0.975, n-1)
	moved := newest - mean
	e := result.Early{Metric: f.name, Unit: string(f.Unit), Runs: len(values), Before: mean, After: newest,
		Interval: [2]float64{moved - reach, moved + reach}, Outside: math.Abs(moved) > reach}
	if f.Share() {
		e.Share = true
		return e
	}
	e.Before, e.After = math.Exp(mean), math.Exp(newest)
	e.Interval = [2]float64{math.Expm1(moved - reach), math.Expm1(moved + reach)}
	return e
}

// earlyVerdict is what a few runs say, and how many more say it with confidence.
func earlyVerdict(d *result.Drift) string {
	more := text.Plural(d.Needs, "more run")
	for _, e := range d.Early {
		if e.Outside {
			return fmt.Sprintf("%s of the newest run is not like the %d before it: %s; %s for confidence", e.Metric, e.Runs-1, e.Words(), more)
		}
	}
	if len(d.Early) > 0 {
		return fmt.Sprintf("the newest run is within what the earlier runs leave open; %s for confidence", more)
	}
	return fmt.Sprintf("%d more runs are needed before a change can be told from chance", d.Needs)
}
