package account

import (
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/slo"
)

// tally counts the values of a figure by batch, of which each has as many runs.
type tally []run

// visit joins the stretches that were counted by into the batches.
func (t tally) visit(b batches, see func(batch int, ms float32, n int)) {
	for i, r := range t {
		batch := i * maxBatches / len(t) * b.count / maxBatches
		for ms, n := range r.all {
			see(batch, ms, n)
		}
	}
}

type gapTally struct {
	batches  batches
	icl, itl [endCount]tally // all three are one where no gap has ends
	// first is the number of its first run.
	first int
	// known of all gaps came with tokens that are known, and count as itl too.
	known, all int
}

// mostlyKnown reports whether the gaps whose tokens are known can speak for
// all: the few of a server that sends several tokens an event are the odd ones,
// not a sample.
func (t *gapTally) mostlyKnown() bool {
	const share = 0.9
	return float64(t.known) >= share*float64(t.all)
}

// tallies counts every gap of the window for the parts that figures are wanted
// of. Gaps are whole microseconds, so that far fewer of them differ than there
// are; what is kept grows with those that differ, never with the tokens.
type tallies struct {
	start, end int64
	// plain says that all gaps brought one token: itl and icl are the same.
	plain bool
	// bounded says that some gaps have ends, which are counted beside them.
	bounded bool

	everything *gapTally
	by         [dimensionCount][]*gapTally // nothing for a dimension of one name
	scopes     []scopedTally

	runs []run
	// pending are gaps that are not in their runs yet: the number of the run,
	// and the bits of the value below it.
	pending, spare []uint64

	gaps         gaps
	parts        []*gapTally // of the request at hand
	fresh, merge run
}

// scopedTally is the gaps that an objective on some of the requests is about.
type scopedTally struct {
	slo.Scope
	about part
	*gapTally
}

// maxPending is how many gaps are sorted at once: enough to spread the cost
// of the runs that they go into, few enough to weigh nothing.
const maxPending = 1 << 19

// newTallies knows the requests and their names: it comes after a first walk
// over the records.
func newTallies(c *collector) *tallies {
	t := &tallies{start: c.o.Start, end: c.o.End, plain: c.plain, bounded: c.bounded}
	b := evenBatches(c.o.Start, c.o.End, maxBatches)
	for d, names := range c.naming.names {
		// Buckets are always split: together they are everything.
		if dimension(d) == byBucket || len(names) > 1 {
			for range names {
				t.by[d] = append(t.by[d], t.part(b))
			}
		}
	}
	for _, o := range c.o.Objectives {
		if isGap(o.Metric) && o.Scope != (slo.Scope{}) && t.ofScope(o.Scope) == nil {
			t.scopes = append(t.scopes, scopedTally{o.Scope, c.naming.part(o.Scope), t.part(b)})
		}
	}
	return t
}

// part makes room for the runs of one more part.
func (t *tallies) part(b batches) *gapTally {
	p := &gapTally{batches: b, first: len(t.runs)}
	ends := 1
	if t.bounded {
		ends = int(endCount)
	}
	t.runs = append(t.runs, make([]run, ends*t.figures()*b.count)...)
	return p
}

// figures is how many are counted: icl, and itl where it is another.
func (t *tallies) figures() int {
	if t.plain {
		return 1
	}
	return 2
}

// ofScope gives the gaps of a scope that an objective on gaps has, or nil.
func (t *tallies) ofScope(s slo.Scope) *gapTally {
	for _, known := range t.scopes {
		if known.Scope == s {
			return known.gapTally
		}
	}
	return nil
}

// group gives the gaps of one name of a dimension.
func (t *tallies) group(d dimension, key int) *gapTally {
	if t.by[d] == nil {
		return t.everything
	}
	return t.by[d][key]
}

// add counts the gaps of a record that end in the window.
func (t *tallies) add(r *record.Record, m Machine, k keys, groups []group) {
	t.gaps.take(r, groups, t.start, t.end)
	n := len(t.gaps.us)
	if n == 0 {
		return
	}
	t.parts = t.partsOf(k, t.parts[:0])
	for _, p := range t.parts {
		p.all += n
		if t.gaps.known {
			p.known += n
		}
	}
	apart := t.bounded && m.isDisturbed(r)
	for figure, walk := range []values{t.gaps.icl, t.gaps.itl}[:t.figures()] {
		for at, ms := range walk {
			t.count(at, ms, figure, asMeasured)
			if t.bounded && !apart {
				t.count(at, ms, figure, low)
				t.count(at, ms, figure, high)
			}
		}
		for e := low; apart && e < endCount; e++ {
			m.gapEnds(r, groups, t.start, t.end, figure == 1, e, func(at int64, ms float32) { t.count(at, ms, figure, e) })
		}
	}
}

// partsOf appends the parts that a request belongs to. A name that came into
// the log after the first walk has none.
func (t *tallies) partsOf(k keys, parts []*gapTally) []*gapTally {
	for d, named := range t.by {
		if int(k[d]) < len(named) {
			parts = append(parts, named[k[d]])
		}
	}
	for _, s := range t.scopes {
		if s.about(k) {
			parts = append(parts, s.gapTally)
		}
	}
	return parts
}

// count notes a gap of the request at hand, as icl (0) or as itl (1), at one of
// its ends.
func (t *tallies) count(at int64, ms float32, figure int, e end) {
	bits := uint64(math.Float32bits(ms))
	for _, p := range t.parts {
		number := p.first + (int(e)*t.figures()+figure)*p.batches.count + p.batches.of(at)
		t.pending = append(t.pending, uint64(number)<<32|bits)
	}
	if len(t.pending) >= maxPending {
		t.flush()
	}
}

// flush brings the pending gaps into their runs.
func (t *tallies) flush() {
	t.spare = slices.Grow(t.spare[:0], len(t.pending))[:len(t.pending)]
	sorted, rest := radixSorted(t.pending, t.spare)
	for left := sorted; len(left) > 0; {
		number := left[0] >> 32
		n := 1
		for n < len(left) && left[n]>>32 == number {
			n++
		}
		t.fresh = t.fresh[:0]
		for _, value := range left[:n] {
			t.fresh = t.fresh.add(entry{uint32(value), 1})
		}
		t.merge = mergedInto(t.merge, t.runs[number], t.fresh)
		t.runs[number] = append(t.runs[number][:0], t.merge...)
		left = left[n:]
	}
	t.pending, t.spare = sorted[:0], rest
}

// close ends the counting: what was counted can be read from then on.
func (t *tallies) close() {
	t.flush()
	t.pending, t.spare, t.fresh, t.merge = nil, nil, nil, nil
	open := func(p *gapTally) {
		count := p.batches.count
		for e := range p.icl {
			from := p.first
			if t.bounded {
				from += e * t.figures() * count
			}
			p.icl[e] = t.runs[from : from+count]
			p.itl[e] = p.icl[e]
			if !t.plain {
				p.itl[e] = t.runs[from+count : from+2*count]
			}
		}
	}
	for _, named := range t.by {
		for _, p := range named {
			open(p)
		}
	}
	for _, s := range t.scopes {
		open(s.gapTally)
	}
	t.everything = t.mergeParts(t.by[byBucket])
}

// mergeParts adds up parts that have the same batches and no request in common.
func (t *tallies) mergeParts(parts []*gapTally) *gapTally {
	whole := &gapTally{batches: parts[0].batches}
	for _, p := range parts {
		whole.known += p.known
		whole.all += p.all
	}
	add := func(of func(*gapTally) tally) (sum tally) {
		for batch := range whole.batches.count {
			for _, p := range parts {
				sum = append(sum, of(p)[batch])
			}
		}
		return sum
	}
	for e := range whole.icl {
		whole.icl[e], whole.itl[e] = whole.icl[asMeasured], whole.itl[asMeasured]
		if e == int(asMeasured) || t.bounded {
			whole.icl[e] = add(func(p *gapTally) tally { return p.icl[e] })
			whole.itl[e] = whole.icl[e]
		}
		if !t.plain && (e == int(asMeasured) || t.bounded) {
			whole.itl[e] = add(func(p *gapTally) tally { return p.itl[e] })
		}
	}
	return whole
}

// entry is a value, by the bits of a float32, and how often it came. Values are
// not negative, so that their bits have their order.
type entry struct{ bits, n uint32 }

// run holds distinct values in ascending order.
type run []entry

// all walks the values with their counts.
func (r run) all(yield func(v float32, n int) bool) {
	for _, e := range r {
		if !yield(math.Float32frombits(e.bits), int(e.n)) {
			return
		}
	}
}

// add counts a value that is no smaller than the last one.
func (r run) add(e entry) run {
	if last := len(r) - 1; last >= 0 && r[last].bits == e.bits {
		r[last].n += e.n
		return r
	}
	return append(r, e)
}

// mergedInto writes the values of two runs in the place of a third.
func mergedInto(dst, a, b run) run {
	dst = dst[:0]
	for len(a) > 0 && len(b) > 0 {
		if a[0].bits > b[0].bits {
			a, b = b, a
		}
		dst = dst.add(a[0])
		a = a[1:]
	}
	for _, rest := range []run{a, b} {
		for _, e := range rest {
			dst = dst.add(e)
		}
	}
	return dst
}
