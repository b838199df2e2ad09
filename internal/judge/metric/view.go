package metric

import (
	"slices"

	"redline/internal/judge/slo"
	"redline/internal/llm"
)

// view shows parts of what was collected, with the trust they deserve.
type view struct {
	*collector
	trust
	gaps  *tallies
	space *workspace
	// judgesGood says that requests were told good from bad.
	judgesGood bool
}

func (c *collector) view(gaps *tallies, w Window) view {
	v := view{collector: c, gaps: gaps, space: &workspace{}, trust: trust{batches: c.batchesOf(slo.Scope{}), sound: w.sound()}}
	if c.tokens.Events > 0 {
		v.coalesced = float64(c.tokens.Coalesced) / float64(c.tokens.Events)
	}
	return v
}

// boundedGaps is the share of gaps that are not quite what they say: their time
// is only bounded or, for itl, a token without an event is in them.
func (v view) boundedGaps(name string) float64 {
	if name == "itl" && v.tokens.Events > 0 {
		return v.coalesced + float64(v.tokens.Eventless)/float64(v.tokens.Events)
	}
	return v.coalesced
}

// part selects requests by where they stand.
type part func(keys) bool

func everything(keys) bool { return true }

// of are the values of one figure over a part of the requests, in ms.
func (v view) of(f figure, p part) values {
	return func(yield func(int64, float32) bool) {
		for q := range v.requests.all {
			ns := q.figures[f]
			if ns == ns && p(q.keys) && !yield(q.due, float32(ns/1e6)) {
				return
			}
		}
	}
}

// latency describes every figure over a part of the requests and its gaps.
func (v view) latency(p part, gaps *tallied) Latency {
	var l Latency
	percentiles := v.o.percentiles()
	for _, f := range requestFigures {
		trust := v.trust
		trust.coalesced = v.blurredShare(f.figure, p)
		*f.place(&l) = v.space.sample(v.of(f.figure, p)).dist(percentiles, trust)
	}
	l.ICL = counted{tally: gaps.icl}.sample(v.space).dist(percentiles, v.trust)
	trust := v.trust
	trust.coalesced = v.boundedGaps("itl")
	if v.gaps.plain && v.tokens.Eventless == 0 {
		l.ITL = l.ICL.clone()
	} else if gaps.mostlyKnown() {
		l.ITL = counted{tally: gaps.itl}.sample(v.space).dist(percentiles, trust)
	}
	return l
}

func (d *Dist) clone() *Dist {
	if d == nil {
		return nil
	}
	return new(*d)
}

// inverse gives tokens per second from milliseconds per token, key by key: the
// percentile comes first, so the p99 is the speed that all but the slowest
// hundredth exceed, and max the slowest of all.
func inverse(d *Dist) *Dist {
	if d == nil {
		return nil
	}
	speed := &Dist{N: d.N, Mean: perToken(d.Mean), Max: perToken(d.Max), P: map[string]float64{}, Firm: slices.Clone(d.Firm)}
	for k, ms := range d.P {
		speed.P[k] = perToken(ms)
	}
	for k, ci := range d.CI {
		if speed.CI == nil {
			speed.CI = map[string][2]float64{}
		}
		speed.CI[k] = [2]float64{perToken(ci[1]), perToken(ci[0])}
	}
	return speed
}

func perToken(ms float64) float64 { return round(1000 / ms) }

// tokenCounts completes the sums with the distributions of lengths over ok
// requests. They are given, not measured: nothing about them is firm or weak.
func (v view) tokenCounts() Tokens {
	t := v.tokens
	lengths := func(of func(*request) int32) *Dist {
		return v.space.sample(func(yield func(int64, float32) bool) {
			for q := range v.requests.all {
				if n := of(q); q.outcome == llm.OK && n > 0 && !yield(q.due, float32(n)) {
					return
				}
			}
		}).dist(v.o.percentiles(), trust{})
	}
	t.PromptLengths = lengths(func(q *request) int32 { return q.prompt })
	t.OutputLengths = lengths(func(q *request) int32 { return q.output })
	return t
}
