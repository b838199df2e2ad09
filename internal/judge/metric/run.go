package metric

import "math"

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
