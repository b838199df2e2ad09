//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// halfHanging answers every second request of the load and never the others. It
// gives how many it has taken in.
func halfHanging(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		// What is asked before the load has numbers that count down.
		preflight := strings.Contains(r.Header.Get("X-Request-Id"), "-9999999")
		if !preflight && asked.Add(1)%2 == 0 {
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 4 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word%d \"}}]}\n\n", i)
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return server.URL, asked
}

// TestAKilledRunCountsWhatHung: what was begun and never answered is in the
// report of a killed run, breaks the objective, and the report says that the
// run was cut off.
func TestAKilledRunCountsWhatHung(t *testing.T) {
	t.Parallel()
	url, asked := halfHanging(t)
	out := filepath.Join(t.TempDir(), "run")
	const rate = 15
	cmd := startProcess(t, out, "records.jsonl", "run", "--url", url, "--api", "openai-chat", "--model", "m", "--rate", fmt.Sprint(rate), "--duration", "10m",
		"--warmup", "0s", "--workload", "fixed(16,4)", "--slo", "ttft:p95<500ms", "--quiet")
	await(t, "a while under load", func() bool { return asked.Load() > 6*rate })
	_, page, _ := runProcess(t, "report", out)
	if headline, _, _ := strings.Cut(page, "\n"); !strings.HasPrefix(headline, "STILL RUNNING") || strings.Contains(page, "cut off") || strings.Contains(page, "killed") {
		t.Errorf("of a run that goes on:\n%s", page)
	}
	cmd.Process.Kill()
	cmd.Wait()
	sent := int(asked.Load())
	code, stdout, stderr := runProcess(t, "report", "--json", out)
	var res result.Result
	if err := json.Unmarshal([]byte(stdout), &res); code != exitOK || err != nil {
		t.Fatalf("exit %d, %v\n%s", code, err, stderr)
	}
	n := res.Points[0].Requests
	if sum := n.OK + n.Rejected + n.Failed + n.Cancelled + n.Censored + n.Unsent; sum != n.Due {
		t.Errorf("%d due, but %d have an outcome", n.Due, sum)
	}
	// The arrivals of a second and a half may be lost, and Poisson's are
	// uneven.
	if n.Due > sent || n.Due < sent-3*rate {
		t.Errorf("%d due, but the server was asked %d times", n.Due, sent)
	}
	if hung := sent / 2; n.Censored > hung+2 || n.Censored < hung-2*rate {
		t.Errorf("%d unfinished, but %d hung", n.Censored, hung)
	}
	if v := res.Points[0].Objectives; len(v) != 1 || v[0].Standing != slo.Missed {
		t.Errorf("the objective: %+v", v)
	}
	if reasons := strings.Join(res.Verdict.Reasons, "; "); !strings.Contains(reasons, "the run was cut off (killed)") {
		t.Errorf("the verdict's reasons: %q", reasons)
	}
	_, page, _ = runProcess(t, "report", out)
	if headline, _, _ := strings.Cut(page, "\n"); !strings.Contains(headline, "KILLED") || !strings.Contains(headline, "cut off") {
		t.Errorf("the headline is %q", headline)
	}
	if !strings.Contains(page, "unfinished") {
		t.Errorf("the report does not count what is unfinished:\n%s", page)
	}
}

// TestRecordsThatComeTwiceAreSaid: a log whose lines are doubled gives the same
// counts, and a warning.
func TestRecordsThatComeTwiceAreSaid(t *testing.T) {
	t.Parallel()
	cmd, out, _, _ := startLongLoad(t, "--quiet")
	cmd.Process.Kill()
	cmd.Wait()
	reported := func() (result.Result, string) {
		_, stdout, stderr := redline(t, nil, "report", "--json", out)
		var res result.Result
		if err := json.Unmarshal([]byte(stdout), &res); err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		var warnings []string
		for _, w := range res.Warnings {
			warnings = append(warnings, w.Text)
		}
		return res, strings.Join(warnings, "\n")
	}
	once, warned := reported()
	if strings.Contains(warned, "twice") {
		t.Fatalf("warned of %q", warned)
	}
	path := filepath.Join(out, "records.jsonl")
	log := must.Read(t, path)
	whole := log[:strings.LastIndexByte(string(log), '\n')+1]
	_, lines, _ := strings.Cut(string(whole), "\n")
	must.Write(t, path, string(whole)+lines)
	twice, warned := reported()
	if a, b := once.Points[0].Requests, twice.Points[0].Requests; a.Due != b.Due || a.OK != b.OK {
		t.Errorf("%d due and %d ok of a doubled log, want %d and %d", b.Due, b.OK, a.Due, a.OK)
	}
	if !strings.Contains(warned, "records that are in the log twice count once") {
		t.Errorf("warned only of %q", warned)
	}
}
