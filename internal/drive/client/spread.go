package client

import (
	"fmt"
	"hash/fnv"
	"slices"

	"redline/internal/llm"
	"redline/internal/text"
)

// The ways in which requests are spread over several URLs and addresses.
const (
	InTurn        = "turn"
	LeastInFlight = "least-in-flight"
	Sticky        = "sticky"
)

// Spreads are all of them.
var Spreads = []string{InTurn, LeastInFlight, Sticky}

func checkSpread(name string) error {
	if name == "" || slices.Contains(Spreads, name) {
		return nil
	}
	return fmt.Errorf("spread: unknown %q: %s", name, text.HintWithKnown(name, Spreads))
}

// take chooses where a request goes, and counts it there until leave.
func (c *Client) take(r *llm.Request) *endpoint {
	n := c.turn.Add(1) - 1
	chosen := c.nth(n)
	switch {
	case c.spread == Sticky && r.Session != "":
		h := fnv.New64a()
		h.Write([]byte(r.Session))
		return c.nth(h.Sum64() >> 1)
	case c.spread == LeastInFlight:
		c.spreading.Lock()
		defer c.spreading.Unlock()
		for _, ep := range c.endpoints {
			for _, peer := range ep.peers {
				if peer.inFlight < chosen.inFlight {
					chosen = peer
				}
			}
		}
		chosen.inFlight++
	}
	return chosen
}

// leave says that a request that was taken there has ended.
func (c *Client) leave(ep *endpoint) {
	if c.spread == LeastInFlight {
		c.spreading.Lock()
		defer c.spreading.Unlock()
		ep.inFlight--
	}
}
