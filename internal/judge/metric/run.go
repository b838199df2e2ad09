package metric

import (
	"encoding/binary"
	"math"
)

// run holds distinct values in ascending order and how often each comes, in
// about three bytes for each: varints of the step from the value before, in the
// bits of a float32, and of the count. Values are not negative, so that their
// bits have their order.
type run []byte

// entry is one value of a run.
type entry struct {
	bits uint32
	n    uint64
}

// all walks the values with their counts.
func (r run) all(yield func(v float32, n int) bool) {
	for c := openRun(r); c.more; c.next() {
		if !yield(math.Float32frombits(c.bits), int(c.n)) {
			return
		}
	}
}

// cursor stands at an entry of a run.
type cursor struct {
	entry
	more bool
	rest run
}

func openRun(r run) cursor {
	c := cursor{rest: r}
	c.next()
	return c
}

func (c *cursor) next() {
	if c.more = len(c.rest) > 0; !c.more {
		return
	}
	c.bits += uint32(c.number())
	c.n = c.number()
}

// number takes a varint off the rest. Most are short, and this is where the
// time of a merge goes: one or two bytes are read without a loop.
func (c *cursor) number() uint64 {
	b := c.rest
	if b[0] < 0x80 {
		c.rest = b[1:]
		return uint64(b[0])
	}
	if b[1] < 0x80 {
		c.rest = b[2:]
		return uint64(b[0]&0x7f) | uint64(b[1])<<7
	}
	v, size := binary.Uvarint(b)
	c.rest = b[size:]
	return v
}

// writer makes a run of entries that come in ascending order.
type writer struct {
	run  run
	last uint32
}

func (w *writer) add(e entry) {
	w.run = binary.AppendUvarint(w.run, uint64(e.bits-w.last))
	w.run = binary.AppendUvarint(w.run, e.n)
	w.last = e.bits
}

// appendMerged writes the values of two runs behind dst, which must be empty.
func appendMerged(dst, a, b run) run {
	w := writer{run: dst}
	x, y := openRun(a), openRun(b)
	for x.more && y.more {
		switch {
		case x.bits < y.bits:
			w.add(x.entry)
			x.next()
		case x.bits > y.bits:
			w.add(y.entry)
			y.next()
		default:
			w.add(entry{x.bits, x.n + y.n})
			x.next()
			y.next()
		}
	}
	for ; x.more; x.next() {
		w.add(x.entry)
	}
	for ; y.more; y.next() {
		w.add(y.entry)
	}
	return w.run
}

// mergedRun joins any number of runs, neighbours first, so that a value is
// copied only as often as the number can be halved.
func mergedRun(runs []run) run {
	switch len(runs) {
	case 0:
		return nil
	case 1:
		return runs[0]
	}
	half := len(runs) / 2
	a, b := mergedRun(runs[:half]), mergedRun(runs[half:])
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	// No entry is longer than before: the steps are at most as large.
	return appendMerged(make(run, 0, len(a)+len(b)), a, b)
}
