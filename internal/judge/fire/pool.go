package fire

import (
	"redline/internal/judge/result"
	"redline/internal/stats"
)

// alpha is the chance with which cycles of a healthy server are called a leak together,
// level that of the interval.
const alpha, level = 0.05, 0.95

// PoolLeaks judges cycles of load and rest together; nil where there are not two that
// were judged. A gauge that wanders looks like a leak in a cycle now and then: it is one
// where more cycles say so than chance has in 5% of such runs.
func PoolLeaks(cycles []*result.Leak) *result.Leak {
	out := &result.Leak{Standing: result.NoLeak}
	var rates []float64
	var chance, left, bound float64
	closed := 0
	for _, l := range cycles {
		if l == nil || l.FalseAlarm == nil {
			continue
		}
		out.Cycles++
		if l.Standing == result.Leaks {
			out.CalledIn++
		}
		chance = max(chance, *l.FalseAlarm)
		out.Closed, out.Cut, out.Prompt, out.Output, out.WaitedS = out.Closed+l.Closed, out.Cut+l.Cut, out.Prompt+l.Prompt, out.Output+l.Output, max(out.WaitedS, l.WaitedS)
		if n := l.Closed + l.Cut; l.KVPer1000 != nil {
			rates, closed = append(rates, *l.KVPer1000), closed+n
			left, bound = left+*l.KVPer1000*float64(n), bound+*l.KVBound*float64(n)
		}
		out.Gauges, out.Missing = joinGauges(out.Gauges, l.Gauges), l.Missing
	}
	if out.Cycles < 2 {
		return nil
	}
	n, needed := float64(out.Cycles), 1.0
	for stats.BinomialAtLeast(needed, n, chance) > alpha {
		needed++
	}
	out.FalseAlarm = new(stats.BinomialAtLeast(needed, n, chance))
	if float64(out.CalledIn) >= needed {
		out.Standing = result.Leaks
	}
	if closed > 0 {
		out.KVPer1000, out.KVBound = new(left/float64(closed)), new(bound/float64(closed))
	}
	if len(rates) > 1 {
		t := stats.OneSampleT(rates, level)
		out.KVInterval, out.KVBound = &[2]float64{t.Lo, t.Hi}, new(max(t.Hi, *out.KVBound))
	}
	return out
}

// joinGauges lays the gauges of one more cycle behind those before: from the first rest to the
// last, and back where they always came back.
func joinGauges(before, next []result.GaugeReturn) []result.GaugeReturn {
	if before == nil {
		return append(before, next...)
	}
	for i := range before {
		for _, g := range next {
			b := &before[i]
			if g.Name != b.Name {
				continue
			}
			b.After = g.After
			if b.ReturnS == nil || g.ReturnS == nil {
				b.ReturnS = nil
				continue
			}
			b.ReturnS = new(max(*b.ReturnS, *g.ReturnS))
		}
	}
	return before
}
