package measure

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/must"
	"redline/internal/plan/config"
)

// A gateway that refuses every request of one class by a name of its own, and every
// one of another by its status alone: both are counted, over all and by class. Those of a third are
// refused once and answered when they are sent again, which is counted apart.
func TestRefusalsAreCountedByReasonAndClass(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/completions") {
			http.NotFound(w, r)
			return
		}
		switch r.Header.Get("X-Kind") {
		case "batch":
			w.Header().Set("Retry-After", "7")
			w.Header().Set("X-LLM-D-Request-Dropped-Reason", "rejected-saturated")
			w.WriteHeader(http.StatusTooManyRequests)
		case "rag":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			body, _ := io.ReadAll(r.Body)
			if _, again := seen.LoadOrStore(string(body), true); !again && r.Header.Get("X-Kind") == "chat" {
				w.Header().Set("X-LLM-D-Request-Dropped-Reason", "evicted; late")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`+"\n\n"+
				`data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n")
		}
	}))
	defer server.Close()
	var classes strings.Builder
	for _, name := range []string{"batch", "chat", "rag"} {
		fmt.Fprintf(&classes, "    - {name: %s, weight: 1, workload: 'fixed(8,1)', headers: {X-Kind: %s}}\n", name, name)
	}
	plan := must.File(t, "plan.yaml", "workload:\n  classes:\n"+classes.String()+"load_profile: {retries: {max: 1, backoff: 1ms, max_wait: 1s}}\n")
	cfg := must.Get(config.Resolve(config.Input{PlanPath: plan, Flags: map[string][]string{"url": {server.URL}, "model": {"m"}, "concurrency": {"2"}, "requests": {"60"},
		"warmup": {"0s"}, "out": {t.TempDir() + "/run"}}, LookupEnv: func(string) (string, bool) { return "", false }}))(t)
	res, _, err := Run(t.Context(), Options{Config: cfg})
	must.Do(t, err)
	point, byClass := res.Points[0], map[string]metric.Requests{}
	for _, g := range point.Classes {
		byClass[g.Name] = g.Requests
	}
	batch, rag := byClass["batch"], byClass["rag"]
	if batch.Due == 0 || rag.Due == 0 || batch.Due+rag.Due != point.Requests.Rejected {
		t.Fatalf("%d of batch and %d of rag were due, %d requests rejected", batch.Due, rag.Due, point.Requests.Rejected)
	}
	saturated := metric.Refusal{Reason: "rejected-saturated", Count: batch.Due, WithRetryAfter: batch.Due, MaxRetryAfterS: 7}
	unnamed := metric.Refusal{Reason: "HTTP 503", Count: rag.Due}
	expect.Same(t, []metric.Refusal{saturated}, batch.Refusals)
	expect.Same(t, []metric.Refusal{unnamed}, rag.Refusals)
	chat := byClass["chat"]
	expect.Same(t, []metric.Refusal(nil), chat.Refusals)
	mended := []metric.Refusal{{Reason: "evicted, late", Count: chat.Due}}
	if chat.OK != chat.Due || chat.Due == 0 {
		t.Errorf("%d of %d requests of chat are ok", chat.OK, chat.Due)
	}
	expect.Same(t, mended, chat.Mended)
	expect.Same(t, mended, point.Requests.Mended)
	all := map[string]metric.Refusal{}
	for _, one := range point.Requests.Refusals {
		all[one.Reason] = one
	}
	expect.Same(t, map[string]metric.Refusal{saturated.Reason: saturated, unnamed.Reason: unnamed}, all)
}

// A replica that fails every request does not keep a load from beginning; one that all share
// does, and is named.
func TestPreflightPassesAFailingReplica(t *testing.T) {
	t.Parallel()
	open := func(failing ...string) (said string, err error) {
		cfg := must.Get(config.Resolve(config.Input{Flags: map[string][]string{"replicas": {"2"}, "router": {"round-robin"}, "failing-replica": failing}, LookupEnv: func(string) (string, bool) { return "", false }}))(t)
		target, err := Open(t.Context(), Options{Config: cfg, Say: func(format string, args ...any) { said += fmt.Sprintf(format+"\n", args...) }})
		if err == nil {
			target.Close()
		}
		return said, err
	}
	if said, err := open("1:100%"); err != nil || !strings.Contains(said, "failed at sim-1 (HTTP 500)") {
		t.Errorf("%v; said %q", err, said)
	}
	if _, err := open("0:100%", "1:100%"); err == nil || !strings.Contains(err.Error(), "4 of 4 requests, at sim-0, sim-1") {
		t.Errorf("two of two fail: %v", err)
	}
}
