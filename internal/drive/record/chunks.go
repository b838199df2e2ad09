package record

import (
	"encoding/binary"
	"iter"
	"slices"
)

// chunks is the arrival of every output event in varints: microsecond gaps
// between rounded absolute times, so that rounding never accumulates, the
// first one counted from the sending; and what each event carried.
type chunks struct {
	n      int
	gaps   varints
	lastUS int64
	// lengths are twice the events' text lengths, plus one for reasoning, kept
	// until settle in case the tokens must be spread by them.
	lengths []byte
	// thinking is how many events carried reasoning alone.
	thinking             int
	bytes, thinkingBytes int
	localCounts          tokenCounts // of the text, where it was counted
	// tokens per event; empty when each carried one. While the request
	// streams they come from continuous usage, counted events of them, up to
	// total.
	tokens         varints
	counted, total int
	spread         bool // tokens are estimates, spread by text length
}

func (c chunks) reset() chunks {
	return chunks{gaps: c.gaps[:0], lengths: c.lengths[:0], tokens: c.tokens[:0]}
}

// Expect makes room for n output events, so that none of them allocates.
func (r *Record) Expect(n int) {
	const enough = 1 << 16 // a longer stream may grow its buffers as it goes
	n = min(n, enough)
	r.chunks.gaps = slices.Grow(r.chunks.gaps, 3*n)
	r.chunks.lengths = slices.Grow(r.chunks.lengths, n)
}

func micros(ns int64) int64 { return (ns + 500) / 1000 }

// add notes an event at at; sent anchors the first one.
func (c *chunks) add(at, sent int64, length int, reasoning bool) {
	if c.n == 0 {
		c.lastUS = micros(sent)
	}
	us := micros(at)
	gap := max(0, us-c.lastUS)
	c.gaps = binary.AppendUvarint(c.gaps, uint64(gap))
	part := uint64(0)
	if reasoning {
		part = 1
		c.thinking++
		c.thinkingBytes += length
	}
	c.lengths = binary.AppendUvarint(c.lengths, uint64(length)<<1|part)
	c.bytes += length
	c.lastUS += gap
	c.n++
}

// count notes that the server has counted total tokens by now. Only a usage
// after every single event tells what each carried.
func (c *chunks) count(total int) {
	if c.n == 0 || c.counted != c.n-1 || total < c.total {
		return
	}
	c.tokens = binary.AppendUvarint(c.tokens, uint64(total-c.total))
	c.counted, c.total = c.n, total
}

// settle decides the tokens per event, streamed of them in all.
func (c *chunks) settle(streamed int) {
	switch {
	case c.n == 0:
	case c.continuous(streamed):
		c.dropOnes()
	case near(streamed, c.n):
		c.tokens = c.tokens[:0]
	default:
		c.spreadTokens(streamed)
	}
	c.lengths = c.lengths[:0]
}

// continuous reports whether the server counted tokens after every event, and
// none but those that streamed.
func (c *chunks) continuous(streamed int) bool { return c.counted == c.n && near(c.total, streamed) }

// dropOnes forgets token counts that are all one, the usual case.
func (c *chunks) dropOnes() {
	for v := range uvarints(c.tokens) {
		if v != 1 {
			return
		}
	}
	c.tokens = c.tokens[:0]
}

// spreadTokens gives each event its share by text length, rounding the running
// sum so that the shares add up.
func (c *chunks) spreadTokens(streamed int) {
	parts := c.sums()
	sum := parts[0] + parts[1]
	c.spread = true
	c.tokens = c.tokens[:0]
	seen, given := 0, 0
	for length := range uvarints(c.lengths) {
		seen += int(length >> 1)
		upTo := streamed
		if sum > 0 {
			upTo = int((int64(streamed)*int64(seen) + int64(sum)/2) / int64(sum))
		}
		c.tokens = binary.AppendUvarint(c.tokens, uint64(upTo-given))
		given = upTo
	}
}

// sums is the text of the answer and of the reasoning in bytes.
func (c *chunks) sums() (sum [2]int) {
	for v := range uvarints(c.lengths) {
		sum[v&1] += int(v >> 1)
	}
	return sum
}

func uvarints(b []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for rest := b; len(rest) > 0; {
			v, n := binary.Uvarint(rest)
			if n <= 0 || !yield(v) {
				return
			}
			rest = rest[n:]
		}
	}
}

// ChunkCount is the number of output events.
func (r *Record) ChunkCount() int { return r.chunks.n + r.thin.events }

// TokensKnown reports whether the tokens of each event are known, rather than
// estimated from text lengths.
func (r *Record) TokensKnown() bool {
	return r.ChunkCount() > 0 && !r.chunks.spread && r.Counted != ByEvents
}

// Eventless is how many tokens came in no event of their own, where those are so
// few that every event counts as one token: a token that ends in the middle of a
// character has no text to stream, and comes with the next. 0 where the tokens of
// each event are known, or nothing of them is.
func (r *Record) Eventless() int {
	const limit = 20 // one in so many events carries a second token
	more := r.StreamedTokens - r.ChunkCount()
	if !r.chunks.spread || more < 0 || more*limit > r.ChunkCount() {
		return 0
	}
	return more
}

// Chunks gives the arrival, from the run's origin in nanoseconds rounded to
// the microsecond, and the tokens of every output event; of a thinned record some
// groups that have its tokens, evenly spread.
func (r *Record) Chunks() iter.Seq2[int64, int] {
	if r.thin.is {
		return r.evenChunks()
	}
	return func(yield func(int64, int) bool) {
		us := micros(r.Sent)
		tokens := r.chunks.tokens
		for gap := range uvarints(r.chunks.gaps) {
			us += int64(gap)
			carried := 1
			if len(tokens) > 0 {
				v, n := binary.Uvarint(tokens)
				carried, tokens = int(v), tokens[n:]
			}
			if !yield(us*1000, carried) {
				return
			}
		}
	}
}
