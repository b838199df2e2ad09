package account

import (
	"math"
	"slices"

	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/stats"
)

// minToCompare is the number of requests in either part below which their
// quartiles say nothing.
const minToCompare = 8

// opening is nil where either part is too small.
func (c *collector) opening() *metric.Opening {
	o := &metric.Opening{}
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
