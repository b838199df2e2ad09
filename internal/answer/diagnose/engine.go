package diagnose

import (
	"fmt"

	"redline/internal/text"
)

// Thresholds of what an engine can lack.
const (
	minPreempted   = 3
	preemptedShare = 0.005
	cacheFull      = 0.95
	someWaiting    = 1.0
	batchAtLimit   = 0.95
	batchMostly    = 0.8
	plateau        = 0.93
	repeatedShare  = 0.15
	servedShare    = 0.5
	queueShare     = 0.5
	queueMS        = 50.0
	queueGrowth    = 3.0
	queueTail      = 5.0
	evenPrompts    = 3.0
	clearGrowth    = 10.0
	waitedTTFT     = 2.0
	queueRatio     = 5.0
	queueRatioMS   = 500.0
	fewWaiting     = 0.5
	muchMore       = 2.0
	farMore        = 4.0
	slowedBy       = 2.0
)

// isOverloaded reports whether more came than went. A few requests more at the
// end of a window are chance: somebody has to wait, or the growth to be large.
func (s *scene) isOverloaded() bool {
	w := s.point.Window
	switch {
	case w.Overload == nil || !*w.Overload:
		return false
	case s.server.Waiting != nil:
		return s.waiting() >= someWaiting
	case s.ttftRatio() > 0 && s.ttftRatio() < waitedTTFT:
		return false // half of the requests did not wait
	}
	return w.Growth != nil && *w.Growth >= clearGrowth
}

// isGrosslyOverloaded reports whether so much more came than went that whatever
// else the server lacks follows from that: several times as much, or twice as much
// at a batch that slows its own tokens down. In a window too short to show growth
// the server's queue shows it.
func (s *scene) isGrosslyOverloaded() bool {
	r, w := s.point.Rates, s.point.Window
	queued := w.Overload == nil && s.server.Running != nil && s.waiting() >= max(someWaiting, s.server.Running.Mean/2)
	if !queued && !s.isOverloaded() || r.Ended <= 0 {
		return false
	}
	alone, known := s.lonePace()
	slowed := known && p50(s.point.Latency.ITL) >= slowedBy*alone
	return r.Offered >= farMore*r.Ended || slowed && r.Offered >= muchMore*r.Ended
}

// waiting is the mean number of requests that the server held back, 0 where it
// does not say.
func (s *scene) waiting() float64 {
	if s.server.Waiting == nil {
		return 0
	}
	return s.server.Waiting.Mean
}

// kvPressure: the cache has no room for what is running.
func kvPressure(s *scene) *claim {
	var seen []evidence
	if k := s.server.KVUsage; k != nil {
		seen = append(seen, s.see("server.kv_usage.max", "the KV cache is %s full at most, %s on average", text.RoughPercent(k.Max), text.RoughPercent(k.Mean)))
	}
	if s.server.Waiting != nil {
		seen = append(seen, s.see("server.waiting.mean", "%s on average", waitingText(s.waiting())))
	}
	if p := s.server.Preemptions; p != nil && *p >= minPreempted && *p >= preemptedShare*float64(s.point.Requests.OK) {
		return &claim{title: fmt.Sprintf("the KV cache is full: %s requests were preempted and computed again", text.FixedNumber(*p, 0)), confidence: certain, share: s.cacheWaitShare(),
			evidence: append([]evidence{s.see("server.preemptions", "%s preemptions over the window", text.FixedNumber(*p, 0))}, seen...)}
	}
	if s.server.KVUsage == nil || s.server.KVUsage.Max < cacheFull || s.waiting() < someWaiting || s.batchFull() != "" {
		return nil
	}
	return &claim{title: fmt.Sprintf("the KV cache is %s full and %s for room", text.RoughPercent(s.server.KVUsage.Max), waitingText(s.waiting())),
		confidence: likely, share: s.cacheWaitShare(), evidence: seen}
}

// cacheWaitShare is the part of the time that waiting for room in the cache takes: in
// the queue, and of those that were put out of the batch all of it.
func (s *scene) cacheWaitShare() *float64 {
	if s.server.Queue == nil {
		return nil
	}
	share := s.shareOfTime(s.server.Queue.Mean, s.server.Queue.Mean)
	if p := s.server.Preemptions; share != nil && p != nil {
		*share = min(1, *share+*p/float64(max(1, s.point.Requests.OK)))
	}
	return share
}

// batchFull says how sure it is that the batch is at its limit, "" where
// it does not.
func (s *scene) batchFull() string {
	r := s.server.Running
	if r == nil || r.Max < 1 {
		return ""
	}
	if limit := s.point.Load.Concurrency; limit != nil && float64(*limit) <= max(s.maxSeqs(), r.Max/batchAtLimit) {
		return "" // as many as the client lets through
	}
	if most := s.maxSeqs(); most > 0 {
		if r.Max >= batchAtLimit*most && r.Mean >= batchMostly*most {
			return certain
		}
		return ""
	}
	if r.Mean >= plateau*r.Max && r.Max > 1 {
		return likely
	}
	return ""
}

// schedulerFull: there is room for more, but the scheduler may not use it.
func schedulerFull(s *scene) *claim {
	sure := s.batchFull()
	if sure == "" || s.waiting() < someWaiting || s.server.KVUsage != nil && s.server.KVUsage.Max >= cacheFull {
		return nil
	}
	c := &claim{title: fmt.Sprintf("the batch is at its limit of %s while %s", requests(s.server.Running.Max), text.Units(text.Rough(s.waiting()), "waits", "wait")),
		confidence: sure, evidence: []evidence{
			s.see("server.running.mean", "%s running on average, %s at most", requests(s.server.Running.Mean), text.Rough(s.server.Running.Max)),
			s.see("server.waiting.mean", "%s on average", waitingText(s.waiting()))}}
	if k := s.server.KVUsage; k != nil {
		c.evidence = append(c.evidence, s.see("server.kv_usage.max", "the KV cache is %s full at most", text.RoughPercent(k.Max)))
	}
	return c
}

// cacheMisses: what the workload repeats is computed again.
func cacheMisses(s *scene) *claim {
	cache := s.point.Cache
	if cache == nil || cache.Designed == nil || *cache.Designed < repeatedShare {
		return nil
	}
	hit, field, sure, known := s.cacheHits()
	if !known || hit > servedShare**cache.Designed {
		return nil
	}
	c := &claim{title: fmt.Sprintf("the prefix cache serves %s of prompt tokens where the workload repeats %s", text.RoughPercent(hit), text.RoughPercent(*cache.Designed)),
		confidence: sure, evidence: []evidence{
			s.see("prefix_cache.designed", "%s of prompt tokens were sent before", text.RoughPercent(*cache.Designed)),
			s.see(field, "%s came from the cache", text.RoughPercent(hit))}}
	if k := s.server.KVUsage; k != nil {
		c.evidence = append(c.evidence, s.see("server.kv_usage.max", "the KV cache is %s full at most", text.RoughPercent(k.Max)))
	}
	return c
}

// cacheHits is the share of prompt tokens that the cache served, by whoever
// counted them.
func (s *scene) cacheHits() (share float64, field, sure string, known bool) {
	cache := s.point.Cache
	switch {
	case cache.Server != nil:
		return *cache.Server, "prefix_cache.server", certain, true
	case s.server.PrefixQueries != nil && *s.server.PrefixQueries == 0:
		return 0, "server.prefix_queries", certain, true
	case cache.Usage != nil:
		return *cache.Usage, "prefix_cache.usage", likely, true
	}
	return 0, "", "", false
}

// queueing: requests wait for their turn.
func queueing(s *scene) *claim {
	l := s.point.Latency
	if r := s.point.Rates; s.isGrosslyOverloaded() {
		return &claim{title: fmt.Sprintf("overload: %s requests/s come, %s are completed, and the queue grows", text.Rough(r.Offered), text.Rough(r.Ended)),
			confidence: certain, leads: true, evidence: append([]evidence{s.see("rates.offered", "%s requests/s due", text.Rough(r.Offered)),
				s.see("rates.ended", "%s requests/s ended", text.Rough(r.Ended)), s.inQueue()}, s.fullAt()...)}
	}
	if l.TTFT == nil {
		return nil
	}
	if q, t := s.server.Queue, s.server.TTFT; q != nil && t != nil && q.Mean >= queueMS && q.Mean >= queueShare*t.Mean && s.waiting() >= fewWaiting {
		return &claim{title: fmt.Sprintf("requests wait %s of a mean ttft of %s for their turn", text.Time(q.Mean), text.Time(t.Mean)), confidence: certain,
			evidence: []evidence{s.see("server.queue_ms.mean", "mean time in the server's queue %s", text.Time(q.Mean)),
				s.see("server.ttft_ms.mean", "mean ttft %s by the server's own count", text.Time(t.Mean)), s.inQueue()}}
	}
	switch tail := at(l.TTFT, "p99"); {
	case s.isOverloaded():
		return &claim{title: "more comes than goes: " + s.inQueue().Text, confidence: confidence(s.waiting() >= someWaiting),
			evidence: append([]evidence{s.see("window.overload", "the queue grows over the window"), s.inQueue()}, s.fullAt()...)}
	case s.server.Queue != nil:
		return nil // the server says that nobody waits
	case s.alone != nil && p50(l.TTFT) >= queueGrowth*p50(s.alone.Latency.TTFT) && p50(l.TTFT)-p50(s.alone.Latency.TTFT) >= queueMS:
		return &claim{title: fmt.Sprintf("ttft grows from %s to %s with the load", text.Time(p50(s.alone.Latency.TTFT)), text.Time(p50(l.TTFT))), confidence: likely,
			evidence: []evidence{s.see("latency.ttft_ms.p50", "median ttft %s", text.Time(p50(l.TTFT))),
				s.loneEvidence("latency.ttft_ms.p50", "%s at the least load", text.Time(p50(s.alone.Latency.TTFT)))}}
	case s.ttftRatio() >= queueRatio && p50(l.TTFT) >= queueRatioMS:
		return &claim{title: fmt.Sprintf("the median ttft of %s is %.0f times what the prompts take", text.Time(p50(l.TTFT)), s.ttftRatio()), confidence: likely,
			evidence: append([]evidence{s.see("latency.ttft_ms.p50", "median ttft %s", text.Time(p50(l.TTFT))),
				s.see("prediction.steady.ttft_ms", "%s predicted", text.Time(s.point.Prediction.Steady.TTFT)), s.inQueue()}, s.fullAt()...)}
	case l.TTFT.IsFirm("p99") && tail >= queueTail*p50(l.TTFT) && tail-p50(l.TTFT) >= queueMS && at(s.point.Tokens.PromptLengths, "p95") < evenPrompts*p50(s.point.Tokens.PromptLengths):
		return &claim{title: fmt.Sprintf("ttft has a tail: p99 %s, median %s", text.Time(tail), text.Time(p50(l.TTFT))), confidence: possible,
			evidence: []evidence{s.see("latency.ttft_ms.p99", "p99 of ttft %s, median %s", text.Time(tail), text.Time(p50(l.TTFT))),
				s.see("tokens.prompt_lengths.p95", "prompts are of even length: p95 %s tokens, median %s",
					text.Rough(at(s.point.Tokens.PromptLengths, "p95")), text.Rough(p50(s.point.Tokens.PromptLengths)))}}
	}
	return nil
}

// inQueue tells how many wait, by whoever knows.
func (s *scene) inQueue() evidence {
	if s.server.Waiting != nil {
		return s.see("server.waiting.mean", "%s on average, %s at most", waitingText(s.waiting()), text.Rough(s.server.Waiting.Max))
	}
	if g := s.point.Window.Growth; g != nil {
		return s.see("window.in_flight_growth", "%s more requests in flight at the end than at the beginning", text.Rough(*g))
	}
	return s.see("concurrency.mean", "%s in flight on average", requests(inFlight(s.point)))
}

// fullAt adds that the requests in flight would fill the cache, where arithmetic
// says so and the server does not say otherwise.
func (s *scene) fullAt() []evidence {
	p := s.point.Prediction
	if s.server.KVUsage != nil || p == nil || p.FullAt == nil || *p.FullAt <= 0 || inFlight(s.point) < *p.FullAt {
		return nil
	}
	return []evidence{s.see("prediction.kv_full_at_concurrency", "%s of the mean length would fill the KV cache, by arithmetic", requests(*p.FullAt))}
}

// requests and waiting count them in a sentence: "1 request", "1 request waits".
func requests(n float64) string { return text.Units(text.Rough(n), "request") }
func waitingText(n float64) string {
	return text.Units(text.Rough(n), "request waits", "requests wait")
}
