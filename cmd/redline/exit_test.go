package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/config"
)

func TestEndingKeepsThePrecedence(t *testing.T) {
	t.Parallel()
	some := []result.Point{{Summary: metric.Summary{Requests: metric.Requests{Due: 2, OK: 1}}}}
	none := []result.Point{{Summary: metric.Summary{Requests: metric.Requests{Due: 2}}}}
	refused := []result.Point{{Summary: metric.Summary{Requests: metric.Requests{Due: 2, Rejected: 2}}}}
	broken := errors.New("the disk is full")
	for _, tt := range []struct {
		name        string
		interrupted string
		points      []result.Point
		valid       result.Validity
		slo         slo.Standing
		err         error
		code        int
		line        string
	}{
		{"all well", "", some, "yes", "met", nil, exitOK, ""},
		{"no objectives", "", some, "yes", "none", nil, exitOK, ""},
		{"missed", "", some, "yes", "missed", nil, exitMissed, ""},
		{"undecided", "", some, "yes", "undecided", nil, exitUndecided, ""},
		{"invalid before missed", "", some, "no", "missed", nil, exitInvalid, ""},
		{"nothing ok before invalid", "", none, "no", "missed", nil, exitError, "no request succeeded"},
		{"everything rejected, with objectives", "", refused, "yes", "missed", nil, exitMissed, ""},
		{"everything rejected, and invalid", "", refused, "no", "missed", nil, exitInvalid, ""},
		{"unkept before invalid", "", some, "no", "missed", broken, exitError, "the disk is full"},
		{"interrupted before everything", result.ByUser, none, "no", "missed", nil, exitInterrupted, ""},
		{"interrupted before unkept", result.ByUser, some, "yes", "met", broken, exitInterrupted, "the disk is full"},
		{"a budget is no interrupt", "--max-spend reached", some, "yes", "met", nil, exitOK, ""},
		{"a budget that ends the warm-up", "--max-spend reached", nil, "interrupted", "none", nil, exitError, "why"},
		{"failures that end the warm-up", "51 of the last 100 requests failed", nil, "interrupted", "missed", nil, exitMissed, ""},
	} {
		r := &result.Result{Interrupted: tt.interrupted, Points: tt.points, Plan: map[string]any{"sla_thresholds": []any{"ttft:p99<1s"}},
			Verdict: result.Verdict{Valid: tt.valid, SLO: tt.slo, Reasons: []string{"why"}}}
		if code, line := exitCode(exitErrorFor(r, tt.err)); code != tt.code || line != tt.line {
			t.Errorf("%s: exit %d with %q, want %d with %q", tt.name, code, line, tt.code, tt.line)
		}
	}
}

// A tuning without a winner says so, whatever its baseline misses.
func TestATuningEndsAsItsHeadlineSays(t *testing.T) {
	t.Parallel()
	for standing, want := range map[slo.Standing]int{slo.Undecided: exitUndecided, slo.Unconfirmed: exitUndecided, slo.Confirmed: exitMissed, slo.Unchanged: exitMissed} {
		r := &result.Result{Points: []result.Point{{Summary: metric.Summary{Requests: metric.Requests{Due: 2, OK: 1}}}},
			Verdict: result.Verdict{Valid: result.Valid, SLO: slo.Missed}, Tuning: &result.Tuning{Standing: standing}}
		if code := resultCode(r); code != want {
			t.Errorf("%s: exit %d, want %d", standing, code, want)
		}
	}
}

// A server that answers every request of the load with 429 has missed what was
// asked of it; where nothing was, there is nothing but the failure.
func TestEverythingRejected(t *testing.T) {
	t.Parallel()
	virtually(t, everythingRejected)
}

func everythingRejected(t *world) {
	url := t.serve(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("X-Request-Id"), "-9999999") { // not before the load
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\ndata: [DONE]\n\n")
	})
	for _, tt := range []struct {
		slo  []string
		code int
		want string
	}{
		{[]string{"--slo", "ttft:p99<500ms"}, exitMissed, "MISSED  ttft p99"},
		{nil, exitError, "NOTHING SERVED"},
	} {
		args := append([]string{"run", "--url", url, "--api", "openai-chat", "--model", "m", "--rate", "40", "--requests", "40",
			"--warmup", "0s", "--workload", "fixed(16,4)", "--quiet", "--out", filepath.Join(t.TempDir(), "run")}, tt.slo...)
		code, stdout, stderr := t.redline(args...)
		if code != tt.code || !strings.HasPrefix(stdout, tt.want) || !strings.Contains(stdout, "40 rejected") {
			t.Errorf("%v: exit %d, want %d and %q\n%s%s", tt.slo, code, tt.code, tt.want, stdout, stderr)
		}
	}
}

// Variants of which none came as far as a sustained run have no point in the
// whole, and an answer all the same.
func TestVariantsWithoutPoints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		protocol *result.Protocol
		valid    result.Validity
		slo      slo.Standing
		code     int
	}{
		{"no load keeps the objectives", &result.Protocol{Variants: []result.Variant{{Name: "tp2"}}}, "yes", "missed", exitMissed},
		{"nothing is decided", &result.Protocol{Variants: []result.Variant{{Name: "tp2"}}}, "yes", "undecided", exitUndecided},
		{"not sound", &result.Protocol{Variants: []result.Variant{{Name: "tp2"}}}, "no", "missed", exitInvalid},
		{"nothing was measured", &result.Protocol{}, "interrupted", "none", exitError},
		{"no protocol", nil, "interrupted", "none", exitError},
	} {
		r := &result.Result{Protocol: tt.protocol, Verdict: result.Verdict{Valid: tt.valid, SLO: tt.slo}}
		if code, _ := exitCode(exitErrorFor(r, nil)); code != tt.code {
			t.Errorf("%s: exit %d, want %d", tt.name, code, tt.code)
		}
	}
}

// A user who stops a run that has not begun is told so in one line, at once,
// and finds nothing left behind, whatever redline was waiting for.
func TestInterruptBeforeTheLoad(t *testing.T) {
	t.Parallel()
	for _, waiting := range []string{"/v1/models", "/v1/chat/completions", "/version"} {
		asked, release := make(chan struct{}, 16), make(chan struct{})
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == waiting:
				asked <- struct{}{}
				select {
				case <-r.Context().Done():
				case <-release:
				}
			case r.URL.Path == "/v1/models":
				io.WriteString(w, `{"data":[{"id":"m"}]}`)
			default:
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\ndata: [DONE]\n\n")
			}
		})
		out := filepath.Join(t.TempDir(), "new", "run")
		var stdout, stderr buffer
		stop := make(chan struct{})
		p := &process{args: []string{"run", "--url", url, "--out", out}, stdout: &stdout, stderr: &stderr,
			stop: stop, lookupEnv: func(string) (string, bool) { return "", false }}
		go func() {
			<-asked
			close(stop)
		}()
		code := p.run(t.Context())
		close(release)
		if code != exitInterrupted || stdout.String() != "" {
			t.Errorf("waiting for %s: exit %d, stdout %q", waiting, code, stdout.String())
		}
		if want := "redline: interrupted before anything was measured\n"; stderr.String() != want {
			t.Errorf("waiting for %s: stderr %q, want %q", waiting, stderr.String(), want)
		}
		if exists(filepath.Dir(filepath.Dir(out)), "new") {
			t.Errorf("waiting for %s: a directory is left behind", waiting)
		}
	}
}

func TestInterruptibleTellsFirstFromSecond(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal)
	ctx, stop, cancel := interruptible(signals)
	defer cancel()
	signals <- os.Interrupt
	<-stop
	if ctx.Err() != nil {
		t.Error("one interrupt ends the context")
	}
	signals <- os.Interrupt
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("context: %v", ctx.Err())
	}
}

func TestCommandLineCanBePasted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ arg, want string }{
		{"--rate", "--rate"},
		{"http://localhost:8000/v1", "http://localhost:8000/v1"},
		{"fixed(64,100)", "'fixed(64,100)'"},
		{"it's", `'it'\''s'`},
		{"a;b", "'a;b'"},
		{"a\\b", `'a\b'`},
		{"#1", "'#1'"},
		{"", "''"},
	} {
		p := &process{args: []string{tt.arg}}
		if got, want := p.commandLine(&config.Config{}), "redline "+tt.want; got != want {
			t.Errorf("%q: %s, want %s", tt.arg, got, want)
		}
	}
}

// A report renders: its exit code is no verdict.
func TestReportOfAMissedObjectiveIsNoFailure(t *testing.T) {
	t.Parallel()
	dir := keptRun(t, func(r *result.Result) {
		r.Verdict.SLO = slo.Missed
		v := &r.Points[0].Objectives[0]
		v.Objective, v.Limit, v.Standing, v.Violations = "ttft:p99<50ms", 50, slo.Missed, 36
	})
	if code, stdout, stderr := redline(t, nil, "report", dir); code != exitOK || !strings.HasPrefix(stdout, "MISSED") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

func TestTruthOfAnotherEngineIsSafe(t *testing.T) {
	t.Parallel()
	taken := strings.TrimPrefix(metronome(t, time.Millisecond), "http://")
	truth := filepath.Join(t.TempDir(), "truth.jsonl")
	const content = `{"id":"kept"}` + "\n"
	must.Write(t, truth, content)
	if code, _, stderr := redline(t, nil, "sim", "--listen", taken, "--truth", truth); code != exitError {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if got, err := os.ReadFile(truth); err != nil || string(got) != content {
		t.Errorf("the truth that was there is now %q (%v)", got, err)
	}
}

// TestComparisonsEndBySeverity: 5 before 4 before 3 before 6.
func TestComparisonsEndBySeverity(t *testing.T) {
	t.Parallel()
	ok := []result.Point{{Summary: metric.Summary{Requests: metric.Requests{OK: 1}}}}
	worse := &result.Comparison{Standing: slo.Worse, Metrics: []result.Change{{Standing: slo.Worse}}}
	open := &result.Comparison{Standing: slo.Undecided}
	for _, tc := range []struct {
		valid      result.Validity
		slo        slo.Standing
		comparison *result.Comparison
		want       int
	}{
		{"no", "missed", worse, exitInvalid},
		{"yes", "missed", worse, exitRegression},
		{"yes", "missed", open, exitMissed},
		{"yes", "met", open, exitUndecided},
		{"yes", "met", &result.Comparison{Standing: slo.Same}, exitOK},
	} {
		r := &result.Result{Points: ok, Verdict: result.Verdict{Valid: tc.valid, SLO: tc.slo}, Comparison: tc.comparison}
		if got := resultCode(r); got != tc.want {
			t.Errorf("valid %s, objectives %s, %s: exit %d, want %d", tc.valid, tc.slo, tc.comparison.Standing, got, tc.want)
		}
	}
}
