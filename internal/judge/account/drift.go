package account

import (
	"math"
	"slices"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/stats"
)

// Drift is looked for in windows of driftFrom or more, cut into blocks of
// about driftBlock: fewer than ten show no trend, and more than thirty would
// only be noisier. Blocks near the limit depend on their neighbours, so that
// the chance asked for is small.
const (
	driftFrom                 = 5 * time.Minute
	driftBlock                = 30 * time.Second
	minBlocks, maxBlocks      = 10, 30
	driftChance, driftMatters = 0.01, 0.05
)

// drift is nil where the window is too short, or its rate changes by plan.
func (v view) drift() []metric.Drift {
	length := time.Duration(v.o.End - v.o.Start)
	if length < driftFrom || v.o.Varies {
		return nil
	}
	n := min(max(int(length/driftBlock), minBlocks), maxBlocks)
	var list []metric.Drift
	for _, f := range []struct {
		name   string
		figure figure
	}{{"ttft_p50", ttft}, {"tpot_p50", tpot}, {"e2e_p50", e2e}} {
		if series := v.medians(f.figure, n); series != nil {
			list = append(list, driftOf(f.name, series, length, stats.Median(series)))
		}
	}
	if series := v.hitRates(n); series != nil {
		list = append(list, driftOf("prefix_hit_rate", series, length, 1))
	}
	return list
}

// driftOf compares a series of blocks with no trend; the slope is shown over
// base.
func driftOf(name string, series []float64, length time.Duration, base float64) metric.Drift {
	block := length.Minutes() / float64(len(series))
	at := make([]float64, len(series))
	for i := range at {
		at[i] = block * (float64(i) + 0.5)
	}
	slope := stats.TheilSen(at, series, 0).Slope / base
	d := metric.Drift{Figure: name, PerMinute: round(slope), P: round(stats.MannKendall(series).P), Blocks: len(series)}
	d.Drifts = d.P < driftChance && math.Abs(slope)*length.Minutes() >= driftMatters
	return d
}

func (v view) block(q *request, n int) int {
	return min(int(float64(q.due-v.o.Start)/float64(v.o.End-v.o.Start)*float64(n)), n-1)
}

// medians gives a figure's median by block, nil where a block has none.
func (v view) medians(f figure, n int) []float64 {
	blocks := make([][]float64, n)
	for q := range v.requests.all {
		if ns := q.figures[f]; ns == ns && q.outcome == llm.OK {
			i := v.block(q, n)
			blocks[i] = append(blocks[i], ns/1e6)
		}
	}
	series := make([]float64, n)
	for i, values := range blocks {
		if len(values) == 0 {
			return nil
		}
		series[i] = stats.Median(values)
	}
	if stats.Median(series) <= 0 {
		return nil
	}
	return series
}

// hitRates gives the share of cached prompt tokens by block, nil where no
// reply named a cached one, or a block has no prompt.
func (v view) hitRates(n int) []float64 {
	cached, prompt := make([]float64, n), make([]float64, n)
	total := 0.0
	for q := range v.requests.all {
		if q.outcome == llm.OK {
			i := v.block(q, n)
			cached[i] += float64(q.cached)
			prompt[i] += float64(q.prompt)
			total += float64(q.cached)
		}
	}
	if total == 0 || slices.Min(prompt) == 0 {
		return nil
	}
	for i := range cached {
		cached[i] /= prompt[i]
	}
	return cached
}
