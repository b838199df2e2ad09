package client

import (
	"context"
	"fmt"
	"sync"
)

// pool keeps connections that wait for their next request. The one that was
// used last is taken first, because it is the least likely to have been closed
// by the server.
type pool struct {
	mu     sync.Mutex
	idle   []*conn
	closed bool
}

func (p *pool) get() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	c := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return c
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.close()
		return
	}
	p.idle = append(p.idle, c)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
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
		ep := c.endpoints[i%len(c.endpoints)]
		all.Go(func() {
			defer func() { <-slots }()
			fresh, fault := c.connect(ctx, ep, nil)
			if fault != nil {
				cancel(fmt.Errorf("connection %d of %d to %s: %s", i+1, n, ep.addr, fault.Message))
				return
			}
			ep.pool.put(fresh)
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
