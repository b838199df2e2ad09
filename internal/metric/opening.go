package metric

import (
	"math"
	"slices"

	"redline/internal/llm"
	"redline/internal/stats"
)

// Opening compares the beginning of a window with its end: medians over the ok
// requests due in its first fifth and in its second half, in milliseconds. What
// was slow to begin with, and then no longer, shows here.
type Opening struct {
	FirstTTFT float64 `json:"first_ttft_ms"`
	LaterTTFT float64 `json:"later_ttft_ms"`
	// Absent where replies have no time per token.
	FirstTPOT *float64 `json:"first_tpot_ms,omitempty"`
	LaterTPOT *float64 `json:"later_tpot_ms,omitempty"`
}

// fewestToCompare is the number of requests in either part below which their
// medians say nothing.
const fewestToCompare = 8

// opening is nil where either part is too small.
func (c *collector) opening() *Opening {
	length := c.o.End - c.o.Start
	first := func(due int64) bool { return due < c.o.Start+length/5 }
	later := func(due int64) bool { return due >= c.o.Start+length/2 }
	early, n := c.median(ttft, first)
	late, m := c.median(ttft, later)
	if min(n, m) < fewestToCompare {
		return nil
	}
	o := &Opening{FirstTTFT: early, LaterTTFT: late}
	early, n = c.median(tpot, first)
	late, m = c.median(tpot, later)
	if min(n, m) >= fewestToCompare {
		o.FirstTPOT, o.LaterTPOT = &early, &late
	}
	return o
}

// median of a figure over the ok requests that were due in a part of the
// window, in milliseconds, and of how many.
func (c *collector) median(f figure, within func(due int64) bool) (float64, int) {
	var values []float64
	for q := range c.requests.all {
		if q.outcome == llm.OK && within(q.due) && !math.IsNaN(q.figures[f]) {
			values = append(values, q.figures[f])
		}
	}
	slices.Sort(values)
	return round(stats.Quantile(values, 0.5) / 1e6), len(values)
}
