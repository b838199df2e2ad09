package replay

import (
	"math"

	"redline/internal/twin/queue"
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
	pending queue.Heap[dueAt]
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
	if r.engine, err = NewInstance(spec, r.finish); err != nil {
		return nil, 0, err
	}
	r.run()
	return r.out, r.peak, nil
}

// run plays until nothing is left.
func (r *player) run() {
	r.lay()
	for r.pending.Len() > 0 || r.engine.Next() != Idle {
		due := Idle
		if r.pending.Len() > 0 {
			due = r.pending.Top().at
		}
		for now := min(due, r.engine.Next()); r.look < min(now, r.rec.End); r.look += 1e9 {
			r.peak = max(r.peak, (r.engine.blocks-r.engine.free)*BlockSize)
		}
		if r.engine.Next() < due {
			r.engine.Advance(r.engine.Next())
		} else {
			r.offer(due, r.pending.Pop().i)
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
			r.pending.Push(dueAt{list[i].At, i})
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
		r.pending.Push(dueAt{now, r.backlog[0]})
		r.backlog = r.backlog[1:]
	}
}

func (r *player) finish(a Answer) {
	i := int(a.Tag)
	r.out[i] = Figures{float64(a.First - r.sent[i]), a.TPOT(), float64(a.Last - r.sent[i])}
	r.flying--
	if later := r.next[i]; later >= 0 {
		r.pending.Push(dueAt{a.Last + r.rec.Requests[later].Think, later})
	}
	r.release(a.Last)
}

// dueAt is when which request is due: the earliest first, and of two at once
// the one that was recorded first.
type dueAt struct {
	at int64
	i  int
}

// Before reports which of two is first.
func (d dueAt) Before(o dueAt) bool { return d.at < o.at || d.at == o.at && d.i < o.i }
