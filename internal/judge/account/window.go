package account

import (
	"cmp"
	"math"
	"slices"
)

// span is a stretch of time in which something was there.
type span struct{ from, to int64 }

// neverEnded stands for the end of what was still there when the log stopped.
const neverEnded = math.MaxInt64

// spans is how many of something were there at any time of the window.
type spans struct {
	start, end int64
	list       list[span] // cut to the window
}

// add counts what was there from one stamp to another, 0 for no end.
func (s *spans) add(from, to int64) {
	to = cmp.Or(to, neverEnded)
	from, to = max(from, s.start), min(to, s.end)
	if from < to {
		s.list.add(span{from, to})
	}
}

// mean is weighted with time.
func (s *spans) mean() float64 {
	sum := 0.0
	for sp := range s.list.all {
		sum += float64(sp.to - sp.from)
	}
	return sum / float64(s.end-s.start)
}

// maxOverlap is the largest number at any one time. What ends at the very moment at
// which something else begins is gone by then.
func (s *spans) maxOverlap() int {
	begins, ends := make([]int64, 0, s.list.n), make([]int64, 0, s.list.n)
	for sp := range s.list.all {
		begins, ends = append(begins, sp.from), append(ends, sp.to)
	}
	slices.Sort(begins)
	slices.Sort(ends)
	most, gone := 0, 0
	for i, at := range begins {
		for ends[gone] <= at {
			gone++
		}
		most = max(most, i+1-gone)
	}
	return most
}

const second = 1_000_000_000

// perSecond is the mean number during each whole second of the window.
func (s *spans) perSecond() []float64 { return s.series(second) }

// series is the mean number during each whole step of the window.
func (s *spans) series(step int64) []float64 {
	if step <= 0 {
		return nil
	}
	series := make([]float64, (s.end-s.start)/step)
	for sp := range s.list.all {
		for at := sp.from; at < sp.to; {
			i := (at - s.start) / step
			next := min(sp.to, s.start+(i+1)*step)
			if i < int64(len(series)) {
				series[i] += float64(next-at) / float64(step)
			}
			at = next
		}
	}
	return series
}
