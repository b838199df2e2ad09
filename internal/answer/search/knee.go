package search

import (
	"cmp"
	"slices"
)

// kneeSpan is how far beyond the limit levels still belong to the curve on
// which the knee is looked for: an overload would dwarf every bend before it.
const kneeSpan = 1.25

// knee is the rate from which on latency grows faster than load: of the levels
// up to a little beyond the limit, scaled so that both rate and latency go
// from 0 to 1, the one that lies furthest below the straight line from first
// to last. Latency is taken as its highest so far, since load does not make a
// server faster. There is none on fewer than four levels, and none on a line
// that does not bend.
func (s *Search) knee(limit float64) *float64 {
	var curve []levelResult
	for _, l := range s.levels {
		if l.Latency > 0 && (limit == 0 || l.Rate <= kneeSpan*limit) {
			curve = append(curve, l)
		}
	}
	if len(curve) < 4 {
		return nil
	}
	slices.SortFunc(curve, func(a, b levelResult) int { return cmp.Compare(a.Rate, b.Rate) })
	for i := 1; i < len(curve); i++ {
		curve[i].Latency = max(curve[i].Latency, curve[i-1].Latency)
	}
	first, last := curve[0], curve[len(curve)-1]
	if last.Latency <= first.Latency || last.Rate <= first.Rate {
		return nil
	}
	var knee *float64
	furthest := minBend
	for _, l := range curve {
		below := (l.Rate-first.Rate)/(last.Rate-first.Rate) - (l.Latency-first.Latency)/(last.Latency-first.Latency)
		if below > furthest {
			furthest, knee = below, new(l.Rate)
		}
	}
	return knee
}

// minBend is how far below the line a knee must lie.
const minBend = 0.1
