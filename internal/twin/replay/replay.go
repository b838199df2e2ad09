package replay

import (
	"math"

	"redline/internal/twin/sim"
)

// Figures are what an answer is judged by, in nanoseconds; negative where they
// are not known.
type Figures struct{ TTFT, TPOT, E2E float64 }

// player offers the requests of a recording to an engine as they were offered to
// the server: an open loop at the recorded times, a closed one as places become
// free, later turns their pause after the turn before.
type player struct {
	rec     *Recording
	engine  *Instance
	pending schedule
	backlog []int // due, but the cap is reached
	flying  int
	next    []int   // the turn after each request, -1 for none
	sent    []int64 // when each was submitted
	out     []Figures
	look    int64 // when the cache is looked at next
	peak    int
}

// Play gives the figures of every request of a recording, in its order, and the
// most tokens that the cache had room for, looked at every second of the window.
func Play(spec sim.Spec, rec *Recording) (figures []Figures, peak int, err error) {
	r := &player{rec: rec, sent: make([]int64, len(rec.Requests)), out: make([]Figures, len(rec.Requests)), look: rec.Start}
	if r.engine, err = NewInstance(spec, r.done); err != nil {
		return nil, 0, err
	}
	r.run()
	return r.out, r.peak, nil
}

// run plays until nothing is left.
func (r *player) run() {
	r.lay()
	for r.pending.len() > 0 || r.engine.Next() != Idle {
		due := r.pending.first()
		for now := min(due, r.engine.Next()); r.look < min(now, r.rec.End); r.look += 1e9 {
			r.peak = max(r.peak, r.engine.inUse())
		}
		if r.engine.Next() < due {
			r.engine.Advance(r.engine.Next())
		} else {
			_, i := r.pending.pop()
			r.offer(due, i)
		}
	}
}

// lay puts the first turns on the schedule.
func (r *player) lay() {
	list := r.rec.Requests
	r.next = make([]int, len(list))
	type turn struct{ session, turn int }
	at := map[turn]int{}
	for i := len(list) - 1; i >= 0; i-- {
		r.next[i] = -1
		o := &list[i]
		if later, ok := at[turn{o.Session, o.Turn + 1}]; ok && list[later].Think != math.MinInt64 {
			r.next[i] = later
		}
		at[turn{o.Session, o.Turn}] = i
	}
	for i := range list {
		r.out[i] = Figures{-1, -1, -1}
		switch {
		case list[i].Think != math.MinInt64: // follows its turn before
		case r.rec.Closed && i >= r.rec.Cap:
			r.backlog = append(r.backlog, i)
		default:
			r.pending.push(list[i].At, i)
		}
	}
}

// offer submits a request, unless the cap holds it back.
func (r *player) offer(now int64, i int) {
	if r.rec.Cap > 0 && r.flying >= r.rec.Cap {
		r.backlog = append(r.backlog, i)
		return
	}
	r.sent[i] = now
	if r.engine.Submit(now, r.rec.Requests[i].Request, int64(i)) {
		r.flying++
	} else {
		r.release(now)
	}
}

// release lets the next one in that the cap held back.
func (r *player) release(now int64) {
	if len(r.backlog) > 0 && (r.rec.Cap == 0 || r.flying < r.rec.Cap) {
		r.pending.push(now, r.backlog[0])
		r.backlog = r.backlog[1:]
	}
}

func (r *player) done(a Answer) {
	i := int(a.Tag)
	r.out[i] = Figures{float64(a.First - r.sent[i]), a.TPOT(), float64(a.Last - r.sent[i])}
	r.flying--
	if later := r.next[i]; later >= 0 {
		r.pending.push(a.Last+r.rec.Requests[later].Think, later)
	}
	r.release(a.Last)
}

// schedule is what is due when: a heap, the earliest first, and of two at once
// the one that was recorded first.
type schedule struct{ list []dueAt }

type dueAt struct {
	at int64
	i  int
}

func (d dueAt) before(o dueAt) bool { return d.at < o.at || d.at == o.at && d.i < o.i }

func (s *schedule) len() int { return len(s.list) }

// first is when the next is due, Idle where none is.
func (s *schedule) first() int64 {
	if len(s.list) == 0 {
		return Idle
	}
	return s.list[0].at
}

func (s *schedule) push(at int64, i int) {
	s.list = append(s.list, dueAt{at, i})
	for k := len(s.list) - 1; k > 0; {
		up := (k - 1) / 2
		if !s.list[k].before(s.list[up]) {
			return
		}
		s.list[up], s.list[k] = s.list[k], s.list[up]
		k = up
	}
}

func (s *schedule) pop() (int64, int) {
	out, last := s.list[0], len(s.list)-1
	s.list[0] = s.list[last]
	s.list = s.list[:last]
	for k := 0; ; {
		down := 2*k + 1
		if down+1 < last && s.list[down+1].before(s.list[down]) {
			down++
		}
		if down >= last || !s.list[down].before(s.list[k]) {
			return out.at, out.i
		}
		s.list[k], s.list[down] = s.list[down], s.list[k]
		k = down
	}
}
