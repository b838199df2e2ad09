package diagnose

import (
	"fmt"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/text"
)

type evidence = result.Evidence

// Thresholds of what the work itself costs.
const (
	gapTail       = 4.0
	gapTailMS     = 25.0
	mixedPrompts  = 5.0
	longPrompt    = 2000.0
	patienceMS    = 1000.0
	ttftShare     = 0.5
	prefillTokens = 1000.0
	prefillShare  = 0.5
	steepBuckets  = 2.0
	aloneInFlight = 2.0
	farOff        = 1.8
	agreesAbove   = 0.6
	agreesBelow   = 1.6
	slowPaceMS    = 50.0
	batchTPOT     = 1.5
	batchOutput   = 1.5
	memoryIdle    = 0.5
	memoryBusy    = 0.6
	minOutput     = 32.0
	computeBusy   = 0.4
	deviceBusy    = 0.95
	sharedPace    = 2.0
	firstSteps    = 5.0
)

// interference: long prompts delay the tokens of other requests.
func interference(s *scene) *claim {
	itl, prompts := s.point.Latency.ITL, s.point.Tokens.PromptLengths
	middle, tail, stall := p50(itl), at(itl, "p99"), at(s.point.Latency.Stall, "p90")
	longest := max(tail, stall)
	if s.isOverloaded() || middle <= 0 || longest < gapTail*middle || longest-middle < gapTailMS {
		return nil
	}
	if !s.isMixed() {
		return nil
	}
	long := s.longPrompts()
	return &claim{title: fmt.Sprintf("long prompts hold up other replies: one in ten stands still for %s, the median gap between tokens is %s", text.Time(stall), text.Time(middle)),
		confidence: likely, evidence: []evidence{
			s.see("latency.itl_ms.p99", "p99 of the gaps between tokens %s, median %s", text.Time(tail), text.Time(middle)),
			s.see("latency.stall_ms.p90", "the longest gap of a reply is %s at p90", text.Time(stall)),
			s.see("tokens.prompt_lengths", "long prompts have %s tokens, the median has %s", text.Rough(long), text.Rough(p50(prompts)))}}
}

// isMixed reports whether long prompts come among short ones.
func (s *scene) isMixed() bool {
	prompts, long := s.point.Tokens.PromptLengths, s.longPrompts()
	return long >= longPrompt && long >= mixedPrompts*p50(prompts)
}

// longPrompts is how long the long ones are: as far into the tail as a handful
// of requests reach.
func (s *scene) longPrompts() float64 {
	if s.point.Requests.OK < 100 {
		return at(s.point.Tokens.PromptLengths, "p90")
	}
	return at(s.point.Tokens.PromptLengths, "p95")
}

// prefillBound: the prompts themselves take the time.
func prefillBound(s *scene) *claim {
	ttft := p50(s.point.Latency.TTFT)
	slow := s.missedFirst() || ttft >= patienceMS || ttft >= ttftShare*p50(s.point.Latency.E2E)
	if s.isOverloaded() || ttft <= 0 || !slow || s.fresh() < prefillTokens {
		return nil
	}
	tokens := s.see("tokens.prompt_lengths.mean", "%s prompt tokens a request to compute, on average", text.Rough(s.fresh()))
	if p, t := s.server.Prefill, s.server.TTFT; p != nil && t != nil {
		if p.Mean < prefillShare*t.Mean {
			return nil
		}
		return &claim{title: fmt.Sprintf("prefill takes %s of a mean ttft of %s", text.Time(p.Mean), text.Time(t.Mean)), confidence: certain,
			evidence: append([]evidence{s.see("server.prefill_ms.mean", "mean prefill %s", text.Time(p.Mean)), tokens}, s.slope()...)}
	}
	slope := s.slope()
	if len(slope) == 0 && !s.agrees(s.ttftRatio()) || inFlight(s.point) > aloneInFlight && !s.agrees(s.ttftRatio()) {
		return nil
	}
	return &claim{title: fmt.Sprintf("prompts of %s tokens take a median ttft of %s", text.Rough(s.fresh()), text.Time(ttft)), confidence: likely,
		evidence: append([]evidence{s.see("latency.ttft_ms.p50", "median ttft %s", text.Time(ttft)), tokens}, slope...)}
}

// deviceFull: the first token waits for a few steps, each of them long because the
// prompts and tokens of many fill it.
func deviceFull(s *scene) *claim {
	ttft, pace, a := s.point.Latency.TTFT, p50(s.point.Latency.TPOT), s.point.Accelerator
	alone, known := s.lonePace()
	if !s.missedFirst() || s.isOverloaded() || ttft == nil || ttft.Mean > firstSteps*pace || !known || pace < sharedPace*alone || !s.agrees(s.tpotRatio()) {
		return nil
	}
	read := a != nil && a.Utilization != nil
	if read && a.Utilization.Mean < deviceBusy {
		return nil
	}
	c := &claim{title: fmt.Sprintf("prompts and tokens share a full device: a step takes %s at %s in flight, %s for one stream alone", text.Time(pace), requests(inFlight(s.point)), text.Time(alone)),
		confidence: confidence(read), evidence: []evidence{
			s.see("latency.ttft_ms.mean", "mean ttft %s: %.1f steps", text.Time(ttft.Mean), ttft.Mean/pace),
			s.see("latency.tpot_ms.p50", "median tpot %s, as predicted for this load", text.Time(pace))}}
	if read {
		c.evidence = append(c.evidence, s.see("accelerator.utilization.mean", "the accelerator is busy %s of the time", text.RoughPercent(a.Utilization.Mean)))
	}
	return c
}

// slope shows that ttft grows with the prompt, from the shortest bucket to the
// longest; nothing where it does not.
func (s *scene) slope() []evidence {
	var known []metric.Group
	for _, b := range s.point.Buckets {
		if b.Requests.OK >= 10 && p50(b.Latency.TTFT) > 0 {
			known = append(known, b)
		}
	}
	if len(known) < 2 {
		return nil
	}
	short, long := known[0], known[len(known)-1]
	if p50(long.Latency.TTFT) < steepBuckets*p50(short.Latency.TTFT) {
		return nil
	}
	return []evidence{s.see("buckets", "median ttft %s at prompts of %s, %s at %s", text.Time(p50(short.Latency.TTFT)), short.Name, text.Time(p50(long.Latency.TTFT)), long.Name)}
}

// ttftRatio is the median over what is predicted, 0 where nothing is.
func (s *scene) ttftRatio() float64 {
	if p := s.point.Prediction; p != nil && p.Steady.TTFT > 0 {
		return p50(s.point.Latency.TTFT) / p.Steady.TTFT
	}
	return 0
}

// paceRatio is the median gap between tokens over the predicted tpot, 0 where
// nothing is predicted. The gap, because steps that read prompts make tpot
// longer than generation is.
func (s *scene) paceRatio() (ratio, predicted, pace float64) {
	p := s.point.Prediction
	if p == nil || p.Steady.TPOT <= 0 {
		return 0, 0, 0
	}
	pace = p50(s.point.Latency.TPOT)
	if gap := p50(s.point.Latency.ITL); gap > 0 {
		pace = min(pace, gap)
	}
	return pace / p.Steady.TPOT, p.Steady.TPOT, pace
}

// tpotRatio is the median over what is predicted, 0 where nothing is.
func (s *scene) tpotRatio() float64 {
	if p := s.point.Prediction; p != nil && p.Steady.TPOT > 0 {
		return p50(s.point.Latency.TPOT) / p.Steady.TPOT
	}
	return 0
}

func (s *scene) agrees(ratio float64) bool { return ratio >= agreesAbove && ratio <= agreesBelow }

// memoryActive is the share of time in which the accelerator's memory moved
// data, and whether anybody counted it.
func (s *scene) memoryActive() (float64, bool) {
	if a := s.point.Accelerator; a != nil && a.DRAMActive != nil {
		return a.DRAMActive.Mean, true
	}
	return 0, false
}

// bandwidthEvidence is the bandwidth counter as evidence, or that there is none.
func (s *scene) bandwidthEvidence() evidence {
	if active, ok := s.memoryActive(); ok {
		return s.see("accelerator.dram_active.mean", "the accelerator's memory is active %s of the time", text.RoughPercent(active))
	}
	return s.see("accelerator.dram_active", "no bandwidth counter was read")
}

// inefficient: the hardware allows far more.
func inefficient(s *scene) *claim {
	ratio, predicted, pace := s.paceRatio()
	active, counted := s.memoryActive()
	if ratio < farOff || at(s.point.Tokens.OutputLengths, "p50") < minOutput || counted && active >= memoryBusy {
		return nil
	}
	c := &claim{title: fmt.Sprintf("decode is %.1f times slower than the hardware allows: %s a token, %s predicted", ratio, text.Time(pace), text.Time(predicted)),
		confidence: confidence(counted && active < memoryIdle),
		evidence: []evidence{s.see("prediction.steady.tpot_ms", "%s a token predicted from the accelerator's bandwidth", text.Time(predicted)),
			s.see("latency.itl_ms.p50", "%s measured", text.Time(pace)), s.bandwidthEvidence()}}
	if m := s.point.Prediction.MBU; m != nil {
		c.evidence = append(c.evidence, s.see("prediction.mbu", "%s of peak bandwidth reached", text.RoughPercent(*m)))
	}
	return c
}

// slowDecode: a stream is slow that has the server to itself, and nothing says how
// fast it could be.
func slowDecode(s *scene) *claim {
	pace := p50(s.point.Latency.TPOT)
	if _, predicted, _ := s.paceRatio(); predicted > 0 || !s.single() || !s.paced && pace < slowPaceMS || pace <= 0 {
		return nil
	}
	c := &claim{title: fmt.Sprintf("one stream alone takes %s a token: decode is memory-bound or inefficient", text.Time(pace)), confidence: possible,
		evidence: []evidence{s.see("latency.tpot_ms.p50", "median tpot %s", text.Time(pace)), s.see("concurrency.max", "one request at a time"), s.bandwidthEvidence()}}
	switch active, counted := s.memoryActive(); {
	case counted && active < memoryIdle:
		c.title, c.confidence = fmt.Sprintf("one stream alone takes %s a token while the memory is idle: decode is inefficient", text.Time(pace)), likely
	case counted && active >= memoryBusy:
		c.title, c.confidence = fmt.Sprintf("one stream alone takes %s a token and keeps the memory busy: decode is memory-bound", text.Time(pace)), likely
	}
	return c
}

// batching: more streams at once, each of them slower.
func batching(s *scene) *claim {
	pace := p50(s.point.Latency.TPOT)
	if !s.missedStream() || pace <= 0 {
		return nil
	}
	if s.alone == nil {
		return batchingByArithmetic(s)
	}
	before := p50(s.alone.Latency.TPOT)
	if before <= 0 || pace < batchTPOT*before || s.point.Throughput.Output < batchOutput*s.alone.Throughput.Output {
		return nil
	}
	return &claim{title: fmt.Sprintf("batching trades pace for output: tpot %s alone, %s at %s in flight", text.Time(before), text.Time(pace), requests(inFlight(s.point))),
		confidence: certain, evidence: []evidence{
			s.see("latency.tpot_ms.p50", "median tpot %s at %s output tokens/s", text.Time(pace), text.Rough(s.point.Throughput.Output)),
			s.loneEvidence("latency.tpot_ms.p50", "%s at %s output tokens/s", text.Time(before), text.Rough(s.alone.Throughput.Output))}}
}

// batchingByArithmetic asks the step-time law for one request alone.
func batchingByArithmetic(s *scene) *claim {
	pace := p50(s.point.Latency.TPOT)
	alone, ok := s.lonePace()
	if !ok || !s.agrees(s.tpotRatio()) || pace < batchTPOT*alone {
		return nil
	}
	return &claim{title: fmt.Sprintf("batching trades pace for output: tpot %s at %s in flight, %s predicted alone", text.Time(pace), requests(inFlight(s.point)), text.Time(alone)),
		confidence: likely, evidence: []evidence{
			s.see("latency.tpot_ms.p50", "median tpot %s", text.Time(pace)),
			s.see("concurrency.mean", "%s in flight on average", requests(inFlight(s.point))),
			s.see("prediction.model", "a single stream is predicted to take %s a token", text.Time(alone))}}
}

// memoryBound: decode is as fast as the bandwidth allows, and that is too slow.
func memoryBound(s *scene) *claim {
	_, predicted, pace := s.paceRatio()
	if !s.missedStream() && pace < slowPaceMS || !s.agrees(s.tpotRatio()) {
		return nil
	}
	if m := s.point.Prediction.MFU; m != nil && *m >= computeBusy {
		return nil // the prompts of others are what takes the time
	}
	active, counted := s.memoryActive()
	if counted && active < memoryIdle {
		return nil
	}
	c := &claim{title: fmt.Sprintf("decode is memory-bound: %s a token, %s is what the bandwidth allows", text.Time(pace), text.Time(predicted)),
		confidence: confidence(counted && active >= memoryBusy),
		evidence: []evidence{s.see("latency.itl_ms.p50", "%s a token", text.Time(pace)),
			s.see("prediction.steady.tpot_ms", "%s predicted from the accelerator's bandwidth", text.Time(predicted)), s.bandwidthEvidence()}}
	if m := s.point.Prediction.MBU; m != nil {
		c.evidence = append(c.evidence, s.see("prediction.mbu", "%s of peak bandwidth reached", text.RoughPercent(*m)))
	}
	return c
}
