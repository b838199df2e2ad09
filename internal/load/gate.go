package load

import (
	"context"
	"sync"
)

// gate lets at most so many requests through at a time, first come first
// served.
type gate struct {
	mu    sync.Mutex
	free  int
	queue []chan struct{}
	none  bool // no cap
	done  chan struct{}
}

func newGate(limit int) *gate {
	return &gate{free: limit, none: limit <= 0, done: make(chan struct{})}
}

// shut turns away everybody who has not entered yet.
func (g *gate) shut() { close(g.done) }

// enter waits for a slot, or reports false when the gate is shut or ctx ends
// first.
func (g *gate) enter(ctx context.Context) bool {
	if g.none {
		return true
	}
	select {
	case <-g.done:
		return false
	default:
	}
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	g.queue = append(g.queue, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-g.done:
		return false
	case <-ctx.Done():
		// A slot that was handed over meanwhile stays taken: the stage is
		// ending and nobody else will ask for it.
		return false
	}
}

// leave hands the slot to whoever has waited longest.
func (g *gate) leave() {
	if g.none {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.free++
		return
	}
	close(g.queue[0])
	g.queue = g.queue[1:]
}
