package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

func caller(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// fetchURL gets a page with an ordinary client.
func fetchURL(client *http.Client, address string) telemetry.Fetch {
	return func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if at, ok := errors.AsType[*url.Error](err); ok {
			return nil, at.Err
		}
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
		}
		return io.ReadAll(resp.Body)
	}
}

// failures gives why scrapes failed, "" for one that did not.
func failures(scrapes []telemetry.Scrape) []string {
	var all []string
	for _, s := range scrapes {
		all = append(all, s.Failed)
	}
	return all
}

// TestScraperOverHTTP has a server that answers each scrape in its own way and
// then goes away. Every scrape is asked for, so that no wall time matters.
func TestScraperOverHTTP(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	page := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
	}
	answers := []http.HandlerFunc{
		page("vllm:request_success_total 3\n"),
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		func(w http.ResponseWriter, r *http.Request) { // the head comes, the page does not
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		},
		func(w http.ResponseWriter, _ *http.Request) { // cut in mid page
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "vllm:request_success_total 1")
		},
		page("\x00\xff{{{\n\nvllm:request_success_total 9\nvllm:request_success_total{\n"),
		page("vllm:request_success_total 1\n"), // counts anew
		page("vllm:request_success_total 2\n"),
	}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			t.Errorf("asked for %s", r.URL)
		}
		answers[asked.Add(1)-1](w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })

	s := telemetry.WatchServer(clock.New(), telemetry.ScrapeOptions{Every: time.Hour, Limit: time.Second,
		Fetch: fetchURL(caller(t), server.URL+"/metrics")})
	for range answers[1:] {
		s.Now(t.Context())
	}
	server.CloseClientConnections()
	server.Listener.Close()
	s.Now(t.Context())
	s.Stop()

	got := failures(s.Scrapes())
	if last := len(got) - 1; last >= 0 && strings.Contains(got[last], "refused") && !strings.Contains(got[last], "/metrics") {
		got[last] = "refused"
	}
	want := []string{"", "HTTP 500", "no answer within 1s", "unexpected EOF", "", "", "", "refused"}
	expect.NoDiff(t, cmp.Diff(want, got), "failures (-want +got)")
	use := s.Over(0, int64(time.Hour))
	if !use.Restarted || use.Samples != 4 || use.Failures != 4 {
		t.Errorf("%+v, want a restart, 4 samples and 4 failures", use)
	}
}

// TestScraperOnTheEngine asks the simulated engine for a known amount of work
// and finds it on the engine's own page.
func TestScraperOnTheEngine(t *testing.T) {
	t.Parallel()
	const pace = 2 * time.Millisecond
	engine := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Pace: pace}))(t)
	t.Cleanup(func() {
		expect.OK(t, engine.Close())
	})
	client, c := caller(t), clock.New()
	ask(t, client, engine.URL(), 7) // before the watch, and not counted
	awaitIdle(t, client, engine.URL())
	s := telemetry.WatchServer(c, telemetry.ScrapeOptions{Every: time.Hour, Fetch: fetchURL(client, engine.URL()+"/metrics")})
	s.Now(t.Context())
	for _, n := range []int{10, 5, 1} {
		ask(t, client, engine.URL(), n)
	}
	awaitIdle(t, client, engine.URL())
	s.Now(t.Context())
	s.Stop()

	// The first of two pages before the load adds nothing.
	got := s.Over(0, c.Now())
	timing := func(n, mean float64) *telemetry.Timing { return &telemetry.Timing{N: n, Mean: mean} }
	step := float64(pace) / float64(time.Millisecond)
	want := telemetry.ServerUse{Engine: "vllm", Replicas: 1, Samples: 3,
		Running: &telemetry.Gauge{}, Waiting: &telemetry.Gauge{}, KVUsage: &telemetry.Gauge{},
		PrefixHits: new(0.0), PrefixQueries: new(0.0), Preemptions: new(0.0), Evictions: new(0.0), EvictionUnit: "block", Recomputes: new(0.0), GenerationTokens: new(16.0), Requests: new(3.0),
		TTFT: timing(3, step), ITL: timing(13, step), Queue: timing(3, 0), Prefill: timing(3, step),
		WaitingFor: map[string]telemetry.Gauge{"capacity": {}, "deferred": {}},
		Decode:     timing(3, 13*step/3), Inference: timing(3, 16*step/3), E2E: timing(3, 16*step/3)}
	expect.Same(t, want, got, cmpopts.EquateApprox(1e-6, 1e-6),
		cmpopts.IgnoreFields(telemetry.ServerUse{}, "CoveredS", "ScrapeMS", "Config", "PromptTokens", "Steps"))
	if got.Config["block_size"] != "16" || *got.PromptTokens < 3 || got.CoveredS <= 0 || got.ScrapeMS.Max <= 0 {
		t.Errorf("config %v, %v prompt tokens, %v s covered, scrapes of %v ms", got.Config, *got.PromptTokens, got.CoveredS, got.ScrapeMS)
	}
}

// TestScraperOnEveryStyle has the engine tell of the same work in the manner of
// each of the others, over sockets.
func TestScraperOnEveryStyle(t *testing.T) {
	t.Parallel()
	const pace = 2 * time.Millisecond
	step := float64(pace) / float64(time.Millisecond)
	timing := func(n, mean float64) *telemetry.Timing { return &telemetry.Timing{N: n, Mean: mean} }
	idle, none := &telemetry.Gauge{}, new(0.0)
	for _, c := range []struct {
		style, path string
		want        telemetry.ServerUse
	}{
		{"sglang", "/metrics", telemetry.ServerUse{Engine: "sglang", KVUsage: idle, PrefixHitRate: none, PrefixHits: none, HitsBy: map[string]float64{"device": 0},
			Preemptions: none, Evictions: none, EvictionUnit: "token", Recomputes: none, Requests: new(3.0), TTFT: timing(3, step), ITL: timing(13, step), Queue: timing(3, 0),
			Prefill: timing(3, step), Decode: timing(3, 13*step/3), E2E: timing(3, 16*step/3)}},
		{"tgi", "/metrics", telemetry.ServerUse{Engine: "tgi", Requests: new(3.0), ITL: timing(13, step), Queue: timing(3, 0),
			Prefill: timing(3, step), E2E: timing(3, 16*step/3)}},
		// It counts seconds over all tokens, of which one in each reply is the
		// prompt's.
		{"llamacpp", "/metrics", telemetry.ServerUse{Engine: "llama.cpp", PrefixHitRate: none, PrefixHits: none,
			ITL: timing(16, 13*step/16)}},
		{"triton", "/metrics", telemetry.ServerUse{Engine: "triton", KVUsage: idle, Requests: new(3.0), TTFT: timing(3, step),
			Queue: timing(3, 0), E2E: timing(3, 16*step/3)}},
		{"nim", "/v1/metrics", telemetry.ServerUse{Engine: "nim", KVUsage: idle, Requests: new(3.0), TTFT: timing(3, step),
			ITL: timing(13, step), E2E: timing(3, 16*step/3)}},
	} {
		t.Run(c.style, func(t *testing.T) {
			t.Parallel()
			engine := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Pace: pace, MetricsStyle: c.style}))(t)
			t.Cleanup(func() { engine.Close() })
			client, clk := caller(t), clock.New()
			fetch := fetchURL(client, engine.URL()+c.path)
			s := telemetry.WatchServer(clk, telemetry.ScrapeOptions{Every: time.Hour, Fetch: fetch})
			s.Now(t.Context())
			for _, n := range []int{10, 5, 1} {
				ask(t, client, engine.URL(), n)
			}
			for busy := true; busy && t.Context().Err() == nil; {
				s.Now(t.Context())
				all := s.Scrapes()
				last := all[len(all)-1].Reading
				busy = *last.Running > 0 || *last.GenerationTokens < 16 // the last token is out a moment before it is counted
			}
			s.Stop()
			got := s.Over(0, clk.Now())
			c.want.Replicas, c.want.Waiting, c.want.GenerationTokens = 1, idle, new(16.0)
			expect.Same(t, c.want, got, cmpopts.EquateApprox(1e-6, 1e-6), cmpopts.IgnoreFields(telemetry.ServerUse{},
				"Samples", "CoveredS", "ScrapeMS", "Config", "PromptTokens", "PrefixQueries", "Running", "PrefillTokensPerS", "Steps"))
			if *got.PromptTokens < 3 {
				t.Errorf("%v prompt tokens", *got.PromptTokens)
			}
		})
	}
}

// awaitIdle waits until the engine's page shows that nothing runs: its last
// token is out a moment before.
func awaitIdle(t *testing.T, client *http.Client, base string) {
	t.Helper()
	for {
		resp := must.Get(client.Get(base + "/metrics"))(t)
		page, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		must.Do(t, err)
		if regexp.MustCompile(`(?m)^vllm:num_requests_running\{.*\} 0$`).Match(page) {
			return
		}
	}
}

// ask streams one answer of n tokens to its end.
func ask(t *testing.T, client *http.Client, base string, n int) {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"stream":true,"max_tokens":%d,"ignore_eos":true,"messages":[{"role":"user","content":"hello"}]}`,
		sim.DefaultModel, n)
	resp := must.Get(client.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(body)))(t)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "[DONE]") {
		t.Fatalf("HTTP %d, %v: %s", resp.StatusCode, err, text)
	}
}

// A window in which no page was read has no gauges, and does no harm.
func TestNoPageWithinAShortWindow(t *testing.T) {
	t.Parallel()
	page := func(at int64) telemetry.Scrape {
		return telemetry.Scrape{At: at, Reading: &telemetry.Reading{WaitingFor: map[string]float64{"capacity": 1}, Running: new(3.0)}}
	}
	if use := telemetry.ServerOver([]telemetry.Scrape{page(0), page(1e9)}, 2e8, 8e8); use.Running != nil || len(use.WaitingFor) != 0 {
		t.Errorf("running %v, waiting for %v; want neither", use.Running, use.WaitingFor)
	}
}
