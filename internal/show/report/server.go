package report

import (
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
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
	for _, event := range []struct {
		name string
		n    *float64
	}{{"preemption", s.Preemptions}, {"eviction", s.Evictions}, {"swap", s.Swaps}} {
		if event.n != nil && *event.n >= 1 {
			parts = append(parts, plural(int(*event.n), event.name))
		}
	}
	if s.SpecAcceptance != nil {
		parts = append(parts, percent(*s.SpecAcceptance)+" of drafted tokens accepted")
	}
	if s.Queue != nil && s.Prefill != nil {
		parts = append(parts, "ttft = queue "+inUnit(figure(s.Queue.Mean), "ms")+" + prefill "+inUnit(figure(s.Prefill.Mean), "ms")+" mean")
	}
	if len(parts) > 0 {
		p.field("server", joined(parts...))
	}
}

// prefillSlope shows what prompts cost by the times of requests that were alone.
func (p *page) prefillSlope(s *result.PrefillSlope) {
	if s == nil {
		return
	}
	p.shows("prefill_slope")
	p.field("prompts", inUnit(figure(s.MSPer1K), "ms")+" of ttft for each 1,000 uncached tokens ("+figure(s.LowMS)+" to "+figure(s.HighMS)+"), beside "+
		inUnit(figure(s.BaseMS), "ms")+": an estimate from "+plural(s.Requests, "request")+" that had the server to themselves")
}
