package account

import (
	"math"

	"redline/internal/drive/record"
)

// group is the output events of one request that share a stamp.
type group struct {
	at     int64
	tokens int
	events int
}

// appendGroups appends a record's groups to an empty scratch slice.
func appendGroups(r *record.Record, scratch []group) []group {
	for at, tokens := range r.Chunks() {
		if n := len(scratch); n > 0 && scratch[n-1].at == at {
			scratch[n-1].tokens += tokens
			scratch[n-1].events++
			continue
		}
		scratch = append(scratch, group{at, tokens, 1})
	}
	return scratch
}

// gaps are those of one request that ended in the window, in whole
// microseconds, as records have them.
type gaps struct {
	us     []uint32
	tokens []uint16 // empty where every gap brought one token
	start  int64    // the stamp before the first gap, ns
	known  bool     // tokens per event are known: the gaps count as itl too
}

// tokenCounter is the tokens of a group whose gap counts as itl, by the rule of its
// record.
func tokenCounter(r *record.Record) (of func(group) int, known bool) {
	if r.Eventless() > 0 {
		return func(g group) int { return g.events }, true
	}
	return func(g group) int { return g.tokens }, r.TokensKnown()
}

// take replaces the gaps by those between a record's groups that end in
// [start, end), in the same memory. A thinned record has none.
func (g *gaps) take(r *record.Record, groups []group, start, end int64) {
	of, known := tokenCounter(r)
	*g = gaps{us: g.us[:0], tokens: g.tokens[:0], known: known}
	ones := true
	if r.Thinned() {
		groups = nil
	}
	for i := 1; i < len(groups); i++ {
		if groups[i].at < start || groups[i].at >= end {
			continue
		}
		if len(g.us) == 0 {
			g.start = groups[i-1].at
		}
		g.us = append(g.us, uint32(min((groups[i].at-groups[i-1].at)/1000, math.MaxUint32)))
		tokens := of(groups[i])
		g.tokens = append(g.tokens, uint16(min(tokens, math.MaxUint16)))
		ones = ones && tokens == 1
	}
	if ones || !g.known {
		g.tokens = g.tokens[:0]
	}
}

// plain reports whether a record's gaps in the window are the same as itl and
// as icl.
func plain(r *record.Record, groups []group, start, end int64) bool {
	if r.Thinned() {
		return true
	}
	of, known := tokenCounter(r)
	for i := 1; i < len(groups); i++ {
		if at := groups[i].at; at >= start && at < end && (!known || of(groups[i]) != 1) {
			return false
		}
	}
	return true
}

// icl walks over the gaps between distinct stamps, in ms, with their ends.
func (g *gaps) icl(yield func(int64, float32) bool) {
	at := g.start
	for _, us := range g.us {
		at += int64(us) * 1000
		if !yield(at, float32(us)/1000) {
			return
		}
	}
}

// itl walks over the gaps between tokens, in ms: k tokens that came g after the
// group before them are k gaps of g/k. An event without a token leaves its gap
// to the tokens after it.
func (g *gaps) itl(yield func(int64, float32) bool) {
	if !g.known {
		return
	}
	at, elapsed := g.start, uint32(0)
	for i, us := range g.us {
		at += int64(us) * 1000
		elapsed += us
		tokens := 1
		if len(g.tokens) > 0 {
			tokens = int(g.tokens[i])
		}
		if tokens == 0 {
			continue
		}
		ms := float32(elapsed) / float32(tokens) / 1000
		elapsed = 0
		for range tokens {
			if !yield(at, ms) {
				return
			}
		}
	}
}

// maxGap is a request's stall in ns, 0 where all came in one stamp, and the
// group that ends it.
func maxGap(groups []group) (ns int64, ends group) {
	for i := 1; i < len(groups); i++ {
		if gap := groups[i].at - groups[i-1].at; gap > ns {
			ns, ends = gap, groups[i]
		}
	}
	return ns, ends
}

// tails finds the p99 gap of single requests, in memory that it reuses.
type tails struct {
	gaps  gaps
	space workspace
}

// of gives a request's own p99 of icl and itl in ns, 0 where it has none.
func (t *tails) of(r *record.Record, groups []group) (icl, itl int64) {
	t.gaps.take(r, groups, math.MinInt64, math.MaxInt64)
	icl = t.tail(t.gaps.icl)
	if t.gaps.known && len(t.gaps.tokens) == 0 {
		return icl, icl
	}
	return icl, t.tail(t.gaps.itl)
}

// tail is the p99 of one request's gaps in whole ns, or their maximum where they
// are fewer than a hundred.
func (t *tails) tail(from values) int64 {
	s := t.space.sample(from)
	switch n := len(s.sorted); {
	case n == 0:
		return 0
	case n < 100:
		return int64(math.Round(float64(s.sorted[n-1]) * 1e6))
	}
	return int64(math.Round(s.quantile(0.99) * 1e6))
}

// gapCounts is how many gaps a whole request has, whichever window they ended
// in; 0 where they are not kept.
func gapCounts(r *record.Record, groups []group) (icl, itl int) {
	if len(groups) < 2 || r.Thinned() {
		return 0, 0
	}
	if of, known := tokenCounter(r); known {
		for _, g := range groups[1:] {
			itl += of(g)
		}
	}
	return len(groups) - 1, itl
}
