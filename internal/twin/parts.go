package twin

import (
	"fmt"
	"slices"

	"redline/internal/text"
	"redline/internal/twin/replay"
)

// Part is one part of an engine, and whether the measurement decides how the twin has
// it.
type Part struct {
	Name    string `json:"name"`
	Decided bool   `json:"decided"`
	// Why is by what it is decided, or what is assumed in its place.
	Why string `json:"why"`
}

// parts says of each part of the engine whether the data decide it.
func (c *Calibration) parts() []Part {
	ev, seen := c.Evidence, look(c.Evidence.Levels)
	var out []Part
	add := func(name string, decided bool, yes, no string) {
		if !decided {
			yes = no
		}
		out = append(out, Part{name, decided, yes})
	}
	levels := text.Plural(len(ev.Levels), "level")
	add("step times", c.HeldOut != nil, "fitted to "+levels+", tested on those that a fit did not see", "fitted to "+levels+", and tested on none")
	add("batch size", seen.streaming < seen.inFlight, "requests waited for a place in it", fmt.Sprintf("%s assumed: no request ever waited for a place", text.Count(c.Spec.MaxNumSeqs)))
	add("KV cache", ev.Blocks > 0, text.Count(ev.Blocks*replay.BlockSize)+" tokens by the server's metrics", "endless: the server does not report its size")
	cached := slices.ContainsFunc(ev.Levels, func(l Level) bool {
		return slices.ContainsFunc(l.Requests, func(o replay.ObservedRequest) bool { return o.Cached > 0 })
	})
	add("prefix cache", cached, "as recorded; with more live sessions it would find less",
		"none: no reply names a cached token")
	switch {
	case ev.specLength > 1:
		add("speculation", false, "", fmt.Sprintf("in the step times: a step brought %s tokens, and brings others of other text", text.Number(ev.specLength)))
	default:
		add("speculation", ev.countsDrafts, "none: the server counts no drafted token", "none assumed: the server does not count drafted tokens")
	}
	add("adapters, priorities", false, "", "none assumed: server.sim.max_loras, scheduling_policy")
	return out
}
