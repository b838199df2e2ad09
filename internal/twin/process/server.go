package process

import (
	"math"
	"math/rand/v2"

	"redline/internal/stats"
)

// draw is a random duration in seconds.
type draw func() float64

func exponential(r *rand.Rand, mean float64) draw {
	return func() float64 { return mean * stats.Exponential(r) }
}

func constant(value float64) draw { return func() float64 { return value } }

// lognormal has the mean given, whatever its sigma.
func lognormal(r *rand.Rand, mean, sigma float64) draw {
	mu := math.Log(mean) - sigma*sigma/2
	return func() float64 { return stats.LogNormal(r, mu, sigma) }
}

// mixture draws from other with a chance of share.
func mixture(r *rand.Rand, share float64, other, usual draw) draw {
	return func() float64 {
		if r.Float64() < share {
			return other()
		}
		return usual()
	}
}

// line is a queue, served in order by one or more servers.
type line struct{ free []float64 }

func newLine(servers int) *line {
	l := &line{make([]float64, servers)}
	for i := range l.free {
		l.free[i] = math.Inf(-1)
	}
	return l
}

// take has the first server that is free do so much work.
func (l *line) take(at, work float64) (done float64) {
	first := 0
	for i, free := range l.free {
		if free < l.free[first] {
			first = i
		}
	}
	l.free[first] = max(at, l.free[first]) + work
	return l.free[first]
}

// queueInOrder serves what arrives in order.
func queueInOrder(l *line, work draw) func(float64, *session) (float64, float64) {
	return func(at float64, s *session) (float64, float64) {
		done := l.take(at, s.factor*work())
		return done, done - at
	}
}

// waiting is a queue with one server that knows how many are in it.
type waiting struct {
	free float64
	ends []float64 // of those that were in it, in order
}

func newWaiting() *waiting { return &waiting{free: math.Inf(-1)} }

// length is how many have not ended.
func (w *waiting) length(at float64) int {
	gone := 0
	for gone < len(w.ends) && w.ends[gone] <= at {
		gone++
	}
	w.ends = w.ends[gone:]
	return len(w.ends)
}

func (w *waiting) take(at, work float64) (done float64) {
	w.free = max(at, w.free) + work
	w.ends = append(w.ends, w.free)
	return w.free
}

// serveAlone answers each request by itself.
func serveAlone(took draw) func(float64, *session) (float64, float64) {
	return func(at float64, s *session) (float64, float64) {
		t := s.factor * took()
		return at + t, t
	}
}

// episodes are stretches of time in which something is different. They are asked
// about in the order of time.
type episodes struct {
	gap, length draw // from the end of one to the start of the next
	from, to    float64
}

func newEpisodes(start float64, gap, length draw) *episodes {
	e := &episodes{gap: gap, length: length, to: start}
	e.next()
	return e
}

func (e *episodes) next() {
	e.from = e.to + e.gap()
	e.to = e.from + e.length()
}

// at reports whether a time lies in one, and when that one ends.
func (e *episodes) at(t float64) (in bool, until float64) {
	for t >= e.to {
		e.next()
	}
	return t >= e.from, e.to
}

// wander is an Ornstein-Uhlenbeck process of deviation sigma that forgets in tau
// seconds, asked about in the order of time.
type wander struct {
	r          *rand.Rand
	sigma, tau float64
	at, value  float64
}

func (w *wander) level(at float64) float64 {
	keep := math.Exp(-(at - w.at) / w.tau)
	w.value = keep*w.value + w.sigma*math.Sqrt(1-keep*keep)*w.r.NormFloat64()
	w.at = at
	return w.value
}
