package load

import (
	"fmt"

	"redline/internal/llm"
)

// A breaker looks at the last requests only, so that a server that fails late
// in a long run is noticed as soon as one that fails at once; and at no fewer
// than minEnded, so that a single early fault does not end a run.
const (
	lastEnded = 100
	minEnded  = 50
)

// breaker watches the share of requests that end with a fault.
type breaker struct {
	limit  float64 // 0: it never breaks
	ended  int
	faults int // among the last ones
	last   [lastEnded]bool
}

// observe takes in how a request ended and reports whether the share of faults
// among the last ones is above the limit. What the stage itself ended says
// nothing about the server.
func (b *breaker) observe(o llm.Outcome) bool {
	if b.limit <= 0 || o.Count().Unfinished {
		return false
	}
	slot := &b.last[b.ended%lastEnded]
	if *slot {
		b.faults--
	}
	*slot = o.Count().Fault
	if *slot {
		b.faults++
	}
	b.ended++
	return b.ended >= minEnded && b.share() > b.limit
}

func (b *breaker) share() float64 { return float64(b.faults) / float64(min(b.ended, lastEnded)) }

// String says why the breaker broke.
func (b *breaker) String() string {
	return fmt.Sprintf("%d of the last %d requests failed or were rejected, more than --max-error-rate %g",
		b.faults, min(b.ended, lastEnded), b.limit)
}
