package trace

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"sort"
	"time"
)

// Replay says which part of a trace to send, and how fast. The zero value is
// all of it, once, at recorded times.
type Replay struct {
	// Speedup divides all times; 0 is 1.
	Speedup float64 `yaml:"speedup,omitempty"`
	// From and For cut a slice out of the trace: For of 0 is to its end.
	From time.Duration `yaml:"from,omitempty"`
	For  time.Duration `yaml:"for,omitempty"`
	// Loop begins again after the end.
	Loop bool `yaml:"loop,omitempty"`
}

// maxReplaySpeed bounds the speed-up: beyond it nanoseconds are lost.
const maxReplaySpeed = 1e6

// Validate says what is wrong with a replay, whatever the trace.
func (p Replay) Validate() error {
	switch {
	case p.Speedup != 0 && !(p.Speedup >= 1/maxReplaySpeed && p.Speedup <= maxReplaySpeed):
		return fmt.Errorf("speedup: expected a factor from %g to %g, got %v", 1/maxReplaySpeed, maxReplaySpeed, p.Speedup)
	case p.From < 0:
		return fmt.Errorf("from: expected a time of at least 0, got %v", p.From)
	case p.For < 0:
		return fmt.Errorf("for: expected a time above 0, got %v", p.For)
	}
	return nil
}

// Check says why a trace cannot be replayed so.
func (p Replay) Check(f *File) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if !f.HasTimes() && (p.From != 0 || p.For != 0 || p.Speedup != 0) {
		return fault(f.path, "has no timestamps to cut or speed up; give a rate instead")
	}
	if first, count := p.slice(f); count == 0 && first >= f.Len() {
		return fault(f.path, "from %v is past its end at %v", p.From, f.span())
	} else if count == 0 {
		return fault(f.path, "has no request from %v for %v", p.From, p.For)
	}
	return nil
}

// slice is the first row to send and how many there are.
func (p Replay) slice(f *File) (first, count int) {
	if !f.HasTimes() {
		return 0, f.Len()
	}
	until := len(f.times)
	first = sort.Search(len(f.times), func(i int) bool { return f.times[i] >= int64(p.From) })
	if p.For > 0 && p.For < math.MaxInt64-p.From {
		until = sort.Search(len(f.times), func(i int) bool { return f.times[i] >= int64(p.From+p.For) })
	}
	return first, max(0, until-first)
}

// period is the length of one round in the trace's own time: the slice, or up
// to the last request and a mean gap more, so that the round's end and its
// beginning are not one moment.
func (p Replay) period(f *File) float64 {
	rest := float64(f.span() - p.From)
	if p.For > 0 && float64(p.For) <= rest {
		return float64(p.For)
	}
	_, count := p.slice(f)
	return max(rest+rest/float64(max(count-1, 1)), float64(time.Millisecond))
}

// Len is how many requests one round sends.
func (p Replay) Len(f *File) int {
	_, count := p.slice(f)
	return count
}

// Times gives the due times in nanoseconds from the stage's start: none for a
// trace without times, and no end where it loops.
func (p Replay) Times(f *File) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		first, count := p.slice(f)
		if p.Validate() != nil || !f.HasTimes() || count == 0 {
			return
		}
		speed := cmp.Or(p.Speedup, 1)
		period := p.period(f)
		for round := 0.0; ; round++ {
			for _, t := range f.times[first : first+count] {
				due := (float64(t-int64(p.From)) + round*period) / speed
				if due >= math.MaxInt64 || !yield(int64(math.Round(due))) {
					return
				}
			}
			if !p.Loop {
				return
			}
		}
	}
}

// Index is the row that the i-th request sends; not ok after the last.
func (p Replay) Index(f *File, i int) (row int, ok bool) {
	first, count := p.slice(f)
	if i < 0 || count == 0 || (i >= count && !p.Loop) {
		return 0, false
	}
	return first + i%count, true
}

// Span is how long one round lasts at the replay's speed.
func (p Replay) Span(f *File) time.Duration {
	speed := cmp.Or(p.Speedup, 1)
	return time.Duration(p.period(f) / speed)
}
