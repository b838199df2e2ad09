// Package toggle says what an optimization does: it takes requests that were
// answered twice, with it and without, and gives p50 and p95 of both by prompt
// length, and the prompt lengths from which on it pays or hurts. It knows
// neither what the optimization is nor how the requests were made, reads no
// file and no clock.
package toggle

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/text"
)

// Request is one that was answered well on both sides.
type Request struct {
	Round int
	Due   int64 // nanoseconds from the beginning of its round
	// Context is the length of its prompt in tokens.
	Context       int
	With, Without Times
}

// Times are a request's figures in milliseconds by name, as far as they are
// known.
type Times = map[string]float64

const (
	// level is that of the intervals.
	level = 0.95
	// defaultTolerance is the relative change that makes no difference.
	defaultTolerance = 0.05
	// minBatches is what an interval needs.
	minBatches = 10
	// maxBatches is how finely a round is divided.
	maxBatches = 20
)

// metrics are those that are judged, the one that the verdict is about last.
var metrics = figure.Select(func(f *figure.Figure) bool { return f.Paired })

// Judge fills in what the requests say of a toggle. The tolerance is the relative
// change that makes no difference; 0 means 0.05.
func Judge(into *result.Toggle, requests []Request, tolerance float64) {
	tolerance = cmp.Or(tolerance, defaultTolerance)
	into.Requests = len(requests)
	into.Metrics, into.Buckets = []result.ToggleMetric{}, buckets(requests)
	if len(requests) == 0 {
		into.Verdict = "not compared: no request was answered on both sides"
		return
	}
	batches := batch(requests)
	into.Batches = len(batches)
	into.Range = rangeOf(requests)
	for _, m := range metrics {
		if one, ok := judge(m, batches, into.Range, tolerance); ok {
			into.Metrics = append(into.Metrics, one)
			into.Verdict = m + " " + one.Verdict
			if one.Verdict == tooFew {
				into.Verdict += fmt.Sprintf(": measure each setting for %s or more", text.Plural(minutesNeeded(batches), "minute"))
			}
		}
	}
	into.Verdict = cmp.Or(into.Verdict, "not compared: no request has a time")
}

// tooFew is the verdict on what has fewer than minBatches.
const tooFew = "too few requests to tell"

// minutesNeeded is how long each side has to be measured for enough batches.
func minutesNeeded(batches [][]Request) int {
	spans := map[int][2]int64{} // by round
	for _, b := range batches {
		for _, r := range b {
			span, seen := spans[r.Round]
			if !seen {
				span[0] = r.Due
			}
			spans[r.Round] = [2]int64{min(span[0], r.Due), max(span[1], r.Due)}
		}
	}
	total := time.Duration(0)
	for _, span := range spans {
		total += time.Duration(span[1] - span[0])
	}
	return int(math.Ceil(total.Minutes()*minBatches/float64(len(batches)) + 0.5)) // a half more than just enough
}

// batch divides the requests into pieces of time: in each of them at least twice
// as long as a request takes, since requests that meet in the engine are not
// independent.
func batch(requests []Request) [][]Request {
	rounds := map[int][]Request{}
	for _, r := range requests {
		rounds[r.Round] = append(rounds[r.Round], r)
	}
	var all [][]Request
	for _, n := range slices.Sorted(maps.Keys(rounds)) {
		all = append(all, divide(rounds[n])...)
	}
	return all
}

// divide cuts a round into equal times, as many as are long enough.
func divide(round []Request) [][]Request {
	first, last, busy := round[0].Due, round[0].Due, 0.0
	for _, r := range round {
		first, last = min(first, r.Due), max(last, r.Due)
		busy += max(r.With["e2e"], r.Without["e2e"]) * 1e6
	}
	length := float64(last-first) + 1
	n := int(length / max(1, 2*busy/float64(len(round))))
	n = max(1, min(n, maxBatches))
	pieces := make([][]Request, n)
	for _, r := range round {
		i := int(float64(r.Due-first) / length * float64(n))
		pieces[i] = append(pieces[i], r)
	}
	return slices.DeleteFunc(pieces, func(p []Request) bool { return len(p) == 0 })
}

// rangeOf is the prompt lengths but for the outermost fiftieth at each end, of
// which there are too few to say anything.
func rangeOf(requests []Request) [2]int {
	const edge = 0.02
	lengths := make([]float64, len(requests))
	for i, r := range requests {
		lengths[i] = float64(max(1, r.Context))
	}
	slices.Sort(lengths)
	return [2]int{int(stats.Quantile(lengths, edge)), int(math.Ceil(stats.Quantile(lengths, 1-edge)))}
}

// buckets are p50 and p95 of both sides by prompt length.
func buckets(requests []Request) []result.ToggleBucket {
	names := metric.BucketNames
	in := make([][]Request, len(names))
	for _, r := range requests {
		i := metric.Bucket(r.Context)
		in[i] = append(in[i], r)
	}
	out := []result.ToggleBucket{}
	for i, name := range names {
		if len(in[i]) == 0 {
			continue
		}
		one := result.ToggleBucket{Name: name, Requests: len(in[i]), Metrics: map[string]result.TogglePair{}}
		for _, m := range metrics {
			if pair, n := pairOf(in[i], m); n > 0 {
				one.Metrics[m] = pair
			}
		}
		out = append(out, one)
	}
	return out
}

// pairOf is the p50 and the p95 of the requests that have the figure on both sides.
func pairOf(requests []Request, name string) (result.TogglePair, int) {
	var with, without []float64
	for _, r := range requests {
		if a, b := r.With[name], r.Without[name]; a > 0 && b > 0 {
			with, without = append(with, a), append(without, b)
		}
	}
	if len(with) == 0 {
		return result.TogglePair{}, 0
	}
	slices.Sort(with)
	slices.Sort(without)
	return result.TogglePair{WithP50MS: stats.Quantile(with, 0.5), WithoutP50MS: stats.Quantile(without, 0.5),
		WithMS: stats.Quantile(with, 0.95), WithoutMS: stats.Quantile(without, 0.95)}, len(with)
}
