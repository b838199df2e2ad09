package trace

import (
	"time"

	"redline/internal/stats"
)

// Timestamps are taken for coarse when no two different ones are closer than
// finestStep: clocks that are read for each request differ by less sooner or
// later. Steps above coarsestStep are taken for bursts that were meant.
const (
	finestStep   = 500 * time.Millisecond
	coarsestStep = 5 * time.Second
	minSteps     = 10
)

// quantum is the step of coarse ascending timestamps, 0 for fine ones.
func quantum(times []int64) time.Duration {
	step, steps, shared := int64(coarsestStep)+1, 0, 0
	for i := 1; i < len(times); i++ {
		gap := times[i] - times[i-1]
		if gap == 0 {
			shared++
			continue
		}
		steps++
		if step = min(step, gap); step < int64(finestStep) {
			return 0
		}
	}
	if steps < minSteps || shared*10 < len(times) || step > int64(coarsestStep) {
		return 0
	}
	return time.Duration(step)
}

// spreadTimes moves times that are equal to random places within the step that
// begins there: the same places every time, and in order.
func spreadTimes(times []int64, step time.Duration) {
	for from := 0; from < len(times); {
		to := from + 1
		for to < len(times) && times[to] == times[from] {
			to++
		}
		r := stats.Rand(0, "spread", uint64(from))
		for i, place := range spacings(to-from, 1, r.ExpFloat64) {
			times[from+i] += int64(place * float64(step))
		}
		from = to
	}
}

// spacings gives n ascending places in (0, 1) whose distances are in
// proportion to n+1 draws; exponential draws give those of n uniform ones,
// sorted. scale stretches them.
func spacings(n int, scale float64, draw func() float64) []float64 {
	places := make([]float64, n)
	sum := 0.0
	for i := range places {
		sum += draw()
		places[i] = sum
	}
	sum += draw()
	for i := range places {
		places[i] *= scale / sum
	}
	return places
}
