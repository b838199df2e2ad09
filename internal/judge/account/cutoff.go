package account

import (
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// cutoff is what a request that was still running at the end of the drain, or when
// the user stopped the run, had shown by then, in ms since it was due. No request ends with it: it only tells
// a bound that was broken from one that was not yet.
type cutoff struct {
	first float32 // negative where nothing had come
	age   float32
	// pace and silence are the least that tpot and stall can have become: the
	// stream so far over all tokens that were asked for, and the time since its
	// last event. They are 0 where nothing had come.
	pace, silence float32
}

// wasStopped reports whether it was redline that ended the request.
func wasStopped(o llm.Outcome) bool { return o.Count().Judged == llm.ByProgress }

func cutOff(r *record.Record) cutoff {
	c := cutoff{first: -1}
	if !wasStopped(r.Outcome) {
		return c
	}
	until := max(r.Last, r.End)
	c.age = float32(until-r.Due) / 1e6
	if r.First == 0 {
		return c
	}
	c.first = float32(r.First-r.Due) / 1e6
	if r.Last != 0 { // a look at a run that goes on does not know it
		c.silence = float32(until-r.Last) / 1e6
	}
	if r.AskedOutput > 1 {
		c.pace = float32(until-r.First) / float32(r.AskedOutput-1) / 1e6
	}
	return c
}

// latencyBound is the figure of a request that is not ok: its first token's time where
// it came before the drain cut the request off, else more than any limit.
func (c cutoff) latencyBound(metric string) float32 {
	if metric == "ttft" && c.first >= 0 {
		return c.first
	}
	return float32(math.Inf(1))
}

// isUnbroken reports whether a request that was cut off had not yet broken a
// limit on a metric, whatever would have come of its stream.
func (c cutoff) isUnbroken(metric string, limitMS float64) bool {
	least := float32(0)
	switch metric {
	case "ttft":
		if c.first >= 0 {
			return false // it is known
		}
		least = c.age
	case "e2e":
		least = c.age
	case "tpot":
		least = c.pace
	case "stall":
		least = c.silence
	}
	return float64(least) <= limitMS
}

// mayBeGood counts the requests that were cut off before they broke any
// objective about them.
func (j judge) mayBeGood() int {
	n, objectives := 0, j.perRequest()
	for q := range j.requestsOf(j.part) {
		broken := func(o judgedObjective) bool {
			limit := o.Limit / 1e6
			return o.about(q.keys) && float64(q.cut.latencyBound(o.Metric)) > limit && !q.cut.isUnbroken(o.Metric, limit)
		}
		if wasStopped(q.outcome) && !slices.ContainsFunc(objectives, broken) {
			n++
		}
	}
	return n
}

// countUnbroken counts the requests that were cut off before they broke a limit.
// They are counted as violations, since how they would have ended is unknown.
func (j judge) countUnbroken(metric string, limitMS float64) int {
	n := 0
	if isGap(metric) {
		return 0 // its gaps are not counted at all
	}
	for q := range j.requestsOf(j.part) {
		if wasStopped(q.outcome) && q.cut.isUnbroken(metric, limitMS) {
			n++
		}
	}
	return n
}
