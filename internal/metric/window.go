package metric

import (
	"math"
	"slices"

	"redline/internal/stats"
)

// span is a stretch of time in which something was there.
type span struct{ from, to int64 }

// unended stands for the end of what was still there when the log stopped.
const unended = math.MaxInt64

// spans is how many of something were there at any time of the window.
type spans struct {
	start, end int64
	list       []span // cut to the window
}

// add counts what was there from one stamp to another, 0 for no end.
func (s *spans) add(from, to int64) {
	if to == 0 {
		to = unended
	}
	from, to = max(from, s.start), min(to, s.end)
	if from < to {
		s.list = append(s.list, span{from, to})
	}
}

// mean is weighted with time.
func (s *spans) mean() float64 {
	sum := 0.0
	for _, sp := range s.list {
		sum += float64(sp.to - sp.from)
	}
	return sum / float64(s.end-s.start)
}

// most is the largest number at any one time. What ends at the very moment at
// which something else begins is gone by then.
func (s *spans) most() int {
	begins, ends := make([]int64, len(s.list)), make([]int64, len(s.list))
	for i, sp := range s.list {
		begins[i], ends[i] = sp.from, sp.to
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
func (s *spans) perSecond() []float64 {
	series := make([]float64, (s.end-s.start)/second)
	for _, sp := range s.list {
		for at := sp.from; at < sp.to; {
			i := (at - s.start) / second
			next := min(sp.to, s.start+(i+1)*second)
			if i < int64(len(series)) {
				series[i] += float64(next-at) / second
			}
			at = next
		}
	}
	return series
}

// settling judges whether the window was steady. It says nothing of a window
// that is too short to tell.
func (w *Window) settling(inFlight *spans) {
	series := inFlight.perSecond()
	cut, ok := stats.MSER5(series)
	if !ok {
		return
	}
	steady := 2*cut <= len(series)
	settled := float64(cut)
	w.Steady, w.SettledS = &steady, &settled
}

// overloadShare is the growth, as a share of the requests due, that a steady
// server does not show.
const overloadShare = 0.1

// growing judges whether the queue grew. It looks at requests that were due
// and had not ended, wherever they waited: under a cap the queue of a server
// that cannot keep up stands on our side.
func (w *Window) growing(inSystem *spans, due int, meanE2E float64, seed uint64) {
	series := inSystem.perSecond()
	slope := stats.Slope(series)
	if math.IsNaN(slope) {
		return
	}
	growth := round(slope * float64(len(series)))
	overload := growth > overloadShare*float64(due)
	w.Growth = &growth
	if overload {
		block := max(int(math.Ceil(2*meanE2E/second)), 1)
		lo, _ := stats.SlopeInterval(series, block, confidence, resamples, stats.Rand(seed, "metric slope", 0))
		if math.IsInf(lo, -1) {
			return // it grew, and the window is too short to exclude chance
		}
		overload = lo > 0
	}
	w.Overload = &overload
}

// sound reports whether figures of the window can be firm at all.
func (w Window) sound() bool { return !w.unsteady() && !w.overloaded() }

func (w Window) unsteady() bool   { return w.Steady != nil && !*w.Steady }
func (w Window) overloaded() bool { return w.Overload != nil && *w.Overload }
