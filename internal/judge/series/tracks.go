package series

import (
	"math"
	"slices"

	"redline/internal/judge/result"
)

// What a bin of a latency should hold, and how few bins still show a course: fewer
// for want of requests than for a higher percentile.
const (
	enough    = 20 // requests for a median and a p95
	enoughP99 = 100
	minBins   = 24
	bestBins  = 60
	// maxLatencyBins is as fine as a page can show three lines.
	maxLatencyBins = 120
	// mapBins is how many columns a map of gaps has at most.
	mapBins = maxBins / 2
)

func (t *timeline) latencies(out *result.Series) {
	requests, spread := 0, 0
	for i := range t.bins {
		if n := t.bins[i].took[e2e].n; n > 0 {
			requests, spread = requests+n, i+1
		}
	}
	many := 1
	for spread/many > maxLatencyBins || requests*many < enoughP99*spread && spread/many > bestBins || requests*many < enough*spread && spread/many > minBins {
		many *= 2
	}
	for i, place := range []**result.LatencyTrack{&out.TTFT, &out.TPOT, &out.E2E} {
		*place = t.latency(i, many)
	}
}

// latency is one of them over time, in bins of so many each; nil where nobody
// has it.
func (t *timeline) latency(figure, many int) *result.LatencyTrack {
	out := &result.LatencyTrack{BinS: t.seconds() * float64(many)}
	var kept []*histogram
	requests := 0
	for from := 0; from < len(t.bins); from += many {
		h := &histogram{}
		for i := from; i < min(from+many, len(t.bins)); i++ {
			h.join(&t.bins[i].took[figure])
		}
		if h.n > 0 {
			out.At, out.N, kept = append(out.At, from/many), append(out.N, h.n), append(kept, h)
			requests += h.n
		}
	}
	if len(kept) == 0 {
		return nil
	}
	read := func(share float64) []float64 {
		list := make([]float64, len(kept))
		for i, h := range kept {
			list[i] = h.quantile(share)
		}
		return list
	}
	out.P50 = read(0.5)
	switch typical := requests / len(kept); {
	case typical >= enoughP99:
		out.P95, out.P99 = read(0.95), read(0.99)
	case typical >= enough:
		out.P95 = read(0.95)
	default:
		out.Max = read(1)
	}
	return out
}

// gaps is the map of them, nil where nothing streamed.
func (t *timeline) gaps() *result.GapMap {
	many := (len(t.bins) + mapBins - 1) / mapBins
	low, high := math.MaxInt, -1
	for i := range t.bins {
		if g := &t.bins[i].gaps; g.n > 0 {
			low, high = min(low, g.low), max(high, g.low+len(g.counts)-1)
		}
	}
	if high < 0 {
		return nil
	}
	low = max(low, high-maxRows+1)
	out := &result.GapMap{BinS: t.seconds() * float64(many)}
	for row := low; row <= high; row++ {
		out.MS = append(out.MS, round(edge(row, coarse)))
		out.Counts = append(out.Counts, make([]int, (len(t.bins)+many-1)/many))
	}
	out.MS = append(out.MS, round(edge(high+1, coarse)))
	for i := range t.bins {
		g := &t.bins[i].gaps
		for j, n := range g.counts {
			out.Counts[max(g.low+j-low, 0)][i/many] += int(n)
		}
	}
	for i, counts := range out.Counts {
		if !slices.ContainsFunc(counts, func(n int) bool { return n > 0 }) {
			out.Counts[i] = []int{}
		}
	}
	return out
}
