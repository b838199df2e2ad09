package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
)

// quickBench is a protocol of a few seconds.
const quickBench = `
server: {sim: {gpu: B200, tp: 8, jitter: 0}}
workload: in=lognormal(60,0.5,20..100) out=fixed(4)
load_profile: {rate: 20, warmup: 0s, drain: 5s}
experiment:
  scale: 0.002
  budget: 1s
  ceiling: 20
  rows: [{name: short, workload: 'fixed(20,4)', concurrency: 1}]
`

func TestBenchCommand(t *testing.T) {
	t.Parallel()
	virtually(t, benchCommand)
}

func benchCommand(t *world) {
	dir := t.TempDir()
	plan, out := filepath.Join(dir, "plan.yaml"), filepath.Join(dir, "bench")
	must.Write(t, plan, quickBench)
	code, stdout, stderr := t.redline("bench", "--plan", plan, "--out", out, "--slo", "batch", "--accept", "limit>1", "--json")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if !strings.Contains(stderr, "by the clock") {
		t.Errorf("no estimate in %q", stderr)
	}
	var res result.Result
	must.Do(t, json.Unmarshal([]byte(stdout), &res))
	if res.Protocol == nil || len(res.Checklist) != 10 || res.Limit == nil {
		t.Errorf("protocol %v, %d items, limit %v: want all of them", res.Protocol, len(res.Checklist), res.Limit)
	}
	// Resuming what is finished runs nothing again.
	code, again, stderr := t.redline("bench", "--resume", out, "--json", "--quiet")
	var same result.Result
	if err := json.Unmarshal([]byte(again), &same); err != nil {
		t.Fatalf("exit %d: %v, %s", code, err, stderr)
	}
	if len(same.Stages) != len(res.Stages) || same.ID != res.ID {
		t.Errorf("resumed: %d stages of run %s, want %d of %s", len(same.Stages), same.ID, len(res.Stages), res.ID)
	}
	if code, _, stderr := t.redline("report", out); code != exitOK {
		t.Errorf("report: exit %d, %s", code, stderr)
	}
}
