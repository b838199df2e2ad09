package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/judge/result"
)

// A server that answers every request twice is measured by the first answers,
// and said to do so.
func TestAServerThatAnswersTwiceIsSaid(t *testing.T) {
	t.Parallel()
	const event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n"
	body := strings.Repeat(event, 3) + "data: [DONE]\n\n"
	reply := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, reply+reply)
		_, _ = conn.Read(make([]byte, 1)) // until the client has had enough
	}))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "run")
	_, stdout, stderr := redline(t, nil, "run", "--url", server.URL, "--api", "openai-chat", "--model", "m", "--concurrency", "1",
		"--requests", "6", "--warmup", "0s", "--workload", "fixed(16,3)", "--out", out, "--json", "--quiet")
	var res result.Result
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var warnings strings.Builder
	for _, w := range res.Warnings {
		warnings.WriteString(w.Text + "\n")
	}
	if res.Client.Unasked < 6 || !strings.Contains(warnings.String(), "replies that no request had asked for") {
		t.Errorf("%d unasked; warnings:\n%s", res.Client.Unasked, &warnings)
	}
	if n := res.Points[0].Requests; n.OK != 6 {
		t.Errorf("%d of %d ok", n.OK, n.Due)
	}
	_, page, stderr := redline(t, nil, "report", out)
	want := fmt.Sprintf("replies that no request had asked for came %d times; other answers on those connections may be of another request", res.Client.Unasked)
	if said := strings.Join(strings.Fields(page), " "); strings.Count(said, want) != 1 {
		t.Errorf("the report does not say once %q:\n%s%s", want, page, stderr)
	}
}
