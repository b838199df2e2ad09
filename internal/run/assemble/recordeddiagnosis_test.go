package assemble

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/answer/diagnose"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// TestDiagnoseRecordedServers: what held real servers back is known from their
// processes and devices, and has to be the first thing said of them.
func TestDiagnoseRecordedServers(t *testing.T) {
	t.Parallel()
	const first, llama, mixture, dense, fp8 = "vllm-0.24.0-h200-llama-3.1-8b-first", "vllm-0.24.0-h200-llama-3.1-8b", "vllm-0.24.0-h200-qwen3-30b-a3b", "vllm-0.24.0-h200-qwen3-32b", "vllm-0.24.0-h200-qwen3-32b-fp8"
	levels := map[string]map[string]string{}
	for _, file := range []string{first, llama, mixture, dense, fp8} {
		levels[file] = map[string]string{}
		for _, path := range unpack(t, filepath.Join("../../twin/testdata/recorded", file+".tar.gz")) {
			levels[file][filepath.Base(path)] = path
		}
	}
	for _, c := range []struct {
		file, level string
		missed      string // an objective that the level breaks, "" for none set
		want        string // the first of the findings, "" for none at all
		never       string
	}{
		// Nothing is wrong with these.
		{llama, "chat-5", "", "", ""},
		{llama, "chat-10", "", "", ""},
		{first, "chat-20", "", "", ""},
		// The API process is at its limit; the cache was full once, at the end.
		{first, "chat-40", "", "front-end-bound", "kv-pressure"},
		{first, "chat-40", "ttft:p99<200ms", "front-end-bound", "kv-pressure"},
		{first, "chat-30", "ttft:p99<200ms", "front-end-bound", ""},
		{llama, "chat-40", "", "front-end-bound", "decode-memory-bound"},
		{llama, "chat-30", "ttft:p99<200ms", "front-end-bound", ""},
		// The device waits for kernels that the host launches one by one.
		{mixture, "chat-16", "", "host-bound", ""},
		{mixture, "chat-24", "", "host-bound", "decode-memory-bound"},
		{mixture, "chat-32", "", "host-bound", "inefficient-decode"},
		{mixture, "chat-32", "tpot:p50<30ms", "host-bound", "inefficient-decode"},
		// Prompts and tokens share a device that is full; at 12/s its cache is too.
		{dense, "chat-1", "", "", ""},
		{dense, "chat-2", "tpot:p50<20ms", "decode-memory-bound", "front-end-bound"},
		{dense, "chat-4", "tpot:p50<20ms", "batching-trade-off", "front-end-bound"},
		{dense, "chat-6", "ttft:p99<200ms", "long-prefill", "front-end-bound"},
		{dense, "chat-9", "ttft:p99<200ms", "device-full", "front-end-bound"},
		{dense, "chat-12", "ttft:p99<200ms", "kv-pressure", "front-end-bound"},
		{fp8, "chat-1", "", "", ""},
		{fp8, "chat-3", "tpot:p50<10ms", "decode-memory-bound", "inefficient-decode"},
		{fp8, "chat-6", "tpot:p50<20ms", "batching-trade-off", "inefficient-decode"},
		{fp8, "chat-10", "tpot:p50<20ms", "batching-trade-off", "inefficient-decode"},
		{fp8, "chat-14", "ttft:p99<200ms", "device-full", "front-end-bound"},
	} {
		point := predictAgain(t, levels[c.file][c.level])
		point.Objectives = nil
		if c.missed != "" {
			point.Objectives = []slo.Verdict{{Objective: c.missed, Standing: slo.Missed}}
		}
		res := &result.Result{Verdict: result.Verdict{Valid: result.Valid}, Points: []result.Point{*point}, Engine: result.Engine{Name: "vllm", URL: "http://gpu:8000"}}
		var names []string
		for _, f := range diagnose.Find(res) {
			names = append(names, f.Regime)
		}
		all := strings.Join(names, " ")
		if got, _, _ := strings.Cut(all, " "); got != c.want || c.never != "" && strings.Contains(all, c.never) {
			t.Errorf("%s %s, missed %q: %s, want %s first and never %s", c.file, c.level, c.missed, all, c.want, c.never)
		}
	}
}
