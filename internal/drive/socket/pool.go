package socket

import (
	"sync"
	"time"
)

// Pool keeps connections that wait for their next request. The one that was
// used last is taken first, because it is the least likely to have been closed
// by the server.
type Pool struct {
	mu      sync.Mutex
	waiting []*Conn
	closed  bool
}

// Get gives a connection that is fit for a request, or nil.
func (p *Pool) Get() *Conn {
	for {
		c := p.pop()
		if c == nil || c.Fit() {
			return c
		}
		_ = c.Close()
	}
}

func (p *Pool) pop() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil
	}
	last := len(p.waiting) - 1
	c := p.waiting[last]
	p.waiting[last] = nil
	p.waiting = p.waiting[:last]
	return c
}

// Put keeps a connection whose last reply has been read to its end.
func (p *Pool) Put(c *Conn) {
	c.Reused, c.SilentAt = true, c.raw.clock.Now()
	if c.head != c.tail {
		c.raw.counts.Unsolicited.Add(1)
		_ = c.Close()
		return
	}
	// Where no deadline can be lifted the connection is already closed.
	if c.SetDeadline(time.Time{}) != nil {
		_ = c.Close()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return
	}
	p.waiting = append(p.waiting, c)
}

// Retransmits adds up what was sent again on the connections that wait.
func (p *Pool) Retransmits() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting {
		n += c.raw.retransmits()
	}
	return n
}

// Unsolicited counts those that wait and have brought something.
func (p *Pool) Unsolicited() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting {
		if c.state() == spoke {
			n++
		}
	}
	return n
}

// Drop closes those that wait.
func (p *Pool) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting {
		_ = c.Close()
	}
	p.waiting = nil
}

// Close closes those that wait, and those that are put later.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Drop()
}
