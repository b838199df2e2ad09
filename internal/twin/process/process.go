// Package process is for tests alone: services under load whose truth is known,
// in virtual time. It takes the name of a process and a seed and gives the
// requests of a window: when each was due, what it took, and whose it was. It
// knows nothing of records, objectives or verdicts.
package process

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"redline/internal/stats"
)

// Request is one request of a window.
type Request struct {
	// Due is in seconds from the start of the window.
	Due float64
	// Took is the figure that the process is judged by, in seconds: infinite for
	// one that failed or was rejected.
	Took float64
	// Session numbers the conversation it is a turn of; each request has its own
	// where there are none. Turn is 0 for the first.
	Session, Turn int
}

// Process is a service under one load.
type Process struct {
	Name string
	// Metric is ttft, e2e, error or reject, and P the percentile that is judged;
	// 0 for a rate.
	Metric string
	P      float64
	// Rate is the mean of requests per second.
	Rate float64
	// HeldOut says that no constant of any rule was chosen on it.
	HeldOut bool
	// warm is how long load is offered before the window, in seconds; 60 where
	// it is 0.
	warm float64
	// open starts the service of one run.
	open func(r *rand.Rand) service
	// play takes the place of open where another simulation stands behind it.
	play func(seed uint64, length float64) []Request
}

// Another is a process that another simulation plays.
func Another(name, metric string, p, rate float64, play func(seed uint64, length float64) []Request) Process {
	return Process{Name: name, Metric: metric, P: p, Rate: rate, play: play}
}

// IsSimulated reports whether another simulation stands behind the process.
func (p Process) IsSimulated() bool { return p.play != nil }

// service is the state of one run.
type service struct {
	// sources give the time from one arrival, or first turn, to the next.
	sources []func() float64
	// begin draws what is particular to a conversation; nil where nothing is.
	begin func(source int, s *session)
	// think is the time between the end of a turn and the next.
	think func() float64
	// serve answers what arrives at a time: when it is done, and the figure it is
	// judged by.
	serve func(at float64, s *session) (done, took float64)
}

// session is a conversation, or a single request.
type session struct {
	id, source  int
	turn, turns int
	replica     int
	factor      float64
}

// Play gives the requests that are due in a window of so many seconds, in order.
func (p Process) Play(seed uint64, length float64) []Request {
	if p.play != nil {
		return p.play(seed, length)
	}
	r := stats.Rand(seed, p.Name, 0)
	s := p.open(r)
	warm := cmp.Or(p.warm, 60)
	list := make([]Request, 0, int(1.1*p.Rate*length)+64)
	var pending arrivals
	for i, gap := range s.sources {
		pending.push(arrival{at: gap() - warm, source: i})
	}
	id := 0
	for {
		next := pending.pop()
		if next.at >= length {
			return list
		}
		of := next.session
		if of == nil {
			pending.push(arrival{at: next.at + s.sources[next.source](), source: next.source})
			id++
			of = &session{id: id, source: next.source, turns: 1, factor: 1}
			if s.begin != nil {
				s.begin(next.source, of)
			}
		}
		done, took := s.serve(next.at, of)
		if next.at >= 0 {
			list = append(list, Request{Due: next.at, Took: took, Session: of.id, Turn: of.turn})
		}
		if of.turn++; of.turn < of.turns {
			pending.push(arrival{at: max(done, next.at) + s.think(), session: of})
		}
	}
}

// Truth is what very many windows have in common: their values in order.
type Truth struct {
	sorted []float64
	// Value is the percentile that is judged, or the rate.
	Value float64
	// Period is the mean time between clusters of requests beyond it, in seconds.
	Period float64
}

// TruthOf puts the runs of a process together, each so many seconds long.
func (p Process) TruthOf(runs [][]Request, length float64) Truth {
	var t Truth
	for _, run := range runs {
		for _, q := range run {
			t.sorted = append(t.sorted, q.Took)
		}
	}
	slices.Sort(t.sorted)
	limit := math.MaxFloat64
	if p.P > 0 {
		t.Value = stats.Quantile(t.sorted, p.P)
		limit = t.Value
	} else {
		t.Value = t.Beyond(limit)
	}
	clusters := 0.0
	for _, run := range runs {
		clusters += clustersOf(run, limit)
	}
	t.Period = float64(len(runs)) * length / clusters
	return t
}

// Truth simulates a number of windows of one length and pools them.
func (p Process) Truth(first uint64, windows int, length float64) Truth {
	var runs [][]Request
	for i := range windows {
		runs = append(runs, p.Play(first+uint64(i), length))
	}
	return p.TruthOf(runs, length)
}

// Beyond is the share of requests above a limit.
func (t Truth) Beyond(limit float64) float64 {
	at, _ := slices.BinarySearch(t.sorted, math.Nextafter(limit, math.Inf(1)))
	return 1 - float64(at)/float64(len(t.sorted))
}

// clustersOf counts clusters of requests beyond a limit by Ferro and Segers'
// intervals: with an extremal index θ, that share of the times between them
// separates clusters.
func clustersOf(run []Request, limit float64) float64 {
	var at []float64
	for _, q := range run {
		if q.Took > limit {
			at = append(at, q.Due)
		}
	}
	if len(at) < 2 {
		return float64(len(at))
	}
	sum, squares := 0.0, 0.0
	for i := 1; i < len(at); i++ {
		d := at[i] - at[i-1]
		sum += d
		squares += d * d
	}
	theta := min(1, 2*sum*sum/(float64(len(at)-1)*squares))
	return 1 + theta*float64(len(at)-1)
}

// arrival is a request to come: the first of a source, or the next turn of a
// session.
type arrival struct {
	at      float64
	source  int
	session *session
}

// arrivals is a heap of them by time.
type arrivals []arrival

func (h *arrivals) push(a arrival) {
	*h = append(*h, a)
	list := *h
	for i := len(list) - 1; i > 0; {
		parent := (i - 1) / 2
		if list[parent].at <= list[i].at {
			return
		}
		list[parent], list[i] = list[i], list[parent]
		i = parent
	}
}

func (h *arrivals) pop() arrival {
	list := *h
	first, last := list[0], len(list)-1
	list[0] = list[last]
	list = list[:last]
	*h = list
	for i := 0; ; {
		least := 2*i + 1
		if least >= last {
			return first
		}
		if right := least + 1; right < last && list[right].at < list[least].at {
			least = right
		}
		if list[i].at <= list[least].at {
			return first
		}
		list[i], list[least] = list[least], list[i]
		i = least
	}
}
