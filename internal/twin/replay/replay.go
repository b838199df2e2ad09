package replay

import (
	"math"

	"redline/internal/twin/queue"
	"redline/internal/twin/sim"
)

// Figures are what an answer is judged by, in nanoseconds; negative where they
// are not known.
type Figures struct {
	TTFT, TPOT, E2E float64
	Cached          int // tokens of the prompt
}

// player offers the requests of a recording to an engine as they were offered to
// the server: an open loop at the recorded times, a closed one as places become
// free, later turns their pause after those that they waited for.
type player struct {
	rec     *Recording
	engine  Engine
	pending queue.Heap[dueAt]
	backlog []int // due, but the cap is reached
	placed  int   // requests in flight, or sessions of a closed loop
	turns   []turnPlay
	left    []int // turns of the session that each request opens, which have not ended
	out     []Figures
	look    int64 // when the cache is looked at next
	peak    int
}

// turnPlay is a request and its place among those of its session.
type turnPlay struct {
	opening int   // the request that opens the session
	waits   int   // for how many others
	then    []int // which wait for it
	beside  []int // sent as much later than it as recorded
	pause   int64 // behind what it waits for, or behind the opening
	after   int64 // when the last that it waited for ended
	sent    int64
}

// Play gives the figures of every request of a recording, in its order, and the
// most tokens that the cache had room for, looked at every second of the window.
func Play(spec sim.Spec, rec *Recording) (figures []Figures, peak int, err error) {
	r := &player{rec: rec, look: rec.Start}
	if r.engine, err = NewEngine(spec, r.finish); err != nil {
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
			r.peak = max(r.peak, r.engine.Held())
		}
		if r.engine.Next() < due {
			r.engine.Advance(r.engine.Next())
		} else {
			r.offer(due, r.pending.Pop().i)
		}
	}
}

// lay links the turns of sessions and puts the first on the schedule. The records do
// not say what waited for what: a turn waits for those of its session that had ended
// when it came, but for those that one of them had waited for.
func (r *player) lay() {
	list := r.rec.Requests
	r.turns, r.left, r.out = make([]turnPlay, len(list)), make([]int, len(list)), make([]Figures, len(list))
	sessions := map[int][]int{}
	opened := 0
	for i := range list {
		r.out[i] = Figures{TTFT: -1, TPOT: -1, E2E: -1}
		o, t := &list[i], &r.turns[i]
		before := sessions[o.Session]
		if o.Turn == 0 || before == nil {
			t.opening, sessions[o.Session] = i, []int{i}
			r.left[i]++
			if opened++; r.rec.Closed && opened > r.rec.Cap {
				r.backlog = append(r.backlog, i)
			} else {
				r.pending.Push(dueAt{o.At, i})
			}
			continue
		}
		sessions[o.Session] = append(before, i)
		t.opening = before[0]
		r.left[t.opening]++
		if r.follow(i, before); t.waits == 0 {
			t.pause = o.At - list[t.opening].At
			r.turns[t.opening].beside = append(r.turns[t.opening].beside, i)
		}
	}
}

// follow links a turn to those before it that it waits for.
func (r *player) follow(i int, before []int) {
	list := r.rec.Requests
	ended := func(k int) bool { return list[k].Last > 0 && list[k].Last <= list[i].At }
	latest, end := int64(math.MinInt64), int64(0)
	for _, k := range before {
		if ended(k) {
			latest, end = max(latest, list[k].At), max(end, list[k].Last)
		}
	}
	for _, k := range before {
		if ended(k) && list[k].Last > latest {
			r.turns[k].then = append(r.turns[k].then, i)
			r.turns[i].waits++
		}
	}
	r.turns[i].pause = list[i].At - end
}

// full reports whether no place is free for a request: in a closed loop one that opens
// a session needs it.
func (r *player) full(i int) bool {
	return r.rec.Cap > 0 && r.placed >= r.rec.Cap && (!r.rec.Closed || r.turns[i].opening == i)
}

// offer submits a request, unless the cap holds it back.
func (r *player) offer(now int64, i int) {
	if r.full(i) {
		r.backlog = append(r.backlog, i)
		return
	}
	t := &r.turns[i]
	t.sent = now
	for _, k := range t.beside {
		r.pending.Push(dueAt{now + r.turns[k].pause, k})
	}
	if !r.rec.Closed || t.opening == i {
		r.placed++
	}
	asked := r.rec.Requests[i].Request
	asked.Text = r.rec.Requests[i].Session + 1
	if !r.engine.Submit(now, asked, int64(i)) {
		r.leave(now, i)
	}
}

// leave gives up the place of a request, or of its session where that is over, and lets
// the next one in that the cap held back.
func (r *player) leave(now int64, i int) {
	opening := r.turns[i].opening
	if r.left[opening]--; r.rec.Closed && r.left[opening] > 0 {
		return
	}
	r.placed--
	if len(r.backlog) > 0 {
		r.pending.Push(dueAt{now, r.backlog[0]})
		r.backlog = r.backlog[1:]
	}
}

func (r *player) finish(a Answer) {
	i := int(a.Tag)
	sent := r.turns[i].sent
	r.out[i] = Figures{float64(a.First - sent), a.TPOT(), float64(a.Last - sent), a.Cached}
	for _, k := range r.turns[i].then {
		t := &r.turns[k]
		t.after = max(t.after, a.Last)
		if t.waits--; t.waits == 0 {
			r.pending.Push(dueAt{t.after + t.pause, k})
		}
	}
	r.leave(a.Last, i)
}

// dueAt is when which request is due: the earliest first, and of two at once
// the one that was recorded first.
type dueAt struct {
	at int64
	i  int
}

// Before reports which of two is first.
func (d dueAt) Before(o dueAt) bool { return d.at < o.at || d.at == o.at && d.i < o.i }
