package metric

import (
	"math"
	"slices"

	"redline/internal/record"
)

// group is the output events of one request that share a stamp.
type group struct {
	at     int64
	tokens int
	events int
}

// grouped appends a record's groups to an empty scratch slice.
func grouped(r *record.Record, scratch []group) []group {
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

// gaps keeps every gap that ended in the window in four bytes: whole
// microseconds, as records have them, so that stamps can be rebuilt exactly.
// The tokens that came with a gap are kept only for streams in which they are
// not always one.
type gaps struct {
	us      []uint32
	tokens  []uint16
	streams []stream
}

// stream is the stretch of gaps that one request contributes.
type stream struct {
	keys     keys
	start    int64 // the stamp before the first gap, ns
	at, n    int
	tokensAt int  // -1 where every gap brought one token
	known    bool // tokens per event are known: the gaps count as itl too
}

// mostlyKnown reports whether the wanted streams whose tokens are known can
// speak for all: the few of a server that sends several tokens an event are the
// odd ones, not a sample.
func (g *gaps) mostlyKnown(want func(stream) bool) bool {
	const share = 0.9
	known, all := 0, 0
	for _, s := range g.streams {
		if !want(s) {
			continue
		}
		all += s.n
		if s.known {
			known += s.n
		}
	}
	return float64(known) >= share*float64(all)
}

// add keeps those gaps between groups that end in [start, end).
func (g *gaps) add(r *record.Record, k keys, groups []group, start, end int64) {
	s := stream{keys: k, at: len(g.us), tokensAt: -1, known: r.TokensKnown()}
	ones := true
	for i := 1; i < len(groups); i++ {
		if groups[i].at < start || groups[i].at >= end {
			continue
		}
		if s.n == 0 {
			s.start = groups[i-1].at
		}
		s.n++
		g.us = append(g.us, uint32(min((groups[i].at-groups[i-1].at)/1000, math.MaxUint32)))
		ones = ones && groups[i].tokens == 1
	}
	if s.n == 0 {
		return
	}
	if s.known && !ones {
		s.tokensAt = len(g.tokens)
		for _, grp := range groups[1:] {
			if grp.at >= start && grp.at < end {
				g.tokens = append(g.tokens, uint16(min(grp.tokens, math.MaxUint16)))
			}
		}
	}
	g.streams = append(g.streams, s)
}

// icl are the gaps between distinct stamps, in ms, with their ends.
func (g *gaps) icl(want func(stream) bool) values {
	return func(yield func(int64, float32) bool) {
		for _, s := range g.streams {
			if !want(s) {
				continue
			}
			at := s.start
			for _, us := range g.us[s.at : s.at+s.n] {
				at += int64(us) * 1000
				if !yield(at, float32(us)/1000) {
					return
				}
			}
		}
	}
}

// itl are the gaps between tokens, in ms: k tokens that came g after the group
// before them are k gaps of g/k.
func (g *gaps) itl(want func(stream) bool) values {
	return func(yield func(int64, float32) bool) {
		for _, s := range g.streams {
			if s.known && want(s) && !g.shared(s, yield) {
				return
			}
		}
	}
}

// shared walks one stream's gaps between tokens. An event without a token
// leaves its gap to the tokens after it.
func (g *gaps) shared(s stream, yield func(int64, float32) bool) bool {
	at, held := s.start, uint32(0)
	for i, us := range g.us[s.at : s.at+s.n] {
		at += int64(us) * 1000
		held += us
		tokens := 1
		if s.tokensAt >= 0 {
			tokens = int(g.tokens[s.tokensAt+i])
		}
		if tokens == 0 {
			continue
		}
		ms := float32(held) / float32(tokens) / 1000
		held = 0
		for range tokens {
			if !yield(at, ms) {
				return false
			}
		}
	}
	return true
}

// plain reports whether itl and icl are the same values.
func (g *gaps) plain() bool {
	return len(g.tokens) == 0 && !slices.ContainsFunc(g.streams, func(s stream) bool { return !s.known })
}

// reset forgets the gaps and keeps their memory.
func (g *gaps) reset() {
	g.us, g.tokens, g.streams = g.us[:0], g.tokens[:0], g.streams[:0]
}

func anyStream(stream) bool { return true }

// largestGap is a request's stall in ns, NaN where all came in one stamp, and
// the group that ends it.
func largestGap(groups []group) (ns float64, ends group) {
	if len(groups) < 2 {
		return math.NaN(), group{}
	}
	largest := int64(-1)
	for i := 1; i < len(groups); i++ {
		if gap := groups[i].at - groups[i-1].at; gap > largest {
			largest, ends = gap, groups[i]
		}
	}
	return float64(largest), ends
}

// tails finds the p99 gap of single requests, in memory that it reuses.
type tails struct {
	gaps  gaps
	space workspace
}

// of gives a request's own p99 of icl and itl in ns.
func (t *tails) of(r *record.Record, groups []group) (icl, itl float64) {
	t.gaps.reset()
	t.gaps.add(r, keys{}, groups, math.MinInt64, math.MaxInt64)
	return t.tail(t.gaps.icl(anyStream)), t.tail(t.gaps.itl(anyStream))
}

// tail is the p99 of one request's gaps in ns, or their maximum where they are
// fewer than a hundred.
func (t *tails) tail(from values) float64 {
	s := t.space.sample(from)
	switch n := len(s.sorted); {
	case n == 0:
		return math.NaN()
	case n < 100:
		return float64(s.sorted[n-1]) * 1e6
	}
	return s.quantile(0.99) * 1e6
}

// gapCounts is how many gaps a whole request has, whichever window they ended
// in.
func gapCounts(r *record.Record, groups []group) (icl, itl int) {
	if len(groups) < 2 {
		return 0, 0
	}
	if r.TokensKnown() {
		for _, g := range groups[1:] {
			itl += g.tokens
		}
	}
	return len(groups) - 1, itl
}
