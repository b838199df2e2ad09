package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"redline/internal/llm"
)

// pool keeps connections that wait for their next request. The one that was
// used last is taken first, because it is the least likely to have been closed
// by the server.
type pool struct {
	mu      sync.Mutex
	waiting []*conn
	closed  bool
}

// get gives a connection that is fit for a request, or nil.
func (p *pool) get() *conn {
	for {
		c := p.pop()
		if c == nil || c.fit() {
			return c
		}
		c.close()
	}
}

func (p *pool) pop() *conn {
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

// put keeps a connection whose last reply has been read to its end.
func (p *pool) put(c *conn) {
	c.reused, c.silentAt = true, c.raw.clock.Now()
	if c.head != c.tail {
		c.raw.counts.unsolicited.Add(1)
		c.close()
		return
	}
	// Where no deadline can be lifted the connection is already closed.
	if c.SetDeadline(time.Time{}) != nil {
		c.close()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.close()
		return
	}
	p.waiting = append(p.waiting, c)
}

// retransmits adds up what was sent again on the connections that wait.
func (p *pool) retransmits() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting {
		n += c.raw.retransmits()
	}
	return n
}

// countUnsolicited counts those that wait and have brought something.
func (p *pool) countUnsolicited() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting {
		if c.state() == spoke {
			n++
		}
	}
	return n
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.waiting {
		c.close()
	}
	p.waiting = nil
}

// opening is how many connections are set up at the same time, so that a
// server's listen queue is not overrun.
const opening = 64

// Open sets up n connections ahead of the load, spread over the endpoints, so
// that TCP and TLS set-up stays out of the first requests' times.
func (c *Client) Open(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, opening)
	var all sync.WaitGroup
	for i := range n {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		ep := c.nth(uint64(i))
		all.Go(func() {
			defer func() { <-slots }()
			fresh, fault := c.connect(ctx, ep, func(llm.Event) bool { return true })
			if fault != nil {
				cancel(fmt.Errorf("%s: %s", ep.safeURL(), fault.Message))
				return
			}
			ep.pool.put(fresh)
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
