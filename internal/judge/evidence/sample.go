package evidence

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Observation is a value of the figure that is judged, or several equal ones.
type Observation struct {
	// At is when it was due, in seconds from the start of the window.
	At float32
	// Value is infinite for a request that failed; of a rate it is 1 or 0.
	Value float32
	// Weight is the number of equal values it represents.
	Weight float32
	// Group is the conversation it belongs to, Alone where there is none.
	Group int32
	// Kinds is what it shares with others all the time, by way. Each kind may have its
	// own pace, and clusters of its own. 0 is that of values of which it is not known.
	Kinds [kindCount]uint8
}

// The ways in which requests may be of different kinds.
const (
	ByClass = iota
	ByTenant
	ByPromptLength
	ByReplica
	kindCount
)

// Alone is the group of a value that belongs to no conversation.
const Alone = -1

// points is how finely a window is cut to see what depends on what.
const points = 96

// Window is the stretch of time that values are of.
type Window struct {
	Length float64 // seconds
	// Parts says that the values are parts of requests, as gaps between tokens are:
	// of so many requests, each at the middle of one of so many stretches of the
	// window. A request's parts depend on one another, and so do those of all that
	// stream at a time; how many come together says it all.
	Requests, Parts int
}

// Sample is the values of one window.
type Sample struct {
	list     []Observation // by time
	length   float64
	points   int
	parts    bool // values are parts of requests
	sorted   []rankedValue
	total    float64 // weight
	requests float64
	// binary says that values are of two kinds alone, as those of a rate are.
	binary bool
	// talks are the observations of each conversation of several turns, and span the
	// mean time from its first to its last, over the length of the window.
	talks [][]int32
	span  float64
	// kinds is how many there are in each way, 0 for a single one.
	kinds [kindCount]int

	known map[int]clustering // by how many of the sorted values are not beyond
	whole *clustering
	// tailList is known once it is fitted.
	tailList []tail
	fitted   bool
}

// rankedValue is a value, which of the list it is, and the weight of all up to it.
type rankedValue struct {
	value float32
	index int32
	upTo  float64
}

// New takes over the values of a window and puts them in order.
func New(list []Observation, w Window) *Sample {
	s := &Sample{list: list, length: w.Length, points: points, known: map[int]clustering{}}
	byTime := func(a, b Observation) int { return cmp.Compare(a.At, b.At) }
	if !slices.IsSortedFunc(list, byTime) {
		slices.SortStableFunc(list, byTime)
	}
	s.sorted = make([]rankedValue, len(list))
	for i, o := range list {
		s.sorted[i] = rankedValue{o.Value, int32(i), float64(o.Weight)}
	}
	slices.SortFunc(s.sorted, func(a, b rankedValue) int { return cmp.Compare(a.value, b.value) })
	kinds := 0
	for i := range s.sorted {
		s.total += s.sorted[i].upTo
		s.sorted[i].upTo = s.total
		if i == 0 || s.sorted[i].value != s.sorted[i-1].value {
			kinds++
		}
	}
	s.binary, s.requests = kinds <= 2, s.total
	if w.Parts > 0 {
		s.parts, s.points, s.requests = true, w.Parts, float64(w.Requests)
	}
	s.findTalks()
	s.findKinds()
	return s
}

// findTalks gathers the conversations of several turns.
func (s *Sample) findTalks() {
	turns := map[int32][]int32{}
	for i, o := range s.list {
		if o.Group != Alone {
			turns[o.Group] = append(turns[o.Group], int32(i))
		}
	}
	for _, of := range turns {
		if len(of) > 1 {
			s.talks = append(s.talks, of)
		}
	}
	// A fixed order adds up to the same sums every time.
	slices.SortFunc(s.talks, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	for _, of := range s.talks {
		lasts := float64(s.list[of[len(of)-1]].At - s.list[of[0]].At)
		s.span += float64(len(of)) / float64(len(s.list)) * lasts / s.length
	}
}

// findKinds counts the kinds of each way in which requests differ.
func (s *Sample) findKinds() {
	var seen [kindCount][256]bool
	for i := range s.list {
		for way, kind := range s.list[i].Kinds {
			seen[way][kind] = true
		}
	}
	for way := range seen {
		count := 0
		for kind, there := range seen[way] {
			if there {
				count++
				s.kinds[way] = kind + 1
			}
		}
		if count < 2 {
			s.kinds[way] = 0
		}
	}
}

func (s *Sample) point(o Observation) int {
	return min(max(int(float64(o.At)/s.length*float64(s.points)), 0), s.points-1)
}

// notBeyond is how many of the sorted values are at most x.
func (s *Sample) notBeyond(x float64) int {
	return sort.Search(len(s.sorted), func(i int) bool { return float64(s.sorted[i].value) > x })
}

// Beyond is the weight of the values above x.
func (s *Sample) Beyond(x float64) float64 { return s.from(s.notBeyond(x)) }

// from is the weight of the i-th of the sorted values and all after it.
func (s *Sample) from(i int) float64 {
	if i == 0 {
		return s.total
	}
	return s.total - s.sorted[i-1].upTo
}

// Level is a value that about a share of all lies beyond: the nearest where many
// are equal, but neither all nor none where something lies between.
func (s *Sample) Level(share float64) float64 {
	want := share * s.total
	i := sort.Search(len(s.sorted), func(i int) bool { return s.sorted[i].upTo > (s.total-want)*(1+1e-12) })
	v := float64(s.sorted[min(i, len(s.sorted)-1)].value)
	below := math.Nextafter(v, math.Inf(-1))
	less, more := s.Beyond(v), s.Beyond(below)
	if less > 0 && (more >= s.total || want-less < more-want) {
		return v
	}
	return below
}
