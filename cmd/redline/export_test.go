package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
)

// runExport runs the command alone.
func runExport(t *testing.T, args ...string) (code int, stdout, line string) {
	t.Helper()
	var out buffer
	c := (&process{stdout: &out}).exportCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	code, line = exitCode(c.Execute())
	return code, out.String(), line
}

func TestExportNotes(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "results", "llama31-8b")
	code, stdout, line := runExport(t, "--layout", "notes", keptRun(t), "-o", out)
	if code != exitOK || !strings.Contains(stdout, "4 files in ") {
		t.Fatalf("exit %d, %q, %q", code, stdout, line)
	}
	entries := must.Get(os.ReadDir(out))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	expect.Same(t, []string{"hardware.md", "interpretation.md", "row-a-5-requests-s.json", "server-flags.md"}, names)
	row, err := os.ReadFile(filepath.Join(out, "row-a-5-requests-s.json"))
	if err != nil || !strings.Contains(string(row), `"made_by": "redline run --rate 5"`) {
		t.Errorf("%v: the row does not say which command made it:\n%s", err, row)
	}
	if code, _, line := runExport(t, keptRun(t), "-o", out); code != exitError || !strings.Contains(line, "--force") {
		t.Errorf("again: exit %d, %q; want a refusal that names --force", code, line)
	}
	if code, _, line := runExport(t, keptRun(t), "-o", out, "--force"); code != exitOK {
		t.Errorf("forced: exit %d, %q", code, line)
	}
}

// A row's file alone repeats the row: its own shape, load and seed.
func TestARowIsAPlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole, notes := filepath.Join(dir, "matrix"), filepath.Join(dir, "notes")
	plan := filepath.Join(dir, "plan.yaml")
	text := "experiment:\n  rows:\n  - {name: A, about: short chat, workload: 'fixed(64,8)', concurrency: 1, requests: 4}\n" +
		"  - {name: D, about: saturation, workload: 'fixed(128,16)', concurrency: 3, requests: 9, expectation: ['throughput >= 1x A']}\n"
	must.Write(t, plan, text)
	if code, _, stderr := redline(t, nil, "matrix", "--plan", plan, "--seed", "3", "--warmup", "0s", "--quiet", "--out", whole); code == exitError || code == exitUsage {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := redline(t, nil, "export", whole, "-o", notes); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	row := filepath.Join(notes, "row-d-saturation.json")
	code, stdout, stderr := redline(t, nil, "run", "--plan", row, "--json", "--quiet", "--out", filepath.Join(dir, "again"))
	var res result.Result
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatalf("exit %d: %s: %v", code, stderr, err)
	}
	if p := res.Points[0]; res.Workload.Name != "fixed(128,16)" || p.Requests.Due != 9 || *p.Load.Concurrency != 3 || res.Seed != 3 {
		t.Errorf("%s with %d requests, %d in flight, seed %d; want the row's", res.Workload.Name, p.Requests.Due, *p.Load.Concurrency, res.Seed)
	}
}
