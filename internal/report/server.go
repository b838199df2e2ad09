package report

import (
	"redline/internal/result"
	"redline/internal/telemetry"
)

// serverUse shows what the server said of itself over the window: where requests
// were, what its memory held, and how it splits the time to the first token.
func (p *page) serverUse(s *telemetry.ServerUse, c *result.Cache) {
	if s == nil || s.Samples == 0 {
		return
	}
	var parts []string
	requests := func(name string, g *telemetry.Gauge) {
		if g != nil {
			parts = append(parts, name+hard+figure(g.Mean)+" mean "+count(int(g.Max))+" max")
		}
	}
	requests("running", s.Running)
	requests("waiting", s.Waiting)
	if s.KVUsage != nil {
		parts = append(parts, "kv"+hard+percent(s.KVUsage.Mean)+" mean "+percent(s.KVUsage.Max)+" max")
	}
	if s.PrefixHitRate != nil && (c == nil || c.Server == nil) {
		parts = append(parts, "prefix hits "+percent(*s.PrefixHitRate))
	}
	if s.Preemptions != nil && *s.Preemptions > 0 {
		parts = append(parts, plural(int(*s.Preemptions), "preemption"))
	}
	if s.Queue != nil && s.Prefill != nil {
		parts = append(parts, "ttft = queue "+inUnit(figure(s.Queue.Mean), "ms")+" + prefill "+inUnit(figure(s.Prefill.Mean), "ms")+" mean")
	}
	if len(parts) > 0 {
		p.field("server", joined(parts...))
	}
}
