package validity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
)

const ms = int64(time.Millisecond)

var today = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func able() *Endpoint {
	reply := func(cached int) *Reply {
		return &Reply{Outcome: llm.OK, TTFT: 40 * ms, E2E: 190 * ms, Events: 16, Arrivals: 16, Usage: true, Prompt: 90, Cached: cached, Output: 16, Text: "yes"}
	}
	return &Endpoint{
		URL: "https://engine:8443/v1/chat/completions", API: "openai-chat", Handshake: Spread{N: 9, P50: 300_000},
		Session: &Session{Version: "TLS 1.3", Issuer: "CN=ours", Expires: today.AddDate(0, 0, 90)},
		Skew:    &Skew{Min: -400 * ms, Max: 610 * ms},
		Models:  []string{"m", "n"}, Model: "m", OwnedBy: "vllm", Version: "0.11.0", ServerHeader: "uvicorn", Metrics: "vllm",
		Cold: reply(0), Fresh: reply(0), Again: reply(80),
	}
}

func TestAnAbleEndpointIsWell(t *testing.T) {
	t.Parallel()
	want := []string{"TCP round trip p50 300 µs over 9 handshakes", "yes", "TLS 1.3", "until 2026-05-30 (90 days)", "m, n; asking m",
		"vllm, version 0.11.0, owned by vllm, Server: uvicorn", "ttft 40 ms, 190 ms in all (first one ttft 40 ms)", "16 events at 16 times",
		"90 prompt and 16 output tokens", "1", "asked 16 tokens, got 16", "/metrics of vllm",
		"+0.1 s ± 0.5 s (the Date header tells whole seconds)", "same request: ttft 40 ms, then 40 ms; in all 190 ms, then 190 ms",
		"80 of 90 tokens of a repeated prompt came from it"}
	var got []string
	for _, f := range able().Findings(today) {
		got = append(got, f.Figure)
		if f.Mark != OK || f.Cure != "" {
			t.Errorf("%s: %s with cure %q", f.Check, f.Mark, f.Cure)
		}
	}
	expect.NoDiff(t, cmp.Diff(want, got), "figures (-want +got)")
}

// forgetReplies forgets all replies.
func forgetReplies(e *Endpoint) { e.Cold, e.Fresh, e.Again = nil, nil, nil }

func faulty(r Reply) func(*Endpoint) {
	return func(e *Endpoint) {
		forgetReplies(e)
		e.Cold = &r
	}
}

type endpointCase struct {
	name   string
	change func(*Endpoint)
	mark   Mark
	figure string
	cure   string // part of it
}

// informative names the checks that only tell: nothing they can see is wrong.
var informative = map[string]bool{"engine": true, "prefix_cache": true}

var endpointCases = map[string][]endpointCase{
	"reach": {
		{"dead", func(e *Endpoint) { *e = Endpoint{Unreachable: "refused the connection"} }, Bad, "refused the connection", "--url"},
		{"far away", func(e *Endpoint) { e.Handshake.P50 = 85 * ms }, Warn, "TCP round trip p50 85 ms over 9 handshakes", "nearer"},
		{"through a proxy", func(e *Endpoint) { e.Proxy = "proxy:3128" }, OK, "TCP round trip p50 300 µs over 9 handshakes with the proxy proxy:3128", ""},
	},
	"place": {
		{"here", func(e *Endpoint) { e.Local = true }, Warn, "no, this one", "another machine"},
		{"nowhere", func(e *Endpoint) { *e = Endpoint{Unreachable: "refused"} }, "", "", ""},
	},
	"tls": {
		{"not spoken", func(e *Endpoint) { *e = Endpoint{SessionFault: "first record does not look like a TLS handshake"} }, Bad,
			"first record does not look like a TLS handshake", "http://"},
		{"not asked for", func(e *Endpoint) { e.Session = nil }, "", "", ""},
	},
	"certificate": {
		{"expires soon", func(e *Endpoint) { e.Session.Expires = today.AddDate(0, 0, 3) }, Warn, "until 2026-03-04 (3 days)", "renew"},
		{"not verified", func(e *Endpoint) { e.Insecure = true }, Warn, "until 2026-05-30 (90 days), not verified", "--ca-cert"},
		{"none", func(e *Endpoint) { e.Session = nil }, "", "", ""},
	},
	"models": {
		{"none and none given", func(e *Endpoint) {
			e.Models, e.Model, e.ModelsFault = nil, "", "/v1/models: HTTP 404"
			forgetReplies(e)
		}, Bad,
			"cannot tell which model to ask (no model list: /v1/models: HTTP 404)", "--model"},
		{"none listed, one given", func(e *Endpoint) { e.Models, e.ModelsFault = nil, "/v1/models: HTTP 404" }, OK, "no list (/v1/models: HTTP 404); asking m", ""},
		{"another one given", func(e *Endpoint) { e.Model, e.Unlisted = "x", true }, Warn, "x is not listed: m, n", "--model"},
		{"many", func(e *Endpoint) { e.Models = []string{"a", "b", "c", "d", "e", "f", "m"} }, OK, "a, b, c, d, e and 2 more; asking m", ""},
	},
	"engine": {
		{"it does not tell", func(e *Endpoint) {
			e.Metrics, e.Version, e.OwnedBy, e.ServerHeader, e.MetricsFault = "", "", "", "", "HTTP 404"
		}, Unread, "it does not tell", ""},
	},
	"reply": {
		{"no key", faulty(Reply{Fault: "bad key", Outcome: llm.HTTP, Status: 401}), Bad, "401 from the server: the API key is missing or wrong (it says: bad key)", "--api-key-env"},
		{"wrong path", faulty(Reply{Fault: "not found", Outcome: llm.HTTP, Status: 404}), Bad, "404 from the server: not found", "it serves m, n"},
		{"full", faulty(Reply{Fault: "busy", Outcome: llm.Rejected, Status: 429}), Bad, "429 from the server: it takes no more requests from this key now, or its quota is spent (it says: busy)", "wait"},
		{"cut", faulty(Reply{Fault: "cut", Outcome: llm.Reset}), Bad, "cut", "-v"},
		{"no stream", faulty(Reply{Fault: "got application/json", Outcome: llm.Malformed}), Bad, "got application/json", "-v"},
		{"too slow", faulty(Reply{Fault: "no whole reply", Outcome: llm.Timeout}), Bad, "no whole reply", "loading"},
		{"too slow for a second one", func(e *Endpoint) { e.Fresh, e.Again = &Reply{Fault: "late", Outcome: llm.Timeout}, nil }, Warn,
			"190 ms for the first one, no time left for more", "try again"},
		{"not asked", forgetReplies, "", "", ""},
	},
	"streaming": {
		{"buffered on the way", func(e *Endpoint) { e.Cold.Arrivals, e.Fresh.Arrivals, e.Again.Arrivals = 1, 1, 2 }, Bad, "16 events at 2 times", "proxy_buffering"},
		{"in bursts by chance", func(e *Endpoint) { e.Fresh.Arrivals = 2 }, OK, "16 events at 16 times", ""},
		{"too quick", func(e *Endpoint) {
			for _, r := range []*Reply{e.Cold, e.Fresh, e.Again} {
				r.TTFT, r.E2E, r.Arrivals = 5*ms, 6*ms, 2
			}
		}, OK, "16 events at 2 times, too quick to tell whether they are held back", ""},
		{"one event", func(e *Endpoint) { e.Cold, e.Again, e.Fresh.Events, e.Fresh.Arrivals = e.Fresh, e.Fresh, 1, 1 }, Warn, "1 event at 1 time", "one event"},
		{"not asked for", func(e *Endpoint) { e.Whole = true }, Warn, "not asked for", "--no-stream"},
		{"not asked", forgetReplies, "", "", ""},
	},
	"usage": {
		{"none", func(e *Endpoint) { e.Fresh.Usage = false }, Warn, "none", "include_usage"},
		{"not asked", forgetReplies, "", "", ""},
	},
	"tokens_per_event": {
		{"four", func(e *Endpoint) { e.Fresh.Events = 4; e.Fresh.Arrivals = 4 }, Warn, "4", "itl"},
		{"the last token is not shown", func(e *Endpoint) { e.Fresh.Events = 15 }, OK, "1.07", ""},
		{"not asked", forgetReplies, "", "", ""},
	},
	"ignore_eos": {
		{"the model's own end", func(e *Endpoint) { e.Fresh.Output, e.Fresh.Events, e.Fresh.Arrivals = 2, 2, 2 }, Warn, "asked 16 tokens, got 2", "workload.natural"},
		{"not counted", func(e *Endpoint) { e.Fresh.Usage = false }, "", "", ""},
	},
	"metrics": {
		{"elsewhere", func(e *Endpoint) { e.MetricsURL = "h:9/m" }, OK, "h:9/m of vllm", ""},
		{"none where it was said to be", func(e *Endpoint) { e.Metrics, e.MetricsURL, e.MetricsFault = "", "h:9/m", "h:9/m: HTTP 404" }, Warn,
			"none (h:9/m: HTTP 404)", "--metrics-url"},
		{"none", func(e *Endpoint) { e.Metrics, e.MetricsFault = "", "/metrics: HTTP 404" }, Unread, "none (HTTP 404)", ""},
		{"not asked", func(e *Endpoint) { *e = Endpoint{Unreachable: "refused"} }, "", "", ""},
	},
	"skew": {
		{"an hour ahead", func(e *Endpoint) { e.Skew = &Skew{Min: 3_599_600 * ms, Max: 3_600_600 * ms} }, Warn,
			"+3600.1 s ± 0.5 s (the Date header tells whole seconds)", "NTP"},
		{"behind", func(e *Endpoint) { e.Skew = &Skew{Min: -5000 * ms, Max: -4000 * ms} }, Warn, "-4.5 s ± 0.5 s (the Date header tells whole seconds)", "NTP"},
		{"perhaps in step", func(e *Endpoint) { e.Skew = &Skew{Min: -5000 * ms, Max: 1000 * ms} }, OK, "-2.0 s ± 3.0 s (the Date header tells whole seconds)", ""},
		{"not told", func(e *Endpoint) { e.Skew = nil }, "", "", ""},
	},
	"response_cache": {
		{"a kept reply", func(e *Endpoint) { e.Again.TTFT, e.Again.E2E, e.Again.Cached = 2*ms, 3*ms, 0 }, Bad,
			"same request: ttft 40 ms, then 2 ms; in all 190 ms, then 3 ms", "cache"},
		{"a first token that nobody explains", func(e *Endpoint) { e.Again.TTFT, e.Again.E2E, e.Again.Cached = 5*ms, 155*ms, 0 }, Warn,
			"same request: ttft 40 ms, then 5 ms; in all 190 ms, then 155 ms", "no cached tokens"},
		{"a prefix cache", func(e *Endpoint) { e.Again.TTFT, e.Again.E2E = 5*ms, 155*ms }, OK,
			"same request: ttft 40 ms, then 5 ms; in all 190 ms, then 155 ms", ""},
		{"too fast to tell", func(e *Endpoint) { e.Fresh.TTFT, e.Again.TTFT, e.Again.Cached = 3*ms, ms, 0 }, OK,
			"same request: ttft 3 ms, then 1 ms; in all 190 ms, then 190 ms", ""},
		{"a reply that was slow by chance", func(e *Endpoint) { e.Fresh.TTFT, e.Fresh.E2E, e.Again.Cached = 400*ms, 1900*ms, 0 }, OK,
			"same request: ttft 400 ms, then 40 ms; in all 1.9 s, then 190 ms", ""},
		{"as fast, but another text", func(e *Endpoint) {
			e.Again.TTFT, e.Again.E2E, e.Again.Text = 2*ms, 3*ms, "no"
		}, OK, "same request: ttft 40 ms, then 2 ms; in all 190 ms, then 3 ms", ""},
		{"not asked again", forgetReplies, "", "", ""},
	},
	"prefix_cache": {
		{"none", func(e *Endpoint) { e.Again.Cached = 0 }, OK, "no cached tokens reported for a repeated prompt", ""},
		{"not told", func(e *Endpoint) { e.Again.Usage = false }, Unread, "usage is not reported", ""},
		{"not asked again", forgetReplies, "", "", ""},
	},
}

func TestEachEndpointCheckFiresAlone(t *testing.T) {
	t.Parallel()
	well := map[string]Finding{}
	for _, f := range able().Findings(today) {
		well[f.Check] = f
	}
	for _, c := range checks {
		if c.endpoint == nil {
			continue
		}
		fires := false
		for _, tt := range endpointCases[c.id] {
			e := able()
			tt.change(e)
			fires = fires || tt.mark == Warn || tt.mark == Bad
			got := e.Findings(today)
			if tt.mark == "" || tt.mark == Unread {
				// Evidence that is missing may silence or weaken more than one.
				got = onlyOf(got, c.id)
			}
			hold(t, c.id, tt.name, got, well, Finding{Mark: tt.mark, Figure: tt.figure, Cure: tt.cure})
		}
		if fires == informative[c.id] || len(endpointCases[c.id]) == 0 {
			t.Errorf("%s: a case makes it fire: %v", c.id, fires)
		}
	}
}

func onlyOf(all []Finding, check string) []Finding {
	for _, f := range all {
		if f.Check == check {
			return []Finding{f}
		}
	}
	return nil
}
