package twin

import (
	"fmt"
	"time"

	"redline/internal/text"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
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
	add("batch size", c.filledBatch(seen), text.Count(c.Spec.MaxNumSeqs)+" streamed at once while others waited for a place",
		fmt.Sprintf("%s assumed: at most %s streamed at once", text.Count(c.Spec.MaxNumSeqs), text.Count(seen.streaming)))
	add("KV cache", ev.Blocks > 0, text.Count(ev.Blocks*replay.BlockSize)+" tokens by the server's metrics", "endless: the server does not report its size")
	if f := c.cache; f == nil {
		add("prefix cache", false, "", "none: no reply names a cached token")
	} else {
		add("prefix cache", f.agrees, f.says(), f.says())
	}
	if n := c.Spec.Law.HostBlocks; n > 0 {
		says := fmt.Sprintf("%s tokens by what it had, %s µs a block", text.Count(n*replay.BlockSize), text.Number(c.Spec.Law.HostBlockUS))
		add("host tier", c.cache.timed, says, says+" as expected of the link: the times do not show it")
	}
	switch {
	case c.Spec.Speculation.Tokens > 0:
		add("speculation", true, fmt.Sprintf("%s tokens a step, by what the server says of each place of a draft", text.Number(ev.specLength)), "")
	case ev.specLength > 1:
		add("speculation", false, "", fmt.Sprintf("in the step times: a step brought %s tokens, and brings others of other text", text.Number(ev.specLength)))
	default:
		add("speculation", ev.countsDrafts, "none: the server counts no drafted token", "none assumed: the server does not count drafted tokens")
	}
	return append(out, c.carriedParts(seen.carriage)...)
}

// filledBatch reports whether requests filled the batch of the twin. That more were in
// flight than streamed says nothing: every prompt has to be read first.
func (c *Calibration) filledBatch(seen sight) bool {
	return seen.full && seen.streaming >= c.Spec.MaxNumSeqs
}

// carriedParts says whether the data decide how the engine treats what requests
// carry: whether another treatment comes clearly less near.
func (c *Calibration) carriedParts(seen carriage) (out []Part) {
	var targets []target
	for _, l := range c.Evidence.Levels {
		short := trim(l)
		targets = append(targets, newTarget(&short))
	}
	fitted := distances(targets, c.Spec)
	add := func(name string, carried bool, none, says string, other func(*sim.Spec)) {
		p := Part{Name: name, Why: none}
		if carried {
			spec := c.Spec
			other(&spec)
			if p.Why, p.Decided = says, fitted < better*distances(targets, spec); !p.Decided {
				p.Why += "; the times do not show it"
			}
		}
		out = append(out, p)
	}
	slots := "by how many streamed at once"
	if c.Evidence.adapterSlots > 0 {
		slots = "by the server's metrics"
	}
	if c.Spec.MaxLoras >= seen.adapters {
		slots = "for all that were asked for"
	}
	add("adapters", seen.adapters > 0, "none assumed: no request names one",
		fmt.Sprintf("%s %s, %s to load one", text.Plural(c.Spec.MaxLoras, "slot"), slots, milliseconds(c.Spec.LoraLoadTime)),
		func(s *sim.Spec) { s.MaxLoras, s.LoraLoadTime = max(s.MaxLoras, seen.adapters), new(time.Duration) })
	add("grammars", seen.grammars > 0, "none assumed: no schema was new in a window",
		milliseconds(c.Spec.GrammarCompileTime)+" to compile one", func(s *sim.Spec) { s.GrammarCompileTime = new(time.Duration) })
	order, other := "served in the order of arrival", sim.Priority
	if c.Spec.SchedulingPolicy == sim.Priority {
		order, other = "served by priority", sim.FCFS
	}
	add("priorities", seen.priorities > 1, "served in the order of arrival: no request has another priority", order, func(s *sim.Spec) { s.SchedulingPolicy = other })
	return out
}

func milliseconds(d *time.Duration) string {
	if d == nil {
		return "no time"
	}
	return text.Number(1e3*d.Seconds()) + " ms"
}
