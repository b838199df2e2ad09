package compare

import (
	"fmt"
	"math"

	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/text"
)

// What a few runs say. Two or three of them do not show by how much runs differ,
// so the usual spread between runs is added as a prior.
const (
	// minEarly is how many runs it takes to say anything: two that show how runs
	// differ, and a third.
	minEarly = 3
	// minBefore is how many runs there must be before a large change; a pinned
	// one is enough.
	minBefore = 3
	// usualSpread is the spread between runs, of logarithms, that common
	// experience adds as so many runs more; usualShare is that of shares.
	usualSpread, usualShare, usualRuns = 0.06, 0.02, 6
	// largeStep is from which factor on a change is called at once, largeShare
	// from which difference of shares on.
	largeStep, largeShare = 2, 0.2
)

// earlyChanges compares the newest of a few runs with those before it: within which
// bounds it moved. They are wide, because a few runs say little about how much
// runs differ anyway, and hold for all metrics and looks together.
func earlyChanges(series []Sample, metrics []criterion) []result.Early {
	var list []result.Early
	for _, f := range metrics {
		var values []float64
		measured := 0.0
		for _, s := range series {
			if v, ok := s.Values[f.name]; ok && f.usable(v) {
				values, measured = append(values, f.nearestValue(s, values)), v
			}
		}
		if len(values) < minEarly {
			continue
		}
		e := f.earlyChange(values, len(metrics))
		if f.toScale(measured) != values[len(values)-1] {
			e.Measured = &measured
		}
		list = append(list, e)
	}
	return list
}

func (f criterion) earlyChange(values []float64, metrics int) result.Early {
	before, newest := values[:len(values)-1], values[len(values)-1]
	reach, mean := f.reach(before, 1, metrics), stats.Mean(before)
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

// reach is how far the mean of the last runs may lie from a few before them by
// chance: Student's t, corrected for all metrics and looks.
func (f criterion) reach(before []float64, last, metrics int) float64 {
	usual := usualSpread
	if f.Share() {
		usual = usualShare
	}
	freedom, squares := float64(usualRuns+len(before)-1), usualRuns*usual*usual
	if n := len(before); n > 1 {
		squares += stats.Variance(before) * float64(n-1)
	}
	each := alpha / (stats.Monitor{Runs: driftRuns, Creep: true}.Judgements() * float64(metrics))
	return math.Sqrt(squares/freedom*(1/float64(last)+1/float64(len(before)))) * stats.StudentQuantile(1-each/2, freedom)
}

// large reports whether all runs from one on lie so far beyond those before it,
// on one side, that a few runs are enough to call it.
func (c *course) large(at, metrics int) (stats.Change, bool) {
	before, after := c.level[:at], c.level[at:]
	found := stats.Change{At: at, P: alpha / float64(metrics), Before: stats.Median(before), After: stats.Median(after)}
	step := math.Log(largeStep)
	if c.Share() {
		step = largeShare
	}
	least := math.Inf(1)
	for _, v := range after {
		moved := v - stats.Mean(before)
		if least = min(least, math.Abs(moved)); least <= step || (moved > 0) != (found.After > found.Before) {
			return found, false
		}
	}
	return found, least > c.reach(before, len(after), metrics)
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
