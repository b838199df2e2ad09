package metric

import (
	"math"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// blur says which of a request's figures rest on an event whose time is only
// bounded, because it shared its read with a later one. Only what hangs on one
// event can be blurred so: the last output of a read has its own time, so e2e
// is exact; and tpot and decode spread what the first one hides over the whole
// reply.
type blur uint8

const (
	blurFirst blur = 1 << iota
	blurAnswer
	blurStall
)

// blurs ties figures to the event they rest on.
var blurs = [figureCount]blur{ttft: blurFirst, ttftDue: blurFirst, ttfa: blurAnswer, stall: blurStall}

func (b blur) has(f figure) bool { return b&blurs[f] != 0 }

// blurOf is which figures of a request are blurred, by what its events are known
// to be.
func blurOf(e record.Essence) (b blur) {
	for _, one := range []struct {
		is  bool
		bit blur
	}{{e.MergedFirst, blurFirst}, {e.MergedAnswer, blurAnswer}, {e.MergedStall, blurStall}} {
		if one.is {
			b |= one.bit
		}
	}
	return b
}

// merged looks at the reads that brought the first output, the first answer,
// and the end of the longest gap. Merged gaps are longer than each of them, so
// the longest is exact where a single event ends it.
func merged(e *record.Essence, r *record.Record, groups []group, stallEnd group) {
	if r.Coalesced == 0 || len(groups) == 0 {
		return
	}
	e.MergedFirst, e.MergedStall = groups[0].events > 1, stallEnd.events > 1
	for _, g := range groups {
		// Chunks are kept by the microsecond, stamps by the nanosecond.
		if d := g.at - r.Answer; r.Answer != 0 && d >= -500 && d <= 500 && g.events > 1 {
			e.MergedAnswer = true
		}
	}
}

// blurredShare is the share of a figure's values that are only bounded.
func (v view) blurredShare(f figure, p part) float64 {
	return v.share(p, func(q *request) (counts, blurred bool) {
		return !math.IsNaN(q.figures[f]), q.blurred.has(f)
	})
}

// uncertain is the share of the values judged, failed requests among them, that
// exceed a limit and are only bounded: they may not have exceeded it.
func (v view) uncertain(f figure, p part, limitMS float64) float64 {
	return v.share(p, func(q *request) (counts, uncertain bool) {
		return q.outcome != llm.OK || !math.IsNaN(q.figures[f]), q.blurred.has(f) && q.figures[f]/1e6 > limitMS
	})
}

// share is that of the requests which are such, of those that count.
func (v view) share(p part, such func(*request) (counts, is bool)) float64 {
	some, n := 0, 0
	for q := range v.requestsOf(p) {
		counts, is := such(q)
		if counts {
			n++
		}
		if counts && is {
			some++
		}
	}
	return float64(some) / float64(max(n, 1))
}

// doubts says which share of a metric's values may be counted as violations
// wrongly, and of which share violations may be overlooked. A bound from above
// errs on one side only. Gaps between tokens err on both: a gap that k tokens
// share hides the longest of theirs. As long as the percentile is firm, too few
// do so to matter.
func (j judge) doubts(metric string, p, limitMS float64) (doubtful, hidden float64) {
	switch metric {
	case "icl":
		return j.coalesced, 0
	case "itl":
		doubtful = j.boundedGaps(metric)
		if doubtful >= (1-p)/2 {
			hidden = doubtful
		}
		return doubtful, hidden
	}
	return j.uncertain(judgedFigure[metric], j.part, limitMS), 0
}
