package diagnose

import (
	"fmt"

	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// poolShare is the part of the time to the first token that the engines which prefill
// take where they bind.
const poolShare = 0.5

// poolEvidence is what the metrics say of both pools, the one that binds first.
func (s *scene) poolEvidence(names ...string) (seen []evidence) {
	for _, name := range names {
		for i := range s.server.Pools {
			p := &s.server.Pools[i]
			if p.Name != name || p.Waiting == nil {
				continue
			}
			said := fmt.Sprintf("%s: %s for %s", name, waitingText(p.Waiting.Mean), text.Plural(p.Engines, "engine"))
			if p.KVUsage != nil {
				said += ", whose KV cache is " + text.RoughPercent(p.KVUsage.Mean) + " full"
			}
			seen = append(seen, s.see(fmt.Sprintf("server.pools[%d].waiting.mean", i), "%s", said))
		}
	}
	return seen
}

// poolWaiting is how many requests wait for the engines of a pool on average.
func (s *scene) poolWaiting(name string) float64 {
	if p := s.server.Pool(name); p != nil && p.Waiting != nil {
		return p.Waiting.Mean
	}
	return 0
}

// prefillPool: the engines that prefill take most of the time to the first token.
func prefillPool(s *scene) *claim {
	ttft := s.point.Latency.TTFT
	if s.server.Pools == nil || ttft == nil {
		return nil
	}
	queue, prefill, seen := s.prefillTimes()
	waits := s.poolWaiting(telemetry.PrefillPool) >= someWaiting
	if queue+prefill < poolShare*ttft.Mean && !s.isOverloaded() || !waits && !s.missedFirst() {
		return nil
	}
	if s.isOverloaded() && !waits {
		return nil // they have time: it is elsewhere that requests pile up
	}
	c := &claim{confidence: likely, share: s.shareOfTime(queue+prefill, queue+prefill),
		title:    fmt.Sprintf("the prefill pool binds: its queue and its prompts take %s of a mean ttft of %s", text.Time(queue+prefill), text.Time(ttft.Mean)),
		evidence: append(s.poolEvidence(telemetry.PrefillPool, telemetry.DecodePool), seen...)}
	if waits && s.poolWaiting(telemetry.DecodePool) < someWaiting {
		c.confidence = certain
	}
	return c
}

// prefillTimes are the queue and the prefill of a request, by replies where they tell.
func (s *scene) prefillTimes() (queue, prefill float64, seen []evidence) {
	for _, part := range s.firstParts() {
		switch part.rule {
		case &longQueue:
			queue = part.ms
		case &longPrefill:
			prefill = part.ms
		default:
			continue
		}
		seen = append(seen, s.see(part.place, part.said+" %s", text.Time(part.ms)))
	}
	return queue, prefill, seen
}

// decodePool: the engines that decode have more to do than they can.
func decodePool(s *scene) *claim {
	pool := s.server.Pool(telemetry.DecodePool)
	if pool == nil {
		return nil
	}
	waiting := s.poolWaiting(telemetry.DecodePool)
	full := pool.KVUsage != nil && pool.KVUsage.Max >= cacheFull
	if waiting < someWaiting && !full && !s.missedStream() {
		return nil
	}
	title := "the decode pool binds"
	switch pace := s.point.Latency.TPOT; {
	case waiting >= someWaiting:
		title += ": " + waitingText(waiting) + " for its engines"
	case full:
		title += ": its KV cache is " + text.RoughPercent(pool.KVUsage.Max) + " full"
	case pace != nil:
		title += ": its tokens take " + text.Time(pace.Mean) + " on average"
	}
	c := &claim{confidence: likely, title: title, evidence: s.poolEvidence(telemetry.DecodePool, telemetry.PrefillPool)}
	if l := s.point.Latency; l.TPOT != nil {
		c.evidence = append(c.evidence, s.see("latency.tpot_ms.mean", "mean tpot %s", text.Time(l.TPOT.Mean)))
	}
	if (waiting >= someWaiting || full) && s.poolWaiting(telemetry.PrefillPool) < someWaiting {
		c.confidence = certain
	}
	return c
}
