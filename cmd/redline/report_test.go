package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/show/export"
)

// keptRun is the directory of a short run that ended in order, edited.
func keptRun(t *testing.T, edits ...func(*result.Result)) string {
	t.Helper()
	res := &result.Result{
		Schema: result.Schema, ID: "20260114-091203", Started: time.Date(2026, 1, 14, 9, 12, 3, 0, time.UTC), Seed: 7,
		Command: "redline run --rate 5", Model: result.Model{Name: "llama-3.1-8b"}, Verdict: result.Verdict{Valid: "yes", SLO: "met"},
		Points: []result.Point{{
			Load: result.Load{Mode: "open", Rate: new(5.0)},
			Summary: metric.Summary{
				Window: metric.Window{StartS: 1, EndS: 121}, Requests: metric.Requests{Due: 600, Sent: 600, OK: 600},
				Latency: metric.Latency{TTFTDue: &metric.Dist{N: 600, Mean: 32, Max: 70, P: map[string]float64{
					"p50": 30, "p75": 35, "p90": 44, "p95": 51, "p99": 61, "p999": 68}, Firm: []string{"p50", "p75", "p90", "p95", "p99"}}},
				Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Met, Value: new(61.0), Unit: "ms", Limit: 500, N: 600}},
			},
		}},
	}
	for _, edit := range edits {
		edit(res)
	}
	document := must.Get(json.Marshal(res))(t)
	dir := t.TempDir()
	for name, content := range map[string][]byte{"records.jsonl": nil, "result.json": document} {
		must.Write(t, filepath.Join(dir, name), content)
	}
	return dir
}

// Every format goes to the standard output and, with -o, to a file, alike.
func TestReportFormats(t *testing.T) {
	t.Parallel()
	dir := keptRun(t)
	begins := map[string]string{"terminal": "MET", "json": "{", "csv": "run,point,", "markdown": "## ", "html": "<!doctype html>", "junit": "<?xml"}
	for _, format := range export.Formats {
		file := filepath.Join(t.TempDir(), "report")
		code, shown, stderr := redline(t, nil, "report", dir, "--format", format.Name)
		if begin, told := begins[format.Name]; code != exitOK || !told || !strings.HasPrefix(shown, begin) {
			t.Errorf("%s: exit %d, %q, %.60q; want it to begin with %q", format.Name, code, stderr, shown, begin)
		}
		code, stdout, stderr := redline(t, nil, "report", dir, "--format", format.Name, "-o", file)
		kept, err := os.ReadFile(file)
		if code != exitOK || stdout != "" || err != nil {
			t.Errorf("%s -o: exit %d, %q, %q, %v", format.Name, code, stdout, stderr, err)
		}
		expect.NoDiff(t, cmp.Diff(shown, string(kept)), "%s: the file differs (-shown +kept)", format.Name)
	}
	_, long, _ := redline(t, nil, "report", dir, "--format", "json")
	if _, short, _ := redline(t, nil, "report", dir, "--json"); short != long {
		t.Error("--json shows something else than --format json")
	}
}

// The help fits a terminal.
func TestReportHelpIsShort(t *testing.T) {
	t.Parallel()
	_, help, _ := redline(t, nil, "report", "--help")
	if n := strings.Count(help, "\n"); n > 40 {
		t.Errorf("%d lines of help, want at most 40:\n%s", n, help)
	}
}

// The percentiles shown are those asked for, of a run that has them.
func TestReportPercentiles(t *testing.T) {
	t.Parallel()
	dir := keptRun(t)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--percentiles 50,99", exitOK, "mean p50 p99 max"},
		{"--percentiles p99", exitOK, "mean p99 max"},
		{"--percentiles 99.99", exitUsage, "--percentiles: this result has no p99.99, only p50, "},
		{"--percentiles fast", exitUsage, `--percentiles: expected percentiles such as 50,90,99.9, got "fast"`},
		{"--percentiles 50 --format csv", exitUsage, "--percentiles: csv has every percentile that was measured: leave it out"},
	} {
		code, stdout, stderr := redline(t, nil, append([]string{"report", dir}, strings.Fields(tt.args)...)...)
		if text := strings.Join(strings.Fields(stdout+stderr), " "); code != tt.code || !strings.Contains(text, tt.want) {
			t.Errorf("%s: exit %d, want %d with %q in\n%s%s", tt.args, code, tt.code, tt.want, stdout, stderr)
		}
	}
}

// Charts are written as files, named by what they show; where there is nothing to
// draw, that is said, and no other format can be asked for beside them.
func TestReportCharts(t *testing.T) {
	t.Parallel()
	run, dir := shortRun(t), filepath.Join(t.TempDir(), "slides", "today")
	code, stdout, stderr := redline(t, nil, "report", run, "--charts", dir)
	if code != exitOK || !strings.Contains(stdout, filepath.Join(dir, "latency-distribution.svg")) {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	for path := range strings.Lines(stdout) {
		svg, err := os.ReadFile(strings.TrimSpace(path))
		if err != nil || !strings.HasPrefix(string(svg), "<svg xmlns=") {
			t.Errorf("%.60s: %v", svg, err)
		}
	}
	if code, _, stderr := redline(t, nil, "report", keptRun(t), "--charts", dir); code != exitError || !strings.Contains(stderr, "nothing to draw") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := redline(t, nil, "report", run, "--charts", dir, "--format", "html"); code != exitUsage || !strings.Contains(stderr, "leave out --format") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
