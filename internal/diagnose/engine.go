package diagnose

import "fmt"

// Thresholds of what an engine can lack.
const (
	fewestPreempted = 3
	preemptedShare  = 0.005
	cacheFull       = 0.95
	someWaiting     = 1.0
	batchAtLimit    = 0.95
	batchMostly     = 0.8
	plateau         = 0.93
	repeatedShare   = 0.15
	servedShare     = 0.5
	queueShare      = 0.5
	queueMS         = 50.0
	queueGrowth     = 3.0
	queueTail       = 5.0
	evenPrompts     = 3.0
)

// overloaded reports whether more came than went.
func (s *scene) overloaded() bool { return s.point.Window.Overload != nil && *s.point.Window.Overload }

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
	if s.server.Preemptions == nil && s.server.KVUsage == nil {
		return predictedFull(s)
	}
	var seen []evidence
	if k := s.server.KVUsage; k != nil {
		seen = append(seen, s.see("server.kv_usage.max", "the KV cache is %s full at most, %s on the mean", percent(k.Max), percent(k.Mean)))
	}
	if s.server.Waiting != nil {
		seen = append(seen, s.see("server.waiting.mean", "%s requests wait on the mean", number(s.waiting())))
	}
	if p := s.server.Preemptions; p != nil && *p >= fewestPreempted && *p >= preemptedShare*float64(s.point.Requests.OK) {
		return &claim{title: fmt.Sprintf("the KV cache is full: %s requests were preempted and computed again", number(*p)), confidence: Certain,
			evidence: append([]evidence{s.see("server.preemptions", "%s preemptions over the window", number(*p))}, seen...)}
	}
	if s.server.KVUsage == nil || s.server.KVUsage.Max < cacheFull || s.waiting() < someWaiting || s.batchFull() != "" {
		return nil
	}
	return &claim{title: fmt.Sprintf("the KV cache is %s full and %s requests wait for room", percent(s.server.KVUsage.Max), number(s.waiting())),
		confidence: Likely, evidence: seen}
}

// predictedFull is all that can be said without the server's metrics.
func predictedFull(s *scene) *claim {
	p := s.point.Prediction
	if p == nil || p.FullAt == nil || *p.FullAt <= 0 || !s.overloaded() || inFlight(s.point) < *p.FullAt {
		return nil
	}
	return &claim{title: fmt.Sprintf("%s requests in flight, and arithmetic says that %s fill the KV cache", number(inFlight(s.point)), number(*p.FullAt)),
		confidence: Possible,
		evidence: []evidence{s.see("prediction.kv_full_at_concurrency", "%s requests of the mean length fill the cache", number(*p.FullAt)),
			s.see("concurrency.mean", "%s requests in flight on the mean", number(inFlight(s.point)))}}
}

// batchFull says how sure it is that the batch stands at its limit, "" where
// it does not.
func (s *scene) batchFull() string {
	r := s.server.Running
	if r == nil || r.Max < 1 {
		return ""
	}
	if most := s.maxSeqs(); most > 0 {
		if r.Max >= batchAtLimit*most && r.Mean >= batchMostly*most {
			return Certain
		}
		return ""
	}
	if r.Mean >= plateau*r.Max && r.Max > 1 {
		return Likely
	}
	return ""
}

// schedulerFull: there is room for more, but the scheduler may not use it.
func schedulerFull(s *scene) *claim {
	sure := s.batchFull()
	if sure == "" || s.waiting() < someWaiting || s.server.KVUsage != nil && s.server.KVUsage.Max >= cacheFull {
		return nil
	}
	c := &claim{title: fmt.Sprintf("the batch stands at its limit of %s requests while %s wait", number(s.server.Running.Max), number(s.waiting())),
		confidence: sure, evidence: []evidence{
			s.see("server.running.mean", "%s requests run on the mean, %s at most", number(s.server.Running.Mean), number(s.server.Running.Max)),
			s.see("server.waiting.mean", "%s wait on the mean", number(s.waiting()))}}
	if k := s.server.KVUsage; k != nil {
		c.evidence = append(c.evidence, s.see("server.kv_usage.max", "the KV cache is %s full at most", percent(k.Max)))
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
	c := &claim{title: fmt.Sprintf("the prefix cache serves %s of prompt tokens where the workload repeats %s", percent(hit), percent(*cache.Designed)),
		confidence: sure, evidence: []evidence{
			s.see("prefix_cache.designed", "%s of prompt tokens were sent before", percent(*cache.Designed)),
			s.see(field, "%s came from the cache", percent(hit))}}
	if k := s.server.KVUsage; k != nil {
		c.evidence = append(c.evidence, s.see("server.kv_usage.max", "the KV cache is %s full at most", percent(k.Max)))
	}
	return c
}

// cacheHits is the share of prompt tokens that the cache served, by whoever
// counted them.
func (s *scene) cacheHits() (share float64, field, sure string, known bool) {
	cache := s.point.Cache
	switch {
	case cache.Server != nil:
		return *cache.Server, "prefix_cache.server", Certain, true
	case s.server.PrefixQueries != nil && *s.server.PrefixQueries == 0:
		return 0, "server.prefix_queries", Certain, true
	case cache.Usage != nil:
		return *cache.Usage, "prefix_cache.usage", Likely, true
	}
	return 0, "", "", false
}

// queueing: requests wait for their turn.
func queueing(s *scene) *claim {
	l := s.point.Latency
	if l.TTFT == nil {
		return nil
	}
	if q, t := s.server.Queue, s.server.TTFT; q != nil && t != nil && q.Mean >= queueMS && q.Mean >= queueShare*t.Mean {
		return &claim{title: fmt.Sprintf("requests wait %s of a mean ttft of %s for their turn", ms(q.Mean), ms(t.Mean)), confidence: Certain,
			evidence: []evidence{s.see("server.queue_ms.mean", "mean time in the server's queue %s", ms(q.Mean)),
				s.see("server.ttft_ms.mean", "mean ttft %s by the server's own count", ms(t.Mean)), s.inQueue()}}
	}
	switch tail := at(l.TTFT, "p99"); {
	case s.overloaded():
		return &claim{title: "more comes than goes: " + s.inQueue().Text, confidence: confidence(s.waiting() >= someWaiting, Certain, Likely),
			evidence: []evidence{s.see("window.overload", "the queue grows over the window"), s.inQueue()}}
	case s.server.Queue != nil:
		return nil // the server says that nobody waits
	case s.alone != nil && p50(l.TTFT) >= queueGrowth*p50(s.alone.Latency.TTFT) && p50(l.TTFT)-p50(s.alone.Latency.TTFT) >= queueMS:
		return &claim{title: fmt.Sprintf("ttft grows from %s to %s with the load", ms(p50(s.alone.Latency.TTFT)), ms(p50(l.TTFT))), confidence: Likely,
			evidence: []evidence{s.see("latency.ttft_ms.p50", "median ttft %s", ms(p50(l.TTFT))),
				s.seeAlone("latency.ttft_ms.p50", "%s at the least load", ms(p50(s.alone.Latency.TTFT)))}}
	case l.TTFT.IsFirm("p99") && tail >= queueTail*p50(l.TTFT) && tail-p50(l.TTFT) >= queueMS && at(s.point.Tokens.PromptLengths, "p95") < evenPrompts*p50(s.point.Tokens.PromptLengths):
		return &claim{title: fmt.Sprintf("ttft has a tail: p99 %s, median %s", ms(tail), ms(p50(l.TTFT))), confidence: Possible,
			evidence: []evidence{s.see("latency.ttft_ms.p99", "p99 of ttft %s, median %s", ms(tail), ms(p50(l.TTFT))),
				s.see("tokens.prompt_lengths.p95", "prompts are of even length: p95 %s tokens, median %s",
					number(at(s.point.Tokens.PromptLengths, "p95")), number(p50(s.point.Tokens.PromptLengths)))}}
	}
	return nil
}

// inQueue tells how many wait, by whoever knows.
func (s *scene) inQueue() evidence {
	if s.server.Waiting != nil {
		return s.see("server.waiting.mean", "%s requests wait on the mean, %s at most", number(s.waiting()), number(s.server.Waiting.Max))
	}
	if g := s.point.Window.Growth; g != nil {
		return s.see("window.in_flight_growth", "%s more requests in flight at the end than at the beginning", number(*g))
	}
	return s.see("concurrency.mean", "%s requests in flight on the mean", number(inFlight(s.point)))
}
