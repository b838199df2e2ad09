package record

import "iter"

// Essence is what is kept of a request's output events beside their number where
// the time of each is not: times in nanoseconds, 0 where there is none.
type Essence struct {
	// Stall is the longest gap between two stamps.
	Stall int64
	// ICLTail and ITLTail are the p99 of its gaps between stamps and between
	// tokens, the longest where they are fewer than a hundred.
	ICLTail, ITLTail int64
	// These events shared their read with a later one: the first, the first of the
	// answer, and the one that ends the stall.
	MergedFirst, MergedAnswer, MergedStall bool
}

// thin is what a record has in the place of its events.
type thin struct {
	is     bool
	events int
	tokens int // of all events
	first  int // of the first one, 0 where that is not known
	Essence
}

// InShare picks requests by their number alone: a share of them, scattered so that
// no pattern of the load shows in it. A smaller share is part of a larger one.
func InShare(id int, share float64) bool {
	const golden = 0x9E3779B97F4A7C15
	return float64(uint64(id+1)*golden>>11)/(1<<53) < share
}

// Thinned reports whether the times of its events are not kept.
func (r *Record) Thinned() bool { return r.thin.is }

// Essence is what a thinned record keeps of its events.
func (r *Record) Essence() Essence { return r.thin.Essence }

// Thin gives a copy without the times of its events.
func (r *Record) Thin(e Essence) *Record {
	t := thin{is: true, events: r.chunks.n, Essence: e}
	for _, tokens := range r.Chunks() {
		t.tokens += tokens
	}
	if r.TokensKnown() {
		t.first = r.firstTokens()
	}
	lean := r.Lean()
	lean.thin, lean.chunks.spread = t, r.chunks.spread
	return lean
}

// Lean gives a copy without its output events.
func (r *Record) Lean() *Record {
	lean := *r
	lean.chunks = chunks{}
	return &lean
}

// fewSpread is in how many groups a thinned record shows its tokens at most: the
// cost of a reply must not grow with its length.
const fewSpread = 16

// evenChunks gives the tokens of a thinned record as if they had come evenly between
// its first and its last event, each group at the time of its middle token.
func (r *Record) evenChunks() iter.Seq2[int64, int] {
	return func(yield func(int64, int) bool) {
		all, length := r.thin.tokens, max(0, r.Last-r.First)
		before := 0
		for left := min(all, fewSpread); left > 0; left-- {
			n := (all - before) / left
			at := r.First
			if all > 1 {
				middle := float64(before) + float64(n-1)/2
				at += int64(float64(length) * middle / float64(all-1))
			}
			if !yield(micros(at)*1000, n) {
				return
			}
			before += n
		}
	}
}
