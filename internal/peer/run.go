package peer

import "redline/internal/drive/table"

// Run is what was measured of one plan.
type Run struct {
	*table.Run
	Plan Plan
}

func ttft(q *table.Request) (float64, bool)    { return q.TTFT, true }
func tpot(q *table.Request) (float64, bool)    { return q.TPOT(), q.Out > 1 }
func latency(q *table.Request) (float64, bool) { return q.Latency, true }
func whole(q *table.Request) (float64, bool)   { return q.Whole, true }
func queue(q *table.Request) (float64, bool)   { return q.Queue, true }
func inputs(q *table.Request) (float64, bool)  { return float64(q.In), true }
func outputs(q *table.Request) (float64, bool) { return float64(q.Out), true }
