package simserver

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/twin/sim"
)

// TestGateway asks fleets over HTTP: the reply's head names who served it and where the
// time went, and the page shows each engine.
func TestGateway(t *testing.T) {
	t.Parallel()
	const body = `{"model":"llama-3.1-8b","messages":[{"role":"user","content":"hello"}],"max_tokens":2,"stream":true}`
	for _, row := range []struct {
		fleet             sim.Fleet
		style             string
		served, prefilled []string
		parts             string
	}{
		{sim.Fleet{Replicas: 2, Router: sim.RoundRobin, GatewayDelay: 3 * time.Millisecond}, "vllm", []string{"sim-0", "sim-1", "sim-0"}, []string{"", "", ""}, "gateway;dur=3.000 frontend queue prefill"},
		{sim.Fleet{Replicas: 2, Router: sim.Sticky}, "sglang", []string{"sim-0", "sim-0", "sim-0"}, []string{"", "", ""}, "gateway;dur=0.000 frontend queue prefill"},
		{sim.Fleet{Replicas: 2, Router: sim.RoundRobin, FailingReplicas: []string{"1:100%"}}, "vllm", []string{"sim-0", "sim-1", "sim-0"}, []string{"", "", ""}, "gateway;dur=0.000 frontend queue prefill"},
		{sim.Fleet{Prefill: 1, Decode: 2, Router: sim.RoundRobin}, "vllm", []string{"sim-decode-0", "sim-decode-1", "sim-decode-0"},
			[]string{"sim-prefill-0", "sim-prefill-0", "sim-prefill-0"}, "gateway;dur=0.000 frontend queue prefill transfer"},
	} {
		r := must.Get(Start(t.Context(), sim.Spec{Fleet: row.fleet}, ServeOptions{MetricsStyle: row.style}))(t)
		client := caller(t)
		for i := range row.served {
			q := must.Get(http.NewRequest(http.MethodPost, r.URL()+"/v1/chat/completions", strings.NewReader(body)))(t)
			q.Header.Set("X-Session-ID", "one")
			reply := must.Get(client.Do(q))(t)
			said := string(must.Get(io.ReadAll(reply.Body))(t))
			reply.Body.Close()
			h := reply.Header
			fails := row.fleet.FailingReplicas != nil && row.served[i] == "sim-1"
			if h.Get(servedHeader) != row.served[i] || h.Get(prefillerHeader) != row.prefilled[i] || fails != (reply.StatusCode == http.StatusInternalServerError) || !fails && !strings.HasSuffix(said, "[DONE]\n\n") {
				t.Errorf("%+v: reply %d has %v and says %q", row.fleet, i, h, said)
			}
			entries := strings.Split(h.Get(timingHeader), ", ")
			for k, name := range strings.Fields(row.parts) {
				if k >= len(entries) || !strings.HasPrefix(entries[k], name) {
					t.Errorf("%+v: %s: %q, want %s", row.fleet, timingHeader, entries, row.parts)
				}
			}
		}
		if row.fleet.FailingReplicas != nil {
			expect.OK(t, r.Close())
			continue
		}
		// A page is of the moment after a step: the last token may be read before it.
		read := func() (*telemetry.Reading, bool) {
			reply := must.Get(client.Get(r.URL() + "/metrics"))(t)
			defer reply.Body.Close()
			reading, ok := telemetry.ParsePage(must.Get(io.ReadAll(reply.Body))(t)).Read()
			return reading, ok && reading.Replicas == row.fleet.Engines() && len(reading.Each) == row.fleet.Engines() && *reading.GenerationTokens == 6
		}
		reading, ok := read()
		for try := 0; !ok && try < 500; try++ {
			time.Sleep(10 * time.Millisecond)
			reading, ok = read()
		}
		if !ok {
			t.Errorf("%+v: read as %+v", row.fleet, reading)
		}
		expect.OK(t, r.Close())
	}
	for style, o := range map[string]ServeOptions{"tgi": {MetricsStyle: "tgi"}, "pace": {Pace: time.Millisecond}} {
		if r, err := Start(t.Context(), sim.Spec{Fleet: sim.Fleet{Replicas: 2}}, o); err == nil {
			t.Errorf("%s: a fleet is served", style)
			expect.OK(t, r.Close())
		}
	}
}
