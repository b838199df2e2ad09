package simserver

import (
	"fmt"
	"net/http"
)

// What a gateway says of who served a request: the header of the Gateway API
// inference extension, and that in which llm-d names the engine that prefilled.
const (
	servedHeader    = "X-Gateway-Destination-Endpoint-Served"
	prefillerHeader = "X-Prefiller-Host-Port"
	timingHeader    = "Server-Timing"
)

// nameReplica writes who serves the request and where the time to its first token went:
// that is known with the token, so that a gateway's head waits for it.
func (g *generation) nameReplica() {
	j, fleet, h := &g.flight.job, &g.server.spec.Fleet, g.w.Header()
	h.Set(servedHeader, fleet.EngineName(j.Replica))
	ms, t := func(ns int64) float64 { return float64(ns) / 1e6 }, g.reply.Timing
	timing := fmt.Sprintf("gateway;dur=%.3f, frontend;dur=%.3f, queue;dur=%.3f, prefill;dur=%.3f", ms(t.Gateway), ms(t.FrontEnd+int64(g.reading)), ms(t.Queue), ms(t.Prefill))
	if fleet.HasPools() {
		h.Set(prefillerHeader, fleet.EngineName(j.Prefiller))
		timing += fmt.Sprintf(", transfer;dur=%.3f", ms(t.Transfer))
	}
	// A machine that is busy writes the token later than the engine has it.
	h.Set(timingHeader, timing+fmt.Sprintf(", write;dur=%.3f", ms(max(0, g.driver.clock.Now()-j.First))))
}

// sessionHeaders are those by which gateways keep a session on one replica.
var sessionHeaders = []string{"X-Session-Id", "X-Session-Affinity", "Session-Id", "X-Smg-Routing-Key", "X-Dynamo-Session-Id",
	"X-Claude-Code-Session-Id", "X-Override-Conversation-Id"}

// sessionOf is the session that a request names, "" for none.
func sessionOf(h http.Header) string {
	for _, name := range sessionHeaders {
		if value := h.Get(name); value != "" {
			return value
		}
	}
	return ""
}
