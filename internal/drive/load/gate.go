package load

import "sync"

// gate lets a limited number of requests through at a time, first come first
// served.
type gate struct {
	mu    sync.Mutex
	free  []int64   // since when each free slot is free, longest first
	queue []*ticket // who waits, longest first
	shut  bool
}

// ticket is a request's place at a gate.
type ticket struct {
	decided chan struct{} // nil where there was nothing to wait for
	through bool
	since   int64 // when the slot that it got became free
}

func newGate(limit int) *gate { return &gate{free: make([]int64, limit)} }

// join takes a place. Whoever joins first is let through first, however late
// it comes to wait.
func (g *gate) join() *ticket {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.shut:
		return &ticket{}
	case len(g.free) > 0:
		since := g.free[0]
		g.free = g.free[1:]
		return &ticket{through: true, since: since}
	}
	t := &ticket{decided: make(chan struct{})}
	g.queue = append(g.queue, t)
	return t
}

// wait gives the decision on a ticket: through, or turned away.
func (t *ticket) wait() (through bool) {
	if t.decided != nil {
		<-t.decided
	}
	return t.through
}

// leave hands on a slot that became free at at.
func (g *gate) leave(at int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.free = append(g.free, at)
		return
	}
	next := g.queue[0]
	g.queue[0] = nil
	g.queue = g.queue[1:]
	next.through, next.since = true, at
	close(next.decided)
}

// close turns away everybody who waits or comes later.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for _, t := range g.queue {
		close(t.decided)
	}
	g.queue = nil
}
