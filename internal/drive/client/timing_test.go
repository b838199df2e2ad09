package client

import (
	"io"
	"net/http"
	"testing"

	"redline/internal/llm"
)

// Each way in which servers tell where a request was, from what they send; what is no
// length of time tells nothing.
func TestServersTellWhereARequestWas(t *testing.T) {
	t.Parallel()
	const ms = int64(1_000_000)
	for name, tt := range map[string]struct {
		api, header, value, said string
		want                     llm.Timing
	}{
		"Server-Timing": {header: "Server-Timing", value: `gateway;dur=1.5, cache;desc="a, b";dur=9, Queue;desc=x;dur=20 , prefill;dur="30",kv-transfer;dur=0, gateway;dur=1.5`,
			want: llm.Timing{Gateway: 3 * ms, Queue: 20 * ms, Prefill: 30 * ms, Transfer: 1}},
		"no lengths": {header: "Server-Timing", value: `queue;dur=-4, prefill;dur=soon, gateway;dur=NaN, write, ;;=,`},
		"LiteLLM":    {header: "x-litellm-overhead-duration-ms", value: "12.25", want: llm.Timing{Gateway: 12_250_000}},
		"vLLM": {said: `"metrics":{"time_to_first_token_ms":500.5,"generation_time_ms":1000,"queue_time_ms":0,"mean_itl_ms":null}`,
			want: llm.Timing{Queue: 1, Prefill: 500_500_000}},
		"vLLM without times": {said: `"metrics":{"time_to_first_token_ms":null,"queue_time_ms":null}`},
		"Dynamo":             {said: `"nvext":{"timing":{"prefill_wait_time_ms":12.5,"prefill_time_ms":70,"ttft_ms":82.5}}`, want: llm.Timing{Queue: 12_500_000, Prefill: 70 * ms}},
		"SGLang": {api: "sglang-generate", said: `"meta_info":{"id":"x","finish_reason":null,"queue_time":0.25,"forward_entry_time":1763.5,"prefill_finished_time":1763.75}`,
			want: llm.Timing{Queue: 250 * ms, Prefill: 250 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set(tt.header, tt.value)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				text, said := `"choices":[{"delta":{"content":"Hello"}}]`, tt.said
				if tt.api != "" {
					text = `"text":"Hello"`
				}
				if said != "" {
					said = "," + said
				}
				io.WriteString(w, "data: {"+text+said+"}\n\ndata: [DONE]\n\n")
			})
			var got llm.Timing
			_, fault := collect(t, t.Context(), newClient(t, Spec{API: tt.api}, url), requestOf(true), func(ev llm.Event) {
				if ev.Kind == llm.Timed {
					got.Merge(ev.Timing)
				}
			})
			equal(t, "fault", fault, (*llm.Fault)(nil))
			equal(t, "timing", got, tt.want)
		})
	}
}
