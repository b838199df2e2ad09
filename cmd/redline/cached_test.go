package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/internal/effort"
	"redline/internal/judge/result"
)

// answersAfter serves replies that take as long as delay says of a prompt and of how
// many came before it.
func answersAfter(delay func(prompt string, number int) time.Duration) http.HandlerFunc {
	var mu sync.Mutex
	number := 0
	return func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil || !strings.HasSuffix(q.URL.Path, "/chat/completions") {
			http.NotFound(w, q)
			return
		}
		var asked struct{ Messages json.RawMessage }
		if err := json.Unmarshal(body, &asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		wait := delay(string(asked.Messages), number)
		number++
		mu.Unlock()
		time.Sleep(wait)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}],"+
			"\"usage\":{\"prompt_tokens\":16,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n")
	}
}

// isAccused reports whether the check of response caches fails on such a server.
func isAccused(t *testing.T, delay func(prompt string, number int) time.Duration) (is bool) {
	t.Helper()
	virtually(t, func(w *world) {
		code, stdout, stderr := w.redline("run", "--url", w.serve(answersAfter(delay)), "--model", "m", "--requests", "2", "--concurrency", "1", "--plain", "--workload", "fixed(16,1)", "--json", "--quiet", "--out", w.TempDir()+"/run")
		var res result.Result
		if err := json.Unmarshal([]byte(stdout), &res); err != nil {
			w.Fatalf("exit %d: %s: %v", code, stderr, err)
		}
		for _, c := range res.Verdict.Checks {
			if c.Name == "response cache" {
				is = !c.OK
				return
			}
		}
		w.Fatalf("no check of response caches: %+v", res.Verdict)
	})
	return is
}

// A server that is quick or slow by chance, or one of whose answers this machine
// held up, is not taken for one that answers from a cache; one that does is.
func TestOnlyResponseCachesAreAccused(t *testing.T) {
	t.Parallel()
	wrong, runs := 0, effort.Of(40, 2000)
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 4))
		if isAccused(t, func(string, int) time.Duration { return []time.Duration{150, 600}[r.IntN(2)] * time.Millisecond }) {
			wrong++
		}
	}
	if wrong > runs/500 {
		t.Errorf("%d of %d servers that answer in 0.15 or 0.6 s by chance are accused", wrong, runs)
	}
	for late := range 3 {
		if isAccused(t, func(_ string, number int) time.Duration {
			if number == late {
				return 900 * time.Millisecond
			}
			return 100 * time.Millisecond
		}) {
			t.Errorf("a server whose answer %d came late is accused", late)
		}
	}
	seen := map[string]bool{}
	if !isAccused(t, func(prompt string, _ int) time.Duration {
		if seen[prompt] {
			return time.Millisecond
		}
		seen[prompt] = true
		return 300 * time.Millisecond
	}) {
		t.Error("a server that answers from a cache is not")
	}
}
