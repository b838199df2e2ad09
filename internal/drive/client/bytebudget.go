package client

import (
	"fmt"
	"sync/atomic"
)

// What has begun to arrive and not ended is held in memory. One event or reply
// is bounded by its own limit; all of them together are bounded here, because
// servers that never end an event do so on every stream at once.
//
// byteBudget is how many bytes are so held.
type byteBudget struct {
	// large is the size from which on something counts, so that ordinary
	// streams cost nothing and are never failed for the sake of others.
	large int64
	max   int64
	sum   atomic.Int64
}

// An event holds a few tokens, but a reply of vectors can be megabytes.
const (
	largeEvent, maxEvents  = 1 << 20, 128 << 20
	largeReply, maxReplies = 4 << 20, 512 << 20
)

// hold says that so many bytes are held for a reply that has not ended. It
// refuses what makes the sum too large.
func (x *exchange) hold(n int) error {
	h := x.holds()
	now := int64(n)
	if now < h.large {
		now = 0
	}
	if now == x.held {
		return nil
	}
	x.holdsLarge = true
	sum := h.sum.Add(now - x.held)
	x.held = now
	if sum > h.max && now > 0 {
		return errProtocol(fmt.Sprintf("events or replies that do not end hold more than %d MiB in all: does the server ever end an event?", h.max>>20))
	}
	return nil
}

func (x *exchange) holds() *byteBudget {
	if x.streams() {
		return &x.c.events
	}
	return &x.c.replies
}
