package telemetry

import (
	"math"
	"time"
)

// schedDelays is the runtime's histogram of how long goroutines that could run
// waited for a thread to run them.
const schedDelays = "/sched/latencies:seconds"

// growth says by how much a bucket of a histogram grew. Few buckets grow
// between two samples, so only those are kept.
type growth struct {
	bucket int
	by     uint64
}

// histogramGrowth compares two states of a histogram; without an earlier one nothing is
// known to have grown.
func histogramGrowth(before, now []uint64) []growth {
	if len(before) != len(now) {
		return nil
	}
	var all []growth
	for i, n := range now {
		if n > before[i] {
			all = append(all, growth{i, n - before[i]})
		}
	}
	return all
}

// delayPercentiles gives the p99 and the maximum of what was gathered, each as the upper
// edge of its bucket.
func delayPercentiles(gathered [][]growth, edges []float64) (p99, most time.Duration) {
	counts := make([]uint64, max(0, len(edges)-1))
	var total uint64
	for _, some := range gathered {
		for _, g := range some {
			counts[g.bucket] += g.by
			total += g.by
		}
	}
	rank := uint64(math.Ceil(0.99 * float64(total)))
	var below uint64
	for i, n := range counts {
		if n == 0 {
			continue
		}
		edge := upperEdge(edges, i)
		if below < rank && below+n >= rank {
			p99 = edge
		}
		most, below = edge, below+n
	}
	return p99, most
}

// upperEdge is the end of a bucket, or its start where it is open.
func upperEdge(edges []float64, bucket int) time.Duration {
	edge := edges[bucket+1]
	if math.IsInf(edge, 1) {
		edge = edges[bucket]
	}
	return time.Duration(edge * float64(time.Second))
}
