package account

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/judge/metric"
)

// bunching compares how close together requests were sent with how close
// together they were due, at the distance at which they meet in a server: its
// median ttft. It is nil in a closed loop, where requests follow on replies.
func (c *collector) bunching(l metric.Latency) *metric.Bunching {
	if c.o.AskedRate == 0 && !c.o.Varies {
		return nil
	}
	within, ok := cmp.Or(l.TTFT, l.E2E).Get("p50")
	if !ok {
		return nil
	}
	within = min(max(within, 1), 1000)
	var due, sent []int64
	for q := range c.requests.all {
		if q.sent != 0 {
			due, sent = append(due, q.due), append(sent, q.sent)
		}
	}
	return &metric.Bunching{WithinMS: round(within), Due: neighbors(due, within), Sent: neighbors(sent, within)}
}

// neighbors is how many of some moments lie within so many ms before one of
// them, on average.
func neighbors(at []int64, withinMS float64) float64 {
	slices.Sort(at)
	first, total := 0, 0
	for i, t := range at {
		for t-at[first] > int64(math.Round(withinMS*1e6)) {
			first++
		}
		total += i - first
	}
	return round(float64(total) / float64(max(len(at), 1)))
}
