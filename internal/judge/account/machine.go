package account

import (
	"math"
	"time"

	"redline/internal/drive/record"
	"redline/internal/holdup"
)

// Machine is what the machine that sent a request may have done to its times.
type Machine struct {
	// Watched says that hold-ups were looked for.
	Watched bool
	// Stamps are the hold-ups that can have made the stamp of an arrival late,
	// Threads those in which this program could not run.
	Stamps, Threads *holdup.Timeline
	// Embedded says that the engine is a part of this program.
	Embedded bool
	// Busy says that the program read more slowly than it should, held up or
	// not: events that one read brought may then have come apart.
	Busy bool
}

// end says which value of a figure is meant: what was measured, or the lowest
// or highest that it can have been without what this machine did.
type end int

const (
	asMeasured end = iota
	low
	high
	endCount
)

// ends are by how much figures of a request may have been measured too large
// (over) and too small (under), in ns.
type ends struct{ over, under [figureCount]float32 }

const (
	// negligible is the largest error that no figure shows.
	negligible = int64(100 * time.Microsecond)
	// maxReadSpan is how far apart events arrive at most that a reader takes in
	// one read without having been held up.
	maxReadSpan = int64(300 * time.Microsecond)
	// admission is how long it takes the embedded engine to read a request,
	// where nothing holds it up.
	admission = int64(500 * time.Microsecond)
)

// at is a figure of a request at one of its ends, NaN where it has none.
func (q *request) at(f figure, e end) float64 {
	v := q.figures[f]
	if q.ends == nil {
		return v
	}
	switch e {
	case low:
		return max(v-float64(q.ends.over[f]), 0)
	case high:
		return v + float64(q.ends.under[f])
	}
	return v
}

func (o Options) machineOf(r *record.Record) Machine {
	if o.Machine == nil {
		return Machine{}
	}
	return o.Machine(r)
}

// isDisturbed reports whether any time of a request can be wrong but for its lag.
func (m Machine) isDisturbed(r *record.Record) bool {
	until := max(r.Last, r.End, r.Written)
	return r.Coalesced > 0 || m.Stamps.MaxLate(r.Sent, until) > 0 || m.Threads.HeldTime(r.Sent, r.Written) > 0 ||
		m.Embedded && m.Threads.HeldTime(r.Sent, until) > 0
}

// late bounds how late the times of a group are: that of its newest event, and
// that of its oldest. Its events may have come apart where the reader was held
// up, or nobody watched; else the server wrote them together.
func (m Machine) late(g group, before int64) (newest, oldest int64, apart bool) {
	newest = min(m.Stamps.Late(g.at), g.at-before)
	if g.events < 2 {
		return newest, newest, false
	}
	oldest = g.at - before
	if m.Watched && !m.Busy {
		held := m.Threads.Late(g.at)
		if held <= maxReadSpan {
			return newest, newest, false
		}
		oldest = min(oldest, held)
	}
	return newest, max(newest, oldest), true
}

// mergedByUs is how many events were read with a later one because the reader was
// held up, where that was watched.
func (m Machine) mergedByUs(r *record.Record, groups []group) (n int) {
	if !m.Watched || r.Coalesced == 0 || r.Thinned() {
		return 0
	}
	before := r.Sent
	for _, g := range groups {
		if _, _, apart := m.late(g, before); apart {
			n += g.events - 1
		}
		before = g.at
	}
	return n
}

// isBuffered reports whether most events of a reply came with a later one although
// this machine was there to read them. Of a reply during a quarter of which it
// was held up nothing is known: a server beside it is held up with it.
func (m Machine) isBuffered(r *record.Record, groups []group) bool {
	events := r.ChunkCount()
	return events >= minToBuffer && 2*(r.Coalesced-m.mergedByUs(r, groups)) > events &&
		4*m.Threads.HeldTime(r.First, r.Last) <= r.Last-r.First
}

// endsOf gives the ends of a request's figures, nil where they are all alike. The
// groups are those of its events, none where their times are not kept.
func (m Machine) endsOf(r *record.Record, f figures, groups []group, thinned record.Essence) *ends {
	// What held up the opening of a connection is no lag, and as much this
	// machine's.
	lagged := m.Threads.HeldTime(max(r.Due, r.Slot), r.Conn)
	if !math.IsNaN(f[lag]) {
		lagged += int64(f[lag])
	}
	if r.Sent == 0 || lagged < negligible && !m.isDisturbed(r) {
		return nil
	}
	sending := m.Threads.HeldTime(r.Sent, r.Written)
	if m.Embedded {
		sending = max(sending, m.Threads.HeldTimeOf(r.Sent, admission, max(r.First, r.End)-r.Sent))
	}
	var e ends
	first, answer, last := m.streamEnds(r, f, groups, thinned, &e)
	e.over[ttft], e.over[ttfa], e.over[e2e] = ns32(sending+first), ns32(sending+answer), ns32(sending+last)
	e.over[ttftDue], e.over[e2eDue] = ns32(lagged+sending+first), ns32(lagged+sending+last)
	e.over[upload] = ns32(sending)
	if r.Images > 0 {
		e.over[ttftPerImage] = e.over[ttft] / float32(r.Images)
	}
	e.over[decode], e.under[decode] = ns32(last), ns32(first)
	if tokens := r.TokensAfterFirst(); tokens >= 1 {
		e.over[tpot], e.under[tpot] = ns32(last)/float32(tokens), ns32(first)/float32(tokens)
	}
	if e.max() < float32(negligible) {
		return nil
	}
	return &e
}

// streamEnds bounds how late the first output, the first answer and the last
// output were stamped, and fills in what hangs on all of them.
func (m Machine) streamEnds(r *record.Record, f figures, groups []group, thinned record.Essence, e *ends) (first, answer, last int64) {
	if !r.Streamed || r.First == 0 {
		at := answerTime(r)
		return 0, 0, min(m.Stamps.Late(at), at-r.Sent)
	}
	if r.Thinned() || len(groups) == 0 {
		return m.thinnedEnds(r, thinned, e)
	}
	low, high, before, maxLate := int64(0), int64(0), r.Sent, int64(0)
	for i, g := range groups {
		newest, oldest, _ := m.late(g, before)
		if i == 0 {
			first = oldest
		} else {
			gap := g.at - before
			low = max(low, (gap-newest)/int64(g.events), gap-oldest)
			high = max(high, gap+last)
		}
		if g.holds(r.Answer) {
			answer = oldest
		}
		before, last, maxLate = g.at, newest, max(maxLate, oldest)
	}
	if measured := int64(f[stall]); f[stall] == f[stall] {
		e.over[stall], e.under[stall] = ns32(measured-low), ns32(high-measured)
	}
	for _, tail := range []figure{itlTail, iclTail} {
		e.over[tail], e.under[tail] = ns32(maxLate), ns32(maxLate)
	}
	return first, answer, last
}

// thinnedEnds does without the times of single events.
func (m Machine) thinnedEnds(r *record.Record, t record.Essence, e *ends) (first, answer, last int64) {
	bound := func(at, before int64, merged bool) int64 {
		events := 1
		if merged {
			events = 2
		}
		_, oldest, _ := m.late(group{at: at, events: events}, before)
		return oldest
	}
	first, last = bound(r.First, r.Sent, t.MergedFirst), bound(r.Last, r.First, false)
	if r.Answer != 0 {
		answer = bound(r.Answer, r.Sent, t.MergedAnswer)
	}
	most := m.Stamps.MaxLate(r.First, r.Last)
	if t.MergedStall && !(m.Watched && !m.Busy) {
		most = max(most, t.Stall)
	} else if t.MergedStall {
		most = max(most, m.Threads.MaxLate(r.First, r.Last))
	}
	for _, f := range []figure{stall, itlTail, iclTail} {
		e.over[f], e.under[f] = ns32(most), ns32(most)
	}
	return first, answer, last
}

func ns32(ns int64) float32 { return float32(max(ns, 0)) }

func (e *ends) max() (most float32) {
	for i := range e.over {
		most = max(most, e.over[i], e.under[i])
	}
	return most
}

// gapEnds walks the gaps of a record that end in [start, end), as they may have
// been at the least (low) or at the most (high), in ms with their ends; perToken
// as itl counts them, else as icl does. Of k events that were read together
// because the reader was held up, k gaps share one: one of them is no shorter
// than its k-th part, the n-th longest no longer than its n-th part.
func (m Machine) gapEnds(r *record.Record, groups []group, start, until int64, perToken bool, which end, yield func(at int64, ms float32)) {
	of, known := tokenCounter(r)
	if r.Thinned() || perToken && !known || len(groups) == 0 {
		return
	}
	before := groups[0].at
	late, _, _ := m.late(groups[0], r.Sent)
	elapsed := int64(0)
	for _, g := range groups[1:] {
		newest, oldest, apart := m.late(g, before)
		gap := g.at - before
		if which == low {
			gap = max(gap-newest, 0)
		} else {
			gap += late
		}
		before, late = g.at, newest
		parts := g.events
		if perToken {
			parts = of(g)
		}
		if parts == 0 {
			elapsed += gap
			continue
		}
		gap, elapsed = gap+elapsed, 0
		if g.at < start || g.at >= until {
			continue
		}
		ms := func(ns int64) float32 { return float32(ns/1000) / 1000 }
		switch {
		case !apart && perToken:
			for range parts {
				yield(g.at, ms(gap/int64(parts)))
			}
		case !apart:
			yield(g.at, ms(gap))
		case which == low:
			yield(g.at, ms(max(gap/int64(parts), gap-oldest)))
			for range parts - 1 {
				yield(g.at, 0)
			}
		case perToken:
			for n := range parts {
				yield(g.at, ms(gap/int64(n+1)))
			}
		default:
			yield(g.at, ms(gap))
		}
	}
}

// noteMerged looks at the reads that brought the first output, the first
// answer, and the end of the longest gap. Merged gaps are longer than each of
// them, so the longest is exact where a single event ends it.
func noteMerged(e *record.Essence, r *record.Record, groups []group, stallEnd group) {
	if r.Coalesced == 0 || len(groups) == 0 {
		return
	}
	e.MergedFirst, e.MergedStall = groups[0].events > 1, stallEnd.events > 1
	for _, g := range groups {
		if g.events > 1 && g.holds(r.Answer) {
			e.MergedAnswer = true
		}
	}
}

// holds reports whether a stamp is that of the group: chunks are kept by the
// microsecond, stamps by the nanosecond.
func (g group) holds(stamp int64) bool {
	d := g.at - stamp
	return stamp != 0 && d >= -500 && d <= 500
}
