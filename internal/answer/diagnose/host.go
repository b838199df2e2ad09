package diagnose

import (
	"fmt"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// Thresholds of what the host does around the accelerator.
const (
	deviceIdle   = 0.85
	hostRunning  = 4.0
	hostShare    = 0.4
	hostGrowth   = 2.0
	frontShare   = 0.4
	frontMS      = 50.0
	frontBusy    = 0.7
	frontBusyMS  = 10.0
	frontInside  = 0.5
	frontQueue   = 1.5
	stepsAhead   = 2
	waitingShare = 0.05
	minorShare   = 0.125
)

// shareOfTime is the part of a request's time that a cause takes: of the time to the
// first token where only that has an objective and missed it, else of the whole.
func (s *scene) shareOfTime(firstMS, wholeMS float64) *float64 {
	of, ms := s.point.Latency.E2E, wholeMS
	if s.missed == first {
		of, ms = s.point.Latency.TTFT, firstMS
	}
	if of == nil || of.Mean <= 0 {
		return nil
	}
	return new(min(1, ms/of.Mean))
}

// hostBound: the accelerator waits for the host between steps.
func hostBound(s *scene) *claim {
	r := s.server.Running
	if r == nil || r.Mean < hostRunning || s.point.Latency.TPOT == nil {
		return nil
	}
	a := s.point.Accelerator
	if a == nil || a.Utilization == nil {
		return hostBoundByGrowth(s)
	}
	busy := a.Utilization.Mean
	if busy > deviceIdle {
		return nil
	}
	c := &claim{title: fmt.Sprintf("the accelerator is idle %s of the time while %s requests run: it waits for the host", text.RoughPercent(1-busy), text.Rough(r.Mean)),
		confidence: likely, share: new(1 - busy), evidence: []evidence{
			s.see("accelerator.utilization.mean", "the accelerator is busy %s of the time", text.RoughPercent(busy)),
			s.see("server.running.mean", "%s requests run on average", text.Rough(r.Mean))}}
	if step, ok := stepMS(s.point); ok {
		c.confidence = certain
		c.evidence = append(c.evidence, s.see("server.steps", "a step takes %s, of which the accelerator computes about %s", text.Time(step), text.Time(busy*step)))
	}
	return c
}

// hostBoundByGrowth compares two loads: what a step takes beyond the arithmetic
// grows with the requests in it, although the arithmetic knows of their bytes.
func hostBoundByGrowth(s *scene) *claim {
	step, excess, ok := beyondArithmetic(s.point)
	if !ok || s.alone == nil || excess < hostShare*step {
		return nil
	}
	before, little, ok := beyondArithmetic(s.alone)
	if !ok || excess < hostGrowth*max(little, 0) {
		return nil
	}
	return &claim{title: fmt.Sprintf("a step takes %s, %s more than the arithmetic of its bytes, and that grows with the requests in it", text.Time(step), text.Time(excess)),
		confidence: likely, share: new(excess / step), evidence: []evidence{
			s.see("server.steps", "a step takes %s on average", text.Time(step)),
			s.see("prediction.steady.tpot_ms", "%s predicted", text.Time(step-excess)),
			s.loneEvidence("server.steps", "%s at the least load", text.Time(before))}}
}

// beyondArithmetic is the mean time of a step, and what of it the accelerator's
// arithmetic does not need.
func beyondArithmetic(p *result.Point) (step, excess float64, ok bool) {
	step, ok = stepMS(p)
	if !ok || p.Prediction == nil || p.Prediction.Steady.TPOT <= 0 {
		return 0, 0, false
	}
	return step, step - p.Prediction.Steady.TPOT, true
}

// stepMS is the mean time of a step of a server that always had requests.
func stepMS(p *result.Point) (float64, bool) {
	u := p.Server
	if u == nil || u.Steps == nil || *u.Steps < minAnswered || u.Running == nil || u.Running.Mean < 1 || u.Replicas > 1 {
		return 0, false
	}
	return 1e3 * u.CoveredS / *u.Steps, true
}

// manyWait reports whether the server holds back one request and more, and more
// than one in twenty of those that run.
func (s *scene) manyWait() bool {
	return s.waiting() >= someWaiting && (s.server.Running == nil || s.waiting() >= waitingShare*s.server.Running.Mean)
}

// frontEnd: the process that serves the API takes the time. It stamps the first
// token itself, so most of what it takes lies inside the server's own ttft.
func frontEnd(s *scene) *claim {
	l, u := s.point.Latency, s.server
	if l.TTFT == nil || u.TTFT == nil || u.Queue == nil || u.Prefill == nil {
		return nil
	}
	busy := 0.0
	if u.FrontEndCores != nil {
		busy = *u.FrontEndCores
	}
	inside := u.TTFT.Mean - u.Queue.Mean - u.Prefill.Mean
	if u.E2E != nil && u.Inference != nil {
		// Times of the first token are of other requests than those of the queue, which a
		// server tells at the end; of one that has ended, what was neither is known.
		inside = min(inside, u.E2E.Mean-u.Queue.Mean-u.Inference.Mean)
	}
	inside = max(0, inside)
	if u.FrontEndCores != nil && busy < frontBusy {
		// A request waits for the step under way, and an engine that plans ahead hands a
		// token out a step later: neither is a front end that has time.
		inside = max(0, inside-stepsAhead*p50(l.TPOT))
	}
	outside := max(0, l.TTFT.Mean-u.TTFT.Mean)
	if s.manyWait() && u.Running != nil && inFlight(s.point) < frontQueue*(s.waiting()+u.Running.Mean) {
		// While a queue grows, the first tokens of a window are not those of the requests
		// that were due in it. Only requests that the engine does not know of wait outside.
		outside = 0
	}
	took := inside + outside
	least := frontMS
	if busy >= frontBusy {
		least = frontBusyMS
	}
	if took < least || took < frontShare*l.TTFT.Mean || busy < frontBusy && (s.manyWait() || inside < frontInside*took) {
		return nil
	}
	c := &claim{title: fmt.Sprintf("the server's front end takes %s of a mean ttft of %s", text.Time(took), text.Time(l.TTFT.Mean)),
		confidence: confidence(busy >= frontBusy), share: s.shareOfTime(took, took), evidence: []evidence{
			s.see("server.ttft_ms.mean", "%s of the server's own ttft of %s is neither queue nor prefill", text.Time(inside), text.Time(u.TTFT.Mean)),
			s.see("latency.ttft_ms.mean", "%s more until the client has it", text.Time(outside))}}
	if s.point.Images != nil {
		c.first = []string{"smaller images: this process decodes and resizes them"}
	}
	if u.FrontEndCores != nil {
		c.evidence = append(c.evidence, s.see("server.front_end_cores", "the process that serves the API keeps %s of a core busy", text.RoughPercent(busy)))
	}
	return c
}
