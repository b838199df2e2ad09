package config

import (
	"redline/internal/text"
	"redline/internal/twin/sim"
)

// optimization is one of the switches: its name in the plan, where it is
// declared, and what it means for the embedded engine.
type optimization struct {
	name string
	// field is the engine's key that says the same.
	field    string
	declared func(*Optimizations) **bool
	// isOn reports what the engine's own settings say, nil where nothing.
	isOn func(*sim.Spec) *bool
	set  func(*sim.Spec, bool)
}

// optimizations are in the order in which they are measured and shown.
var optimizations = []optimization{
	{"speculative_decoding", "speculative_tokens", func(o *Optimizations) **bool { return &o.SpeculativeDecoding },
		func(s *sim.Spec) *bool {
			if s.Speculation.Tokens == 0 {
				return nil
			}
			return new(true)
		},
		func(s *sim.Spec, on bool) {
			switch {
			case !on:
				s.Speculation.Tokens = 0
			case s.Speculation.Tokens == 0:
				s.Speculation.Tokens = sim.DefaultSpeculativeTokens
			}
		}},
	{"prefix_caching", "enable_prefix_caching", func(o *Optimizations) **bool { return &o.PrefixCaching },
		func(s *sim.Spec) *bool { return s.EnablePrefixCaching },
		func(s *sim.Spec, on bool) { s.EnablePrefixCaching = &on }},
	{"chunked_prefill", "enable_chunked_prefill", func(o *Optimizations) **bool { return &o.ChunkedPrefill },
		func(s *sim.Spec) *bool { return s.EnableChunkedPrefill },
		func(s *sim.Spec, on bool) { s.EnableChunkedPrefill = &on }},
	{"dynamic_batching", "static_batching", func(o *Optimizations) **bool { return &o.DynamicBatching },
		func(s *sim.Spec) *bool {
			if !s.StaticBatching {
				return nil
			}
			return new(false)
		},
		func(s *sim.Spec, on bool) { s.StaticBatching = !on }},
}

func optimizationNames() []string {
	return text.Each(optimizations, func(o optimization) string { return o.name })
}

// optimize sets the embedded engine as the optimizations say. A flag that
// sets the same knob wins, and the declaration follows it.
func (c *Config) optimize() error {
	for _, o := range optimizations {
		said := o.declared(&c.Optimizations)
		if *said == nil {
			continue
		}
		set, key := o.isOn(&c.Server.Sim), "server.sim."+o.field
		switch {
		case set == nil:
			o.set(&c.Server.Sim, **said)
		case *set == **said:
		case c.places[key].plan:
			return c.errorAt("optimizations."+o.name, "is %t, but %s says otherwise: leave one of the two out", **said, key)
		default:
			*said = set
		}
	}
	return nil
}

// DeclaredOptimizations lists the optimizations of the plan and how each is known:
// "applied" to the embedded engine, else "not verified".
func (c *Config) DeclaredOptimizations() map[string]string {
	how := "not verified"
	if c.Embedded() {
		how = "applied"
	}
	out := map[string]string{}
	for _, o := range optimizations {
		switch on := *o.declared(&c.Optimizations); {
		case on == nil:
		case *on:
			out[o.name] = "on, " + how
		default:
			out[o.name] = "off, " + how
		}
	}
	return out
}
