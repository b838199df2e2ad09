package metric

import (
	"math"
	"slices"

	"redline/internal/llm"
	"redline/internal/stats"
)

// Opening compares the beginning of a window with its end, in milliseconds: the
// lower quartile over the ok requests due in its first fifth with the upper one
// over those due in its second half. Where the first is the larger, the server
// was slow to begin with and then no longer; chance seldom turns them round.
type Opening struct {
	FirstTTFT float64 `json:"first_ttft_p25_ms"`
	LaterTTFT float64 `json:"later_ttft_p75_ms"`
	// Absent where replies have no time per token.
	FirstTPOT *float64 `json:"first_tpot_p25_ms,omitempty"`
	LaterTPOT *float64 `json:"later_tpot_p75_ms,omitempty"`
}

// minToCompare is the number of requests in either part below which their
// quartiles say nothing.
const minToCompare = 8

// opening is nil where either part is too small.
func (c *collector) opening() *Opening {
	o := &Opening{}
	first, later, ok := c.ends(ttft)
	if !ok {
		return nil
	}
	o.FirstTTFT, o.LaterTTFT = first, later
	if first, later, ok := c.ends(tpot); ok {
		o.FirstTPOT, o.LaterTPOT = &first, &later
	}
	return o
}

// ends gives a figure's lower quartile at the beginning of the window and its
// upper one at the end, in milliseconds.
func (c *collector) ends(f figure) (first, later float64, ok bool) {
	length := c.o.End - c.o.Start
	early := c.okValues(f, func(due int64) bool { return due < c.o.Start+length/5 })
	late := c.okValues(f, func(due int64) bool { return due >= c.o.Start+length/2 })
	if min(len(early), len(late)) < minToCompare {
		return 0, 0, false
	}
	return round(stats.Quantile(early, 0.25) / 1e6), round(stats.Quantile(late, 0.75) / 1e6), true
}

// okValues is a figure of the ok requests that were due in a part of the
// window, ascending.
func (c *collector) okValues(f figure, within func(due int64) bool) []float64 {
	var values []float64
	for q := range c.requests.all {
		if q.outcome == llm.OK && within(q.due) && !math.IsNaN(q.figures[f]) {
			values = append(values, q.figures[f])
		}
	}
	slices.Sort(values)
	return values
}
