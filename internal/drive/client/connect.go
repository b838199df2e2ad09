package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"redline/internal/drive/socket"
	"redline/internal/llm"
)

// connectLimit bounds the set-up of one connection, unless the limit of the
// whole request is shorter.
const connectLimit = 30 * time.Second

// connect opens a connection, telling observe of each step.
func (c *Client) connect(ctx context.Context, ep *endpoint, observe func(llm.Event) bool) (*socket.Conn, *llm.Fault) {
	limited, cancel := context.WithTimeout(ctx, c.connectTime())
	defer cancel()
	began := c.clock.Now()
	dialed, err := ep.dial(limited, ep.network, ep.addr)
	if err != nil {
		return nil, c.dialFault(ctx, ep, err)
	}
	fresh := c.sockets.Conn(dialed, ep.tls == nil)
	if ep.tunnel != nil {
		if fault := c.openTunnel(ctx, limited, ep, fresh); fault != nil {
			_ = fresh.Close()
			return nil, fault
		}
	}
	observe(llm.Event{Kind: llm.Dialed, At: c.clock.Now(), Since: began})
	if ep.tls == nil {
		return fresh, nil
	}
	secure := tls.Client(fresh.Conn, ep.tls)
	if err := secure.HandshakeContext(limited); err != nil {
		fresh.Abort()
		return nil, c.tlsFault(ctx, ep, err)
	}
	observe(llm.Event{Kind: llm.Secured, At: c.clock.Now()})
	fresh.Conn = secure
	return fresh, nil
}

// connectTime is what a connection may take to be set up: one that takes longer
// than a whole request may is of no use to it.
func (c *Client) connectTime() time.Duration { return min(connectLimit, c.timeouts.Total) }

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
			ep.pool.Put(fresh)
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
