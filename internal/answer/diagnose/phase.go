package diagnose

import (
	"fmt"

	"redline/internal/judge/figure"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// The phases of a request, for an objective that is missed and that no rule
// explains: the one that takes most of the time, and what shortens it.
var (
	longQueue = rule{Regime: "long-queue",
		Settled:  "a search for the limit finds the rate at which the queue begins",
		Response: []string{"offer less, or add replicas"}, confirm: confirmLimit}
	longPrefill = rule{Regime: "long-prefill",
		Settled:  "with one request at a time ttft still grows with the prompt",
		Response: []string{"shorter prompts, a shared prefix that can be cached, or more compute"}, confirm: confirmPrefill}
	longFirst = rule{Regime: "long-first-token",
		Settled:  "one request at a time has a much lower ttft: it is the queue, else the prompts or the network",
		Response: []string{"offer less if it is the queue, shorten prompts if it is prefill; the server's metrics tell the two apart"}, confirm: confirmAlone}
	longDecode = rule{Regime: "long-decode",
		Settled:  "a single stream is as slow: it is the model on this accelerator, not the load",
		Response: []string{"fewer requests at once, shorter replies, speculative decoding, or fewer bytes a token"}, confirm: confirmStream}
	// The same of one request at a time, beside which there is no other.
	longFirstAlone = rule{Regime: "long-first-token",
		Settled:  "a prompt of twice the length takes twice as long: it is prefill, else the network or the front end",
		Response: []string{"shorten prompts if it is prefill; look at the network and the front end if it is not"}, confirm: confirmPrefill}
	longDecodeAlone = rule{Regime: "long-decode",
		Settled:  "a short prompt is as slow: it is the model on this accelerator",
		Response: []string{"shorter replies, speculative decoding, or fewer bytes a token"}, confirm: confirmStream}
	longGateway = rule{Regime: "long-gateway",
		Settled:  "a comparison of the engine's own URL with the gateway's shows the same difference",
		Response: []string{"give the gateway more CPU or instances, fewer filters and less logging; keep its connections to the engines open"}, confirm: confirmAlone}
	longFrontEnd = rule{Regime: "long-front-end",
		Settled:  "the same tokens in fewer requests have a much lower ttft",
		Response: []string{"more processes for the front end, or more CPU for it"}, confirm: confirmAlone}
	longTransfer = rule{Regime: "long-transfer",
		Settled:  "ttft without separate pools lacks this time",
		Response: []string{"a faster link between the pools (RDMA rather than TCP), a KV cache of fewer bytes (fp8), or no separate prefill for short prompts"}, confirm: confirmPrefill}
	longWay = rule{Regime: "long-way",
		Settled:  "a client beside the server has a much lower ttft",
		Response: []string{"a client or an endpoint nearer by, smaller requests, connections that are kept open"}, confirm: confirmAlone}
	longHere = rule{Regime: "long-here",
		Settled:  "a client on a quiet machine has the ttft that the server counts",
		Response: []string{"measure from a quieter machine, or with --workers elsewhere: no setting of the server shortens this"}, confirm: confirmAlone}
	sharedHere = rule{Regime: "long-here", Explains: []string{"queueing", "device-full", "prefill-bound"}, Settled: longHere.Settled,
		Response: []string{"measure from another machine, or with --workers elsewhere: here both compete for the same cores"}, confirm: confirmAlone}
	// What the client holds back never reached the server.
	longSlot = rule{Regime: "client-limit",
		Settled:  "with a higher limit the wait for a slot is gone, and the server's own limit shows",
		Response: []string{"raise the client's limit (max_concurrency), or offer less: no setting of the server shortens this wait"}, confirm: confirmUncapped}
)

// phaseFlags are the regimes whose flags shorten a phase.
var phaseFlags = map[string]string{"long-front-end": "front-end-bound", "long-queue": "scheduler-saturation", "long-prefill": "prefill-bound", "long-decode": "decode-memory-bound"}

// ownLimit is the claim that the client's own limit on requests in flight takes
// most of what was missed; nil where it does not.
func (s *scene) ownLimit() *claim {
	slot, limit := s.point.Latency.SlotWait, s.point.Load.Concurrency
	of, name := s.point.Latency.E2EDue, "e2e"
	if s.missedTimes() == first {
		of, name = s.point.Latency.TTFTDue, "ttft"
	}
	if s.missedTimes() == 0 || slot == nil || limit == nil || of == nil || slot.Mean <= of.Mean/2 {
		return nil
	}
	return &claim{rule: &longSlot, confidence: certain,
		title: fmt.Sprintf("the client's own limit of %d in flight holds requests back for %s of a mean %s of %s", *limit, text.Time(slot.Mean), name, text.Time(of.Mean)),
		evidence: []evidence{s.see("latency.slot_wait_ms.mean", "mean wait for a slot %s", text.Time(slot.Mean)),
			s.see("latency."+name+"_due_ms.mean", "mean %s from due %s", name, text.Time(of.Mean)), s.see("load.concurrency", "at most %d in flight", *limit)}}
}

// dominant is the claim about the phase that takes most of what was missed; nil
// where no latency was missed or its phases are not known.
func (s *scene) dominant() *claim {
	missed := s.missedTimes()
	whole, first, decode := s.point.Latency.E2E, s.point.Latency.TTFT, &longDecode
	if s.single() {
		decode = &longDecodeAlone
	}
	switch {
	case missed == 0 || first == nil:
		return nil
	case missed == stream:
		pace := s.point.Latency.TPOT
		if pace == nil {
			return nil
		}
		return &claim{rule: decode, title: fmt.Sprintf("decode is slow: the mean tpot is %s", text.Time(pace.Mean)), confidence: possible,
			evidence: []evidence{s.see("latency.tpot_ms.mean", "mean tpot %s", text.Time(pace.Mean))}}
	case missed&stream == 0 || s.missed&stream == 0:
		return s.dominantFirst()
	case whole == nil:
		return nil
	case whole.Mean-first.Mean < first.Mean:
		return s.dominantFirst()
	}
	return &claim{rule: decode, title: fmt.Sprintf("decode takes most of the time: %s of a mean e2e of %s", text.Time(whole.Mean-first.Mean), text.Time(whole.Mean)), confidence: possible,
		evidence: []evidence{s.see("latency.e2e_ms.mean", "mean e2e %s", text.Time(whole.Mean)), s.see("latency.ttft_ms.mean", "mean ttft %s", text.Time(first.Mean))}}
}

// dominantFirst is about the time to the first token, in the server's own parts
// where it states them.
func (s *scene) dominantFirst() *claim {
	ttft := s.point.Latency.TTFT
	seen := []evidence{s.see("latency.ttft_ms.mean", "mean ttft %s", text.Time(ttft.Mean))}
	outside := s.outside()
	if outside != nil && outside.rule == &longHere {
		return outside
	}
	largest, rest := 0, ttft.Mean
	parts := s.firstParts()
	for i, part := range parts {
		seen = append(seen, s.see(part.place, part.said+" %s", text.Time(part.ms)))
		if rest -= part.ms; part.ms > parts[largest].ms {
			largest = i
		}
	}
	if len(parts) > 0 && parts[largest].ms >= rest {
		part := parts[largest]
		return &claim{rule: part.rule, title: fmt.Sprintf("%s takes most of ttft: %s of %s on average", part.name, text.Time(part.ms), text.Time(ttft.Mean)), confidence: possible, evidence: seen}
	}
	if outside != nil {
		return outside
	}
	if s.single() {
		return &claim{rule: &longFirstAlone, title: fmt.Sprintf("the first token takes %s on average: prefill or network", text.Time(ttft.Mean)), confidence: possible, evidence: seen}
	}
	return &claim{rule: &longFirst, title: fmt.Sprintf("the first token takes %s on average: queueing, prefill or network", text.Time(ttft.Mean)), confidence: possible, evidence: seen}
}

// outside is the claim that most of the time to the first token is none that the server
// knows of; nil where it does not say, or where a growing queue makes it time others.
// It is this machine where its hold-ups may have made most of that.
func (s *scene) outside() *claim {
	ttft, field, own := s.point.Latency.TTFTDue, "latency.ttft_due_ms", s.server.TTFT
	if ttft == nil {
		ttft, field = s.point.Latency.TTFT, "latency.ttft_ms"
	}
	if own == nil || own.Mean > ttft.Mean/2 || s.isOverloaded() {
		return nil
	}
	c := &claim{rule: &longWay, confidence: possible,
		title: fmt.Sprintf("the server says %s of a mean ttft of %s; the rest is the network or this machine", text.Time(own.Mean), text.Time(ttft.Mean)),
		evidence: []evidence{s.see(field+".mean", "mean ttft %s at the client", text.Time(ttft.Mean)),
			s.see("server.ttft_ms.mean", "%s by the server's own count", text.Time(own.Mean))}}
	if low, _, ok := ttft.Ends("mean"); ok && ttft.Mean-low >= (ttft.Mean-own.Mean)/2 {
		c.rule = &longHere
		c.title = fmt.Sprintf("the server says %s of a mean ttft of %s; the rest is this machine, whose hold-ups took up to %s, or the network",
			text.Time(own.Mean), text.Time(ttft.Mean), text.Time(ttft.Mean-low))
		c.evidence = append(c.evidence, s.see(field+".low.mean", "%s without this machine's hold-ups, at best", text.Time(low)))
	}
	return c
}

// firstPart is a part of the time to first token that is known, and what shortens it.
type firstPart struct {
	name, place, said string
	ms                float64
	rule              *rule
}

// toldParts are the rules of what a ledger knows of a server and its gateway.
var toldParts = map[string]firstPart{
	"upload":    {name: "sending the request", said: "mean upload", rule: &longWay},
	"network":   {name: "the network", said: "round trip", rule: &longWay},
	"gateway":   {name: "the gateway", said: "mean time in the gateway, by replies", rule: &longGateway},
	"front_end": {name: "the front end", said: "mean time in the front end, by replies", rule: &longFrontEnd},
	"queue":     {name: "queueing", said: "mean time in the server's queue, by replies", rule: &longQueue},
	"prefill":   {name: "prefill", said: "mean prefill, by replies", rule: &longPrefill},
	"transfer":  {name: "KV transfer", said: "mean KV transfer, by replies", rule: &longTransfer},
}

// firstParts are the parts of the ledger where replies tell any, else the queue and
// the prefill of the server's own metrics.
func (s *scene) firstParts() (parts []firstPart) {
	if l := s.point.Ledger; l.ByReplies() {
		for i, e := range l.Parts {
			if part, known := toldParts[e.Name]; known {
				part.ms, part.place = e.MeanMS, fmt.Sprintf("ledger.parts[%d].mean_ms", i)
				parts = append(parts, part)
			}
		}
		return parts
	}
	if q, p := s.server.Queue, s.server.Prefill; q != nil && p != nil {
		parts = append(parts, firstPart{"queueing", "server.queue_ms.mean", "mean time in the server's queue", q.Mean, &longQueue},
			firstPart{"prefill", "server.prefill_ms.mean", "mean prefill by the server's own count", p.Mean, &longPrefill})
	}
	return parts
}

// missedTimes is what the latencies that were missed are about. A server that
// fails requests or costs too much is not explained by a phase.
func (s *scene) missedTimes() phase {
	var all phase
	for _, v := range s.point.Objectives {
		o, err := slo.Parse(v.Objective)
		if f, known := figure.Find(o.Metric); err == nil && known && v.Standing == slo.Missed && (f.Spread() || f.Name == "goodput" || f.Name == "good") {
			all |= f.Phase
		}
	}
	return all
}

// confirmAlone repeats the workload with one request at a time.
func confirmAlone(s *scene) string {
	return s.command("run", append(s.work(), "--concurrency", "1", "--requests", "50")...)
}

// confirmUncapped offers the same rate without a limit in flight.
func confirmUncapped(s *scene) string {
	args := s.work()
	if r := s.point.Load.Rate; r != nil {
		args = append(args, "--rate", text.Plain(text.Round(*r, 3)))
	}
	return s.command("run", args...)
}
