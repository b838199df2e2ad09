package metric

import (
	"fmt"
	"math"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// cut is what a request that was still running at the end of the drain had
// shown by then, in ms since it was due. No request ends with it: it only tells
// a bound that was broken from one that was not yet.
type cut struct {
	first float32 // negative where nothing had come
	age   float32
}

func cutOff(r *record.Record) cut {
	c := cut{first: -1}
	if r.Outcome != llm.Censored {
		return c
	}
	if r.First != 0 {
		c.first = float32(r.First-r.Due) / 1e6
	}
	c.age = float32(max(r.Last, r.End)-r.Due) / 1e6
	return c
}

// shown is the figure of a request that is not ok: its first token's time where
// it came before the drain cut the request off, else more than any limit.
func (c cut) shown(metric string) float32 {
	if metric == "ttft" && c.first >= 0 {
		return c.first
	}
	return float32(math.Inf(1))
}

// unbroken reports whether a request that was cut off had not yet broken a
// limit on a metric: what it would have shown of its stream nobody knows.
func (c cut) unbroken(metric string, limitMS float64) bool {
	switch metric {
	case "ttft":
		return c.first < 0 && float64(c.age) <= limitMS
	case "e2e":
		return float64(c.age) <= limitMS
	}
	return true
}

// unbroken counts the requests that were cut off before they broke a limit.
// They are counted as violations, since nobody knows how they would have ended.
func (j judge) unbroken(metric string, limitMS float64) int {
	n := 0
	if isGap(metric) {
		return 0 // its gaps are not counted at all
	}
	for q := range j.requestsOf(j.part) {
		if q.outcome == llm.Censored && q.cut.unbroken(metric, limitMS) {
			n++
		}
	}
	return n
}

// cutShort says that violations are only requests that the drain cut off.
func cutShort(n int) string {
	return fmt.Sprintf("%s cut off before they had broken it: let the run end, and allow a longer drain", plural(n, "request was", "requests were"))
}
