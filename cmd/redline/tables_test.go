package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/internal/clock"
	"redline/internal/must"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// Each row of the matrix has its shape beside its figures, the template's rate, and
// what the hardware was predicted to allow, in a notebook too.
func TestRowsOfAMatrix(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "matrix")
	virtually(t, func(w *world) {
		if code, _, stderr := w.redline("matrix", "--scale", "0.1", "--workload", "chat", "--rate", "4", "--out", dir, "--quiet"); code != exitOK {
			t.Errorf("exit %d: %s", code, stderr)
		}
	})
	_, shown, stderr := redline(t, nil, "report", dir, "--explain")
	words := strings.Join(strings.Fields(shown), " ")
	for _, want := range []string{"input output concurrency req/s prefix ttft p50 tpot p50 out tok/s as expected",
		"A 256 128 1 ≤ 1 cold ", "B 2,048 128 1 ≤ 1 cold ", "C 256 1,024 1 ≤ 1 cold ", "D 2,048 1,024 8 – cold ", "E 4,096 256 16 – 92% ", " – 4 cold "} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s%s", want, shown, stderr)
		}
	}
	res := readResultOf(t, dir)
	if got := strings.Count(words, "ms predicted, "); got != 2*len(res.Stages) {
		t.Errorf("%d predictions of %d rows, want decode and prefill of each", got, len(res.Stages))
	}
	for _, s := range res.Stages[:3] {
		p := res.Points[*s.Point]
		if p.Rates.Offered > 1.2 || p.Load.PaceS != 1 {
			t.Errorf("%s: %v requests/s, pace %v", s.Name, p.Rates.Offered, p.Load.PaceS)
		}
	}
	notes := filepath.Join(t.TempDir(), "notes")
	if code, _, stderr := redline(t, nil, "export", "--layout", "notes", dir, "-o", notes); code != exitOK {
		t.Fatal(stderr)
	}
	text := must.Read(t, filepath.Join(notes, "interpretation.md"))
	if got := strings.Count(strings.ReplaceAll(string(text), "\u00a0", " "), "ms predicted, "); got != 2*len(res.Stages) {
		t.Errorf("interpretation.md has %d predictions of %d rows:\n%s", got, len(res.Stages), text)
	}
}

// A load that changes by plan has figures for each of its steps.
func TestFiguresByStep(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string][]string{
		"steps(5:10s,20:10s,40:10s)": {"5/s, 0s–10s", "20/s, 10s–20s", "40/s, 20s–30s"},
		"diurnal(8..40,30s)": {"8–12.7/s, 0s–3.75s", "12.7–24/s, 3.75s–7.5s", "24–35.3/s, 7.5s–11.25s", "35.3–40/s, 11.25s–15s",
			"40–35.3/s, 15s–18.75s", "35.3–24/s, 18.75s–22.5s", "24–12.7/s, 22.5s–26.25s", "12.7–8/s, 26.25s–30s"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		var shown string
		virtually(t, func(w *world) {
			_, shown, _ = w.redline("run", "--profile", profile, "--workload", "fixed(64,16)", "--arrival", "constant", "--warmup", "0s", "--duration", "30s", "--out", dir)
		})
		p := readResultOf(t, dir).Points[0]
		var names []string
		due, tokens := 0, 0.0
		for _, s := range p.Steps {
			names, due = append(names, s.Name), due+s.Requests.Due
			tokens += s.OutputPS * 30 / float64(len(p.Steps)) // they are equally long
		}
		if !slices.Equal(names, want) || due != p.Requests.Due {
			t.Errorf("%s: steps %q with %d of %d requests, want %q", profile, names, due, p.Requests.Due, want)
		}
		if all := p.Throughput.Output * 30; tokens < 0.999*all || tokens > 1.001*all {
			t.Errorf("%s: %v tokens in its steps, %v in all", profile, tokens, all)
		}
		if !strings.Contains(shown, "by step, ms") || !strings.Contains(shown, want[1]) {
			t.Errorf("%s: no steps in\n%s", profile, shown)
		}
	}
	steady := filepath.Join(t.TempDir(), "steady")
	virtually(t, func(w *world) {
		w.redline("run", "--rate", "10", "--workload", "fixed(64,16)", "--duration", "5s", "--out", steady, "--quiet")
	})
	if steps := readResultOf(t, steady).Points[0].Steps; steps != nil {
		t.Errorf("a steady rate has steps: %+v", steps)
	}
}

// Tenants who ask different models share the cost by model, and configurations of
// several runs name theirs.
func TestCostByModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.yaml")
	must.Write(t, plan, "workload:\n  prompt: 100\n  output: 20\n  tenants: [{name: a, model: base}, {name: b, model: adapter}, {name: c, model: adapter}]\n")
	run := filepath.Join(dir, "run")
	virtually(t, func(w *world) {
		if code, _, stderr := w.redline("run", "--plan", plan, "--url", w.models("base", "adapter"), "--model", "base", "--rate", "20", "--duration", "10s", "--price-per-hour", "36",
			"--out", run, "--quiet"); code != exitOK {
			t.Error(stderr)
		}
	})
	p := readResultOf(t, run).Points[0]
	spend := map[string]float64{}
	for _, g := range p.GroupCosts {
		spend[g.By+" "+g.Name] = g.Spend
	}
	near := func(a, b float64) bool { return a > 0 && a/b > 0.999 && a/b < 1.001 }
	if !near(spend["model base"], spend["tenant a"]) || !near(spend["model adapter"], spend["tenant b"]+spend["tenant c"]) {
		t.Errorf("cost by model is not that of the tenants: %v", spend)
	}
	_, shown, _ := redline(t, nil, "report", run)
	if words := strings.Join(strings.Fields(shown), " "); !strings.Contains(words, "model adapter ") || !strings.Contains(words, "model base ") {
		t.Errorf("no cost by model in\n%s", shown)
	}
}

// models serves a simulated engine for each of several models, as one server, and
// gives its URL.
func (w *world) models(names ...string) (url string) {
	w.Helper()
	servers := map[string]http.Handler{}
	for _, name := range names {
		spec := must.Get(sim.Spec{ServedModelName: name}.Resolve())(w)
		core := must.Get(sim.NewBatching(spec))(w)
		server := must.Get(simserver.NewServer(simserver.Options{Spec: spec, Core: core, Clock: clock.Virtual()}))(w)
		w.Cleanup(func() { server.Close() })
		servers[name] = server
	}
	return w.serve(func(rw http.ResponseWriter, r *http.Request) {
		var asked struct{ Model string }
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &asked) != nil || servers[asked.Model] == nil {
			asked.Model = names[0]
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		servers[asked.Model].ServeHTTP(rw, r)
	})
}

// Levels that another tool measured one by one are one curve.
func TestImportedLevelsAreACurve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var runs []string
	for _, rate := range []int{20, 5, 10} {
		runs = append(runs, importedLevel(t, dir, rate, "llama"))
	}
	code, shown, stderr := redline(t, nil, append([]string{"report"}, runs...)...)
	words := strings.Join(strings.Fields(shown), " ")
	// ttft is 10 ms for each request/s, tpot 10 ms.
	for _, want := range []string{"CURVE: 3 levels from 5 requests/s to 20 requests/s", "○ 5 5.00 50.0 50.0 10.0 10.0 ", "○ 10 10.0 100 100 10.0 10.0 ", "○ 20 20.0 200 200 10.0 10.0 ", "from when each was sent", "ttft, ms"} {
		if code != exitOK || !strings.Contains(words, want) {
			t.Errorf("exit %d, no %q in\n%s%s", code, want, shown, stderr)
		}
	}
	other := importedLevel(t, dir, 40, "mistral")
	if code, _, stderr := redline(t, nil, "report", runs[0], other); code != exitUsage || !strings.Contains(stderr, "llama and mistral") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// importedLevel imports a result of vLLM's benchmark at a rate.
func importedLevel(t *testing.T, dir string, rate int, model string) string {
	t.Helper()
	const n = 40
	many := func(v any) []any { return slices.Repeat([]any{v}, n) }
	var starts []float64
	for i := range n {
		starts = append(starts, 100+float64(i)/float64(rate))
	}
	content := must.Get(json.Marshal(map[string]any{"date": "20261101-100000", "backend": "vllm", "endpoint_type": "vllm", "model_id": model, "tokenizer_id": model, "num_prompts": n,
		"request_rate": rate, "burstiness": 1.0, "max_concurrency": nil, "duration": float64(n) / float64(rate), "completed": n, "failed": 0, "total_input_tokens": 256 * n,
		"total_output_tokens": 32 * n, "request_throughput": rate, "output_throughput": 32 * rate, "input_lens": many(256), "output_lens": many(32),
		"ttfts": many(0.01 * float64(rate)), "itls": many(slices.Repeat([]float64{0.01}, 31)), "start_times": starts, "generated_texts": many("x"), "errors": many("")}))(t)
	file := filepath.Join(dir, fmt.Sprintf("vllm-%d.json", rate))
	must.Write(t, file, content)
	run := filepath.Join(dir, fmt.Sprintf("level-%d", rate))
	if code, _, stderr := redline(t, nil, "import", file, "--out", run); code != exitOK {
		t.Fatal(stderr)
	}
	return run
}
