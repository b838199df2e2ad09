// Package holdup keeps when a machine held a program up, and says by how much a
// time that was taken then may be late. It takes stretches of time and gives
// bounds. It knows neither how hold-ups are found nor what the times are of.
package holdup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Kind says who was held up, and so which times can be late.
type Kind uint8

const (
	// Threads of this program waited for a core while the kernel ran on: what
	// the program stamps itself may be late, what the kernel stamps is not.
	Threads Kind = iota
	// Machine stood still, the kernel too.
	Machine
	// Engine is the embedded engine, which put out a token later than its own
	// schedule has it.
	Engine
	// Queue is time that some thread waited for a core during a longer
	// stretch. When in that stretch is not known.
	Queue
	kindCount
)

// Holdup is a stretch in which something that was to happen at Start happened
// at End. Times are nanoseconds from the run's origin.
type Holdup struct {
	Kind       Kind
	Start, End int64
	// Lead is how much of the beginning may not have been held up: what was due
	// after it was late. Of a Queue it is all but how long a thread waited.
	Lead int64
}

// sure is when the hold-up had begun at the latest.
func (h Holdup) sure() int64 { return h.Start + h.Lead }

// MarshalJSON writes [kind, start, length] or [kind, start, length, lead], in
// microseconds.
func (h Holdup) MarshalJSON() ([]byte, error) {
	list := []int64{int64(h.Kind), h.Start / 1000, (h.End - h.Start + 999) / 1000}
	if lead := h.Lead / 1000; lead > 0 {
		list = append(list, lead)
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (h *Holdup) UnmarshalJSON(data []byte) error {
	var list []int64
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) < 3 || len(list) > 4 || list[0] < 0 || list[0] >= int64(kindCount) || list[2] < 0 {
		return fmt.Errorf("hold-up %s: expected [kind, start, length] or [kind, start, length, lead] in µs", data)
	}
	*h = Holdup{Kind: Kind(list[0]), Start: list[1] * 1000, End: (list[1] + list[2]) * 1000}
	if len(list) == 4 {
		h.Lead = min(max(list[3], 0), list[2]) * 1000
	}
	return nil
}

// Floor is the shortest hold-up that is kept: a wake-up takes about as long on
// a quiet machine.
const Floor = int64(250 * time.Microsecond)

// near is how far apart the ends of hold-ups of one kind are at most that are
// kept as one.
const near = int64(500 * time.Microsecond)

// Recorder collects hold-ups while a run goes on. It is safe for concurrent use.
type Recorder struct {
	mu   sync.Mutex
	list []Holdup
	last [kindCount]joint
}

// joint is the newest hold-up of a kind, to which others may be joined.
type joint struct {
	number int   // its place in the list, plus one
	end    int64 // as it was before any was joined, so that a row of them does not become one
}

// Add takes in a hold-up. One that is shorter than Floor is passed over.
func (r *Recorder) Add(h Holdup) {
	if h.End-h.sure() < Floor {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.last[h.Kind]; j.number > 0 && h.Kind != Queue && h.End-j.end <= near && j.end-h.End <= near {
		last := &r.list[j.number-1]
		sure := min(last.sure(), h.sure())
		last.Start, last.End = min(last.Start, h.Start), max(last.End, h.End)
		last.Lead = sure - last.Start
		return
	}
	r.list = append(r.list, h)
	r.last[h.Kind] = joint{len(r.list), h.End}
}

// Len is how many there are.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

// Since gives the hold-ups that were added after the first n. They do not change
// any more.
func (r *Recorder) Since(n int) []Holdup {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = [kindCount]joint{}
	return slices.Clone(r.list[min(n, len(r.list)):])
}

// Watch is the hold-ups of one machine, and whether anybody looked for them.
type Watch struct {
	Watched bool     `json:"watched,omitempty"`
	Holdups []Holdup `json:"holdups,omitempty"`
}

// Shift gives the watch with all times later by ns.
func (w Watch) Shift(ns int64) Watch {
	w.Holdups = slices.Clone(w.Holdups)
	for i := range w.Holdups {
		w.Holdups[i].Start += ns
		w.Holdups[i].End += ns
	}
	return w
}

// Timeline answers for many moments. A nil one knows of no hold-up.
type Timeline struct {
	// ends are those of the hold-ups whose course is known, ascending; first is
	// the earliest start among a hold-up and all that end after it.
	ends, first []int64
	stops       []Holdup // of Threads and Machine, by their ends
	queues      []Holdup // one after another
	// held are the stretches in which anything was held up, apart from each
	// other and ascending; before is how long those before each of them took
	// together.
	held       []Holdup
	heldBefore []int64
	max        []int64 // the longest hold-up of each
	// spare, its maximum in each block, and began are for backlog.
	spare, maxSpare, began []int64
}

// NewTimeline makes a timeline of the hold-ups of some kinds, nil of none.
func NewTimeline(list []Holdup, kinds ...Kind) *Timeline {
	list = slices.DeleteFunc(slices.Clone(list), func(h Holdup) bool { return !slices.Contains(kinds, h.Kind) })
	if len(list) == 0 {
		return nil
	}
	t := &Timeline{}
	slices.SortFunc(list, func(a, b Holdup) int { return cmp.Compare(a.End, b.End) })
	for _, h := range list {
		if h.Kind == Queue {
			t.queues = append(t.queues, h)
			continue
		}
		t.ends, t.first = append(t.ends, h.End), append(t.first, h.Start)
		if h.Kind != Engine {
			t.stops = append(t.stops, h)
		}
	}
	for i := len(t.first) - 2; i >= 0; i-- {
		t.first[i] = min(t.first[i], t.first[i+1])
	}
	slices.SortFunc(list, func(a, b Holdup) int { return cmp.Compare(a.Start, b.Start) })
	t.join(list)
	t.addSpare()
	return t
}

// join fills in held from hold-ups in the order of their starts.
func (t *Timeline) join(list []Holdup) {
	total := int64(0)
	for _, h := range list {
		if h.Kind == Queue {
			continue
		}
		if n := len(t.held); n > 0 && h.Start <= t.held[n-1].End {
			total += max(h.End-t.held[n-1].End, 0)
			t.held[n-1].End = max(t.held[n-1].End, h.End)
			t.max[n-1] = max(t.max[n-1], h.End-h.Start)
			continue
		}
		t.held, t.heldBefore, t.max = append(t.held, h), append(t.heldBefore, total), append(t.max, h.End-h.Start)
		total += h.End - h.Start
	}
}

// What gathered during a hold-up is worked off afterwards: in the time that any
// wake-up takes, and a share of the time that it gathered.
const (
	afterwards = int64(300 * time.Microsecond)
	backlog    = 0.1
)

// Late is by how much a time that was taken at the given moment may be late.
func (t *Timeline) Late(at int64) int64 {
	if t == nil {
		return 0
	}
	late := t.maxWait(at, at)
	if i, _ := slices.BinarySearch(t.ends, at-afterwards); i < len(t.ends) {
		late = max(late, at-t.first[i])
	}
	return max(late, t.backlog(at))
}

// backlog goes back over the hold-ups that left too little time between them
// and the given moment for what had gathered in them, and gives the time since
// the first of those began. Where little else happens there are thousands of them.
func (t *Timeline) backlog(at int64) (late int64) {
	i, _ := slices.BinarySearchFunc(t.stops, at, func(h Holdup, at int64) int { return cmp.Compare(h.End, at) })
	for i < len(t.stops) && t.stops[i].Start <= at {
		i++ // it was under way
	}
	if i == 0 {
		return 0
	}
	last := t.stops[i-1]
	free := int64(0)
	if last.End < at {
		free = max(at-last.End-t.queuedWithin(last.End, at), 0)
	}
	broken := t.lastSpare(i-1, t.spare[i-1]+last.room()+afterwards-free)
	if broken == i-1 {
		return 0
	}
	return at - t.began[broken+1]
}

// lastSpare is the last stop up to i before which there was more to spare than bound, or -1.
func (t *Timeline) lastSpare(i int, bound int64) int {
	for i >= 0 && t.spare[i] <= bound {
		if i%spareBlock == spareBlock-1 && t.maxSpare[i/spareBlock] <= bound {
			i -= spareBlock
		} else {
			i--
		}
	}
	return i
}

// addSpare adds up, for each stop, the time that those before it needed to be worked off less
// the time that was free after them, and since when it and all after it last.
func (t *Timeline) addSpare() {
	n := len(t.stops)
	t.spare, t.began, t.maxSpare = make([]int64, n), make([]int64, n), make([]int64, n/spareBlock+1)
	free, until := make([]int64, n), int64(math.MaxInt64)
	for i := n - 1; i >= 0; i-- {
		h := t.stops[i]
		if t.began[i] = h.Start; i < n-1 {
			t.began[i] = min(h.Start, t.began[i+1])
			if h.End < until {
				free[i] = max(until-h.End-t.queuedWithin(h.End, until), 0)
			}
		}
		until = min(until, h.sure())
	}
	for i := range n {
		if i > 0 {
			t.spare[i] = t.spare[i-1] + t.stops[i-1].room() - free[i-1]
		}
		if b := i / spareBlock; i%spareBlock == 0 {
			t.maxSpare[b] = t.spare[i]
		} else {
			t.maxSpare[b] = max(t.maxSpare[b], t.spare[i])
		}
	}
}

// spareBlock is how many stops are passed over at once.
const spareBlock = 64

// room is how much free time after a hold-up is spent on what piled up in it.
func (h Holdup) room() int64 { return int64(backlog * float64(h.End-h.sure())) }

// queuedWithin is how long threads may have waited in a stretch, all waits added
// up.
func (t *Timeline) queuedWithin(from, to int64) (wait int64) {
	i, _ := slices.BinarySearchFunc(t.queues, from, func(h Holdup, at int64) int { return cmp.Compare(h.End, at) })
	for ; i < len(t.queues) && t.queues[i].Start <= to; i++ {
		wait += t.queues[i].End - t.queues[i].sure()
	}
	return wait
}

// maxWait is the longest wait of a thread in a stretch that touches the given
// one.
func (t *Timeline) maxWait(from, to int64) (wait int64) {
	i, _ := slices.BinarySearchFunc(t.queues, from, func(h Holdup, at int64) int { return cmp.Compare(h.End, at) })
	for ; i < len(t.queues) && t.queues[i].Start <= to; i++ {
		wait = max(wait, t.queues[i].End-t.queues[i].sure())
	}
	return wait
}

// MaxLate is the largest Late of a stretch.
func (t *Timeline) MaxLate(from, to int64) int64 {
	if t == nil {
		return 0
	}
	late := max(t.Late(to), t.maxWait(from, to))
	for i, _ := slices.BinarySearch(t.ends, from); i < len(t.ends) && t.ends[i] <= to; i++ {
		late = max(late, t.Late(t.ends[i]))
	}
	return late
}

// HeldTime is how long something was held up between two moments.
func (t *Timeline) HeldTime(from, to int64) int64 {
	if t == nil || to <= from {
		return 0
	}
	return min(t.upTo(to)-t.upTo(from)+t.maxWait(from, to), to-from)
}

// upTo is how long something was held up before a moment.
func (t *Timeline) upTo(at int64) int64 {
	i, _ := slices.BinarySearchFunc(t.held, at, func(h Holdup, at int64) int { return cmp.Compare(h.Start, at) })
	if i == 0 {
		return 0
	}
	return t.heldBefore[i-1] + min(at, t.held[i-1].End) - t.held[i-1].Start
}

// HeldTimeOf is how long something was held up that began at a moment and takes
// work undisturbed, at most limit.
func (t *Timeline) HeldTimeOf(from, work, limit int64) int64 {
	held := int64(0)
	for {
		more := t.HeldTime(from, from+min(work+held, limit))
		if more <= held || more >= limit {
			return min(more, limit)
		}
		held = more
	}
}

// Sum is how often a machine held a program up in a stretch, for how long in
// all, and for how long at most.
type Sum struct {
	Times      int
	Total, Max time.Duration
}

// Sum adds up the hold-ups of a stretch; those that overlap count once.
func (t *Timeline) Sum(from, to int64) (s Sum) {
	if t == nil {
		return s
	}
	for i, h := range t.held {
		if start, end := max(h.Start, from), min(h.End, to); end > start {
			s.Times++
			s.Total += time.Duration(end - start)
			s.Max = max(s.Max, time.Duration(min(end-start, t.max[i])))
		}
	}
	return s
}
