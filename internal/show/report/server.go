package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// ifKnown words a figure, where there is one.
func ifKnown[T any](v *T, words func(T) string) string {
	if v == nil {
		return ""
	}
	return words(*v)
}

// serverUse shows what the server said of itself over the window: where requests
// were, what its memory held, and how it splits the time to the first token.
func (p *page) serverUse(s *telemetry.ServerUse, c *result.Cache) {
	if s == nil || s.Samples == 0 || p.room&brief > 0 && !isStrained(s) {
		return
	}
	requests := func(name string) func(telemetry.Gauge) string {
		return func(g telemetry.Gauge) string {
			return name + hard + figure(g.Mean) + " mean " + count(int(g.Max)) + " max"
		}
	}
	times := func(name string) func(float64) string {
		return func(n float64) string {
			if n < 1 {
				return ""
			}
			return plural(int(math.Round(n)), name)
		}
	}
	hits, split := "", ""
	if p.room >= explained && (c == nil || c.Server == nil) {
		hits = ifKnown(s.PrefixHitRate, func(v float64) string { return "prefix hits " + percent(v) })
	}
	if s.Queue != nil && s.Prefill != nil {
		split = "ttft = queue " + spoken(s.Queue.Mean) + " + prefill " + spoken(s.Prefill.Mean) + " mean"
		if s.TTFT != nil && s.Queue.Mean+s.Prefill.Mean < s.TTFT.Mean/2 {
			// Servers tell these at the end of a reply: while a queue grows, of others than ttft.
			split = "queue " + spoken(s.Queue.Mean) + ", prefill " + spoken(s.Prefill.Mean) + " mean of replies that ended"
		}
	}
	p.Field("server", joinDots(ifKnown(s.Running, requests("running")), ifKnown(s.Waiting, requests("waiting")),
		ifKnown(s.KVUsage, func(g telemetry.Gauge) string {
			return "kv" + hard + percent(g.Mean) + " mean " + percent(g.Max) + " max"
		}), p.fragmentation(s),
		hits, ifKnown(s.Preemptions, times("preemption")), p.evictions(s), ifKnown(s.Swaps, times("swap")), split))
	p.pools(s)
}

// pools shows the engines that prefill and those that decode, and what is handed from the
// ones to the others.
func (p *page) pools(s *telemetry.ServerUse) {
	if len(s.Pools) == 0 {
		return
	}
	mean := func(name string) func(telemetry.Gauge) string {
		return func(g telemetry.Gauge) string { return name + hard + figure(g.Mean) }
	}
	for i, pool := range s.Pools {
		p.Field(when(i == 0, "pools"), pool.Name+", "+plural(pool.Engines, "engine")+": "+joinDots(ifKnown(pool.Running, mean("running")), ifKnown(pool.Waiting, mean("waiting")),
			ifKnown(pool.KVUsage, func(g telemetry.Gauge) string { return "kv" + hard + percent(g.Mean) }),
			ifKnown(pool.QueueMS, func(ms float64) string { return "queue " + spoken(ms) + " mean" })))
	}
	p.Field("KV transfer", joinDots(ifKnown(s.Transfer, func(t telemetry.Timing) string { return spoken(t.Mean) + " mean" }),
		ifKnown(s.TransferBytes, func(n float64) string { return inUnit(figure(n/1e9), "GB") }),
		ifKnown(s.TransferFailures, func(n float64) string { return plural(int(n+0.5), "failure") })))
}

// drafts is how far drafts were right: by the replies, by the server's counters, and
// along the replies. What a step brought and the share by the place in the draft stand
// beside the counters where these are all there is.
func (p *page) drafts(point *result.Point) {
	var replies, counters, along string
	if t := point.Tokens; t.Drafted > 0 {
		replies = percent(float64(t.DraftsAccepted)/float64(t.Drafted)) + " of " + count(int(t.Drafted)) + " drafted tokens accepted by the replies"
	}
	if s := point.Server; s != nil && s.SpecAcceptance != nil {
		counters = percent(*s.SpecAcceptance) + when(replies == "", " of drafted tokens accepted") + " by the server's counters"
		if replies == "" || p.room >= explained {
			places := each(s.SpecByPlace, func(v float64) string { return percent(v) })
			counters = text.Join(", ", counters, ifKnown(s.SpecLength, func(v float64) string { return figure(v) + " tokens a step" }), when(len(places) > 0, "by place "+strings.Join(places, " ")))
		}
	}
	if len(point.Drafts) > 0 {
		along = "tokens a step along the replies " + strings.Join(each(point.Drafts, stretch), ", ") +
			when(!slices.ContainsFunc(point.Drafts, metric.DraftStretch.Differs), ": no stretch differs from the first")
	}
	p.Field("drafts", joinDots(text.Join(", ", replies, counters), along))
}

// stretch is what a step brought in a part of the replies, and by how much that differs
// from the first part of the same ones.
func stretch(s metric.DraftStretch) string {
	said := figure(s.Tokens) + " in " + count(s.From) + when(s.To > 0, "–"+count(s.To)) + when(s.To == 0, " and on")
	if s.Differs() {
		said += " (" + signed(s.Change.Share) + hard + "[" + signed(s.Change.Low) + "," + hard + signed(s.Change.High) + "])"
	}
	return said
}

// isStrained reports whether a server had more to do than it could take in at once.
func isStrained(s *telemetry.ServerUse) bool {
	return s.Waiting != nil && s.Waiting.Mean >= 1 || s.Preemptions != nil && *s.Preemptions >= 1
}

// fragmentation is the share of the cache in use that holds nothing.
func (p *page) fragmentation(s *telemetry.ServerUse) string {
	if s.KVFragmentation == nil || p.room&brief > 0 {
		return ""
	}
	p.shows("kv_fragmentation")
	return "kv fragmentation " + percent2(s.KVFragmentation.Mean)
}

// evictions says what of the cache made room for others, in the engine's unit.
func (p *page) evictions(s *telemetry.ServerUse) string {
	if s.Evictions == nil || *s.Evictions < 1 || p.room&brief > 0 {
		return ""
	}
	p.shows("evictions")
	return plural(int(*s.Evictions), cmp.Or(s.EvictionUnit, "token")) + " evicted"
}

// prefillSlope shows what prompts cost by the times of requests that were alone.
func (p *page) prefillSlope(s *result.PrefillSlope) {
	if s == nil {
		return
	}
	p.shows("prefill_slope")
	p.Field("prompts", inUnit(figure(s.MSPer1K), "ms")+" of ttft for each 1,000 uncached tokens ("+figure(s.LowMS)+" to "+figure(s.HighMS)+"), beside "+
		inUnit(figure(s.BaseMS), "ms")+": an estimate from "+plural(s.Requests, "request")+" that had the server to themselves")
}
