package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// Rows of a prompt file whose priority the server refuses are found before the load,
// whichever row is the first of them; a server that goes by priorities takes them.
func TestPrioritiesOfRowsAreTried(t *testing.T) {
	t.Parallel()
	rows := must.File(t, "rows.jsonl", `{"prompt": "a", "priority": 0, "output_tokens": 3}`+"\n"+`{"prompt": "b", "priority": 3, "output_tokens": 3}`+"\n")
	virtually(t, func(w *world) {
		for policy, want := range map[string]int{sim.FCFS: exitError, sim.Priority: exitOK} {
			dir := filepath.Join(w.TempDir(), "run")
			code, _, stderr := w.redline("run", "--url", w.engine(sim.Spec{SchedulingPolicy: policy}, 0), "--workload", rows, "--requests", "20", "--rate", "10", "--plain", "--quiet", "--out", dir)
			refused := strings.Contains(stderr, "rows.jsonl:2: the server refuses requests with priority (HTTP 400): Got priority 3 but priority scheduling is not enabled.")
			if code != want || refused != (want != exitOK) {
				w.Errorf("%s: exit %d, want %d: %s", policy, code, want, stderr)
			}
		}
	})
}

// What one class, tenant or adapter has and the server refuses is found before the
// load, whatever it stands behind, and named.
func TestEveryKindIsTried(t *testing.T) {
	t.Parallel()
	classes := func(second, tenants string) string {
		return "workload:\n  classes:\n    - {name: a, workload: {prompt: 20, output: 3}}\n    - {name: b, workload: {prompt: 20, output: 3}" + second + "}\n" + tenants
	}
	virtually(t, func(w *world) {
		url := w.engine(sim.Spec{LoraModules: []string{"lora-1", "lora-2"}}, 0)
		for plan, want := range map[string]string{
			"workload: {prompt: 20, output: 3, adapters: {names: [lora-*], count: 3}}\n":         "workload: adapter lora-3: the server refuses requests with adapter (HTTP 404): The model `lora-3` does not exist.",
			classes(", body: {priority: 7}", ""):                                                 "workload: class b: the server refuses requests with body.priority (HTTP 400): Got priority 7",
			classes("", "  tenants: [{name: x}, {name: y, model: nope}]\n"):                      "workload: class a, tenant y: the server refuses requests with model (HTTP 404): The model `nope` does not exist.",
			classes(", adapter: lora-2", "  tenants: [{name: x, adapter: lora-1}, {name: y}]\n"): "",
		} {
			code, _, stderr := w.redline("run", "--plan", must.File(t, "plan.yaml", plan), "--url", url, "--requests", "20", "--rate", "10", "--plain", "--quiet", "--out", filepath.Join(w.TempDir(), "run"))
			if refused := code == exitError; refused != (want != "") || !strings.Contains(stderr, want) {
				w.Errorf("%s: exit %d, want %q: %s", plan, code, want, stderr)
			}
		}
	})
}

// Objectives on calls and schemas are met by a server whose replies keep them, and
// missed by one of which a part is broken.
func TestCallsAndSchemasAreJudged(t *testing.T) {
	t.Parallel()
	virtually(t, func(w *world) {
		for _, wrong := range []float64{0, 0.5} {
			url := w.engine(sim.Spec{StructuredError: wrong}, 0)
			for objective, flags := range map[string][]string{
				"calls_ok:fraction>0.9":  {"--tools", "3", "--tool-choice", "required"},
				"schema_ok:fraction>0.9": {"--schemas", "2"},
			} {
				want := exitOK
				if wrong > 0 {
					want = exitMissed
				}
				args := append([]string{"run", "--url", url, "--rate", "10", "--duration", "15s", "--workload", "in=50 out=300", "--slo", objective, "--quiet", "--out", filepath.Join(w.TempDir(), "run")}, flags...)
				if code, stdout, stderr := w.redline(args...); code != want {
					w.Errorf("%s with %v of the replies broken: exit %d, want %d: %s%s", objective, wrong, code, want, stdout, stderr)
				}
			}
		}
	})
}

var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-([0-9a-f]{16})-01$`)

// A deadline ends the requests of its class alone, and every request has a span of
// its own in a traceparent.
func TestDeadlinesAndTraces(t *testing.T) {
	t.Parallel()
	plan := must.File(t, "plan.yaml", "workload:\n  classes:\n    - {name: hasty, weight: 1, workload: {prompt: 20, output: 3}, deadline: 2s}\n    - {name: patient, weight: 1, workload: {prompt: 20, output: 3}}\n")
	dir := filepath.Join(t.TempDir(), "run")
	var spans sync.Map
	virtually(t, func(w *world) {
		url := w.serve(func(out http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				http.NotFound(out, r)
				return
			}
			parts := traceparent.FindStringSubmatch(r.Header.Get("Traceparent"))
			if parts == nil {
				w.Errorf("traceparent %q", r.Header.Get("Traceparent"))
			} else if _, twice := spans.LoadOrStore(parts[1], true); twice {
				w.Errorf("the span %s comes twice", parts[1])
			}
			if !strings.Contains(r.Header.Get("X-Request-Id"), "-9999999") { // not before the load
				select {
				case <-time.After(5 * time.Second):
				case <-r.Context().Done():
				}
			}
			out.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(out, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\ndata: [DONE]\n\n")
		})
		if code, _, stderr := w.redline("run", "--plan", plan, "--url", url, "--model", "m", "--traceparent", "--requests", "40", "--rate", "5", "--plain", "--quiet", "--out", dir); code == exitUsage || code == exitError {
			w.Fatalf("exit %d: %s", code, stderr)
		}
		time.Sleep(time.Minute)
	})
	for _, r := range measuredRecords(t, dir) {
		if want := map[string]llm.Outcome{"hasty": llm.Timeout, "patient": llm.OK}[r.Class]; r.Outcome != want {
			t.Errorf("a %s request ends as %s, want %s", r.Class, r.Outcome, want)
		}
	}
}
