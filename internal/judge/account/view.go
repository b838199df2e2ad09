package account

import (
	"math"
	"slices"

	"redline/internal/judge/evidence"
	"redline/internal/judge/metric"
	"redline/internal/llm"
)

// view shows parts of what was collected, with the trust they deserve.
type view struct {
	*collector
	trust
	gaps  *tallies
	space *workspace
	last  *judgedSamples
	// judgesGood says that requests were told good from bad.
	judgesGood bool
}

func (c *collector) view(gaps *tallies, w metric.Window) view {
	return view{collector: c, gaps: gaps, space: &workspace{}, last: &judgedSamples{}, trust: trust{batches: c.batchesOf(everything), sound: w.Sound()}}
}

// eventlessShare is that of the gaps of itl in which a token without an event
// of its own is hidden.
func (v view) eventlessShare() float64 {
	return float64(v.tokens.Eventless) / float64(max(v.tokens.Events, 1))
}

// part selects requests by where they stand.
type part func(keys) bool

func everything(keys) bool { return true }

// of are the values of one figure over a part of the requests, in ms, at one of
// their ends.
func (v view) of(f figure, p part, e end) values {
	return func(yield func(int64, float32) bool) {
		for q := range v.requests.all {
			ns := q.at(f, e)
			if ns == ns && p(q.keys) && !yield(q.due, float32(ns/1e6)) {
				return
			}
		}
	}
}

// latency describes every figure over a part of the requests and its gaps.
func (v view) latency(p part, gaps *gapTally) metric.Latency {
	var l metric.Latency
	for _, f := range requestFigures {
		*l.Place(f.name) = v.dist(func(e end) source { return v.of(f.figure, p, e) }, v.trust, func() *evidence.Sample {
			return v.sampleOf(p, func(q *request) float64 { return q.figures[f.figure] / 1e6 })
		})
	}
	timedCount := func() int { return countAll(withTimes(v.requestsOf(p))).Due }
	l.ICL = v.dist(func(e end) source { return lateTally{tally: gaps.icl[e]} }, v.trust, func() *evidence.Sample {
		return v.observedGaps(lateTally{tally: gaps.icl[asMeasured]}, timedCount(), math.Inf(1))
	})
	trust := v.trust
	trust.eventless = v.eventlessShare()
	if v.gaps.plain && v.tokens.Eventless == 0 {
		if l.ICL != nil {
			l.ITL = new(*l.ICL)
		}
	} else if gaps.mostlyKnown() {
		l.ITL = v.dist(func(e end) source { return lateTally{tally: gaps.itl[e]} }, trust, func() *evidence.Sample {
			return v.observedGaps(lateTally{tally: gaps.itl[asMeasured]}, timedCount(), math.Inf(1))
		})
	}
	return l
}

// dist describes a figure, with its intervals where the window can carry them, and
// its ends where they differ from it.
func (v view) dist(of func(end) source, t trust, observed func() *evidence.Sample) *metric.Dist {
	percentiles := v.o.percentiles()
	d := of(asMeasured).sample(v.space).dist(percentiles)
	if d == nil {
		return nil
	}
	if !v.o.Rough {
		addIntervals(d, percentiles, t, observed)
	}
	if v.bounded {
		d.Low, d.High = differences(d, of(low).sample(v.space).dist(percentiles)), differences(d, of(high).sample(v.space).dist(percentiles))
	}
	return d
}

// inverse gives tokens per second from milliseconds per token, key by key: the
// percentile comes first, so the p99 is the speed that all but the slowest
// hundredth exceed, and max the slowest of all.
func inverse(d *metric.Dist) *metric.Dist {
	if d == nil {
		return nil
	}
	speed := &metric.Dist{N: d.N, Mean: perToken(d.Mean), Max: perToken(d.Max), P: map[string]float64{}, Firm: slices.Clone(d.Firm)}
	for k, ms := range d.P {
		speed.P[k] = perToken(ms)
	}
	for k, ci := range d.CI {
		if speed.CI == nil {
			speed.CI = map[string][2]float64{}
		}
		speed.CI[k] = [2]float64{perToken(ci[1]), perToken(ci[0])}
	}
	speed.Low, speed.High = inverses(d.High), inverses(d.Low)
	return speed
}

func inverses(ms map[string]float64) (speeds map[string]float64) {
	for k, v := range ms {
		if v > 0 {
			if speeds == nil {
				speeds = map[string]float64{}
			}
			speeds[k] = perToken(v)
		}
	}
	return speeds
}

func perToken(ms float64) float64 { return round(1000 / ms) }

// tokenCounts completes the sums with the distributions of lengths over ok
// requests. They are given, not measured: nothing about them is firm or weak.
func (v view) tokenCounts() metric.Tokens {
	t := v.tokens
	lengths := func(of func(*request) int32) *metric.Dist {
		return v.space.sample(func(yield func(int64, float32) bool) {
			for q := range v.requests.all {
				if n := of(q); q.outcome == llm.OK && n > 0 && !yield(q.due, float32(n)) {
					return
				}
			}
		}).dist(v.o.percentiles())
	}
	t.PromptLengths = lengths(func(q *request) int32 { return q.prompt })
	t.OutputLengths = lengths(func(q *request) int32 { return q.output })
	return t
}
