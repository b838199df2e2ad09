package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"redline/internal/must"
)

// TestDryRunSendsNothing: every command that sends says what it would send, and no
// server hears of it.
func TestDryRunSendsNothing(t *testing.T) {
	t.Parallel()
	var heard atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	t.Cleanup(server.Close)
	plan := must.File(t, "plan.yaml", "provider:\n  api_key: secret-of-the-plan\n  extra_body: {password: secret-of-the-body}\ncost:\n  per_1m_prompt_tokens: 1\n  per_1m_output_tokens: 2\n")
	at := []string{"--dry-run", "--plan", plan, "--workload", "fixed(100,50)"}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		// 100 requests of 100 and 50 tokens, at 1 and 2 a million.
		{"run", []string{"run", "--url", server.URL, "--rate", "10", "--duration", "10s", "--warmup", "0s"},
			[]string{"requests  about 100,", "tokens    about 10k of prompts and 5k of replies", "cost      about $0.0", `"max_tokens":50`}},
		{"few requests", []string{"run", "--url", server.URL, "--requests", "3"}, []string{"requests  about 3,", "tokens    about 300 of prompts and 150 of replies"}},
		// 200 and 50 of the warm-up at 2/s; the key is of no use.
		{"a warm-up", []string{"run", "--url", server.URL, "--rate", "2", "--requests", "200", "--api-key-env", "REDLINE_NO_SUCH_KEY"}, []string{"time      about 2 min", "requests  about 250,"}},
		{"until decided", []string{"run", "--url", server.URL, "--rate", "2", "--slo", "ttft:p99<1s"}, []string{"until every objective is decided, 5 min at most", "at most about 600,"}},
		{"levels", []string{"sweep", "--url", server.URL, "--rates", "1,3", "--duration", "10s", "--warmup", "0s"}, []string{"2 levels", "requests  about 40,"}},
		{"a search", []string{"sweep", "--url", server.URL, "--find-limit", "--slo", "ttft:p99<1s"}, []string{"a budget of 10 min", "as many as the server answers"}},
		{"a comparison", []string{"compare", server.URL, server.URL, "--rate", "2"}, []string{"20 turns", "requests  about"}},
		{"a protocol", []string{"bench", "--url", server.URL}, []string{"stages"}},
		{"a matrix", []string{"matrix", "--url", server.URL}, []string{"by the clock", "as many as its rows send"}},
		{"an optimization", []string{"matrix", "--toggle", "prefix_caching", "--rate", "2", "--duration", "10s", "--warmup", "0s", "--rounds", "1"}, []string{"2 runs", "requests  about 40,"}},
		{"an optimization in a closed loop", []string{"matrix", "--toggle", "prefix_caching", "--concurrency", "2"}, []string{"as many as the server answers"}},
	} {
		code, stdout, stderr := redline(t, nil, append(c.args, at...)...)
		if code != 0 || !strings.HasPrefix(stdout, "DRY RUN: nothing was sent\n") {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, stdout, stderr)
		}
		for _, want := range append(c.want, "\nrequest 1, ") {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, stdout)
			}
		}
		if strings.Contains(stdout+stderr, "secret-of") {
			t.Errorf("%s shows a secret:\n%s", c.name, stdout)
		}
	}
	// The run itself would end before its window: fifty requests of 200 millionths.
	code, stdout, stderr := redline(t, nil, append([]string{"run", "--url", server.URL, "--rate", "2", "--requests", "200", "--max-spend", "0.005"}, at...)...)
	if want := "--max-spend 0.005 is used up by the warm-up of about 50 requests (0.01 USD)"; code != 2 || !strings.Contains(stderr, want) {
		t.Errorf("a limit that the warm-up uses up: exit %d, %q is not in\n%s%s", code, want, stdout, stderr)
	}
	if n := heard.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
