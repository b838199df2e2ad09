package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/must"
)

// keptSweep is the directory of a sweep whose levels have these tokens/s per
// user and in all.
func keptSweep(t *testing.T, root, name string, levels ...[2]float64) string {
	t.Helper()
	res := &result.Result{Schema: result.Schema, ID: "id-" + name, Started: time.Date(2026, 1, 14, 9, 12, 3, 0, time.UTC), Label: name,
		Model: result.Model{Name: "llama-3.1-8b"}, Verdict: result.Verdict{Valid: "yes", SLO: "none"}, Hardware: result.Hardware{Accelerator: "H100", Count: 2},
		Curve: &result.Curve{By: "rate"}}
	for i, l := range levels {
		res.Points = append(res.Points, result.Point{Load: result.Load{Mode: "open", Rate: new(float64(i + 1))}, Summary: metric.Summary{
			Interactivity: &metric.Dist{P: map[string]float64{"p50": l[0]}}, Throughput: metric.Throughput{Output: l[1]}}})
		res.Curve.Points = append(res.Curve.Points, i)
	}
	return keptResult(t, filepath.Join(root, name), res)
}

func keptResult(t *testing.T, dir string, res *result.Result) string {
	t.Helper()
	document := must.Get(json.Marshal(res))(t)
	must.Do(t, os.MkdirAll(dir, 0o755))
	for name, content := range map[string][]byte{"records.jsonl": nil, "result.json": document} {
		must.Write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func TestPareto(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	quick, slow := keptSweep(t, root, "quick", [2]float64{90, 600}, [2]float64{70, 900}), keptSweep(t, root, "slow", [2]float64{60, 500}, [2]float64{50, 800})
	bench := keptResult(t, filepath.Join(root, "bench"), &result.Result{Schema: result.Schema, ID: "bench", Verdict: result.Verdict{Valid: "yes"},
		Protocol: &result.Protocol{Variants: []result.Variant{{Name: "fp8", Dir: "../quick"}, {Name: "bf16", Dir: "../slow"}}}})
	for _, tt := range []struct {
		name string
		args []string
		says []string
	}{
		{"two sweeps", []string{quick, slow}, []string{"A (quick) is best throughout", "450", "beaten by A at 2"}},
		{"one set of runs", []string{quick + "," + slow}, []string{"2 of 4 points cannot be beaten"}},
		{"variants", []string{bench}, []string{"A (fp8) is best throughout"}},
		{"other figures", []string{quick, slow, "--y", "throughput"}, []string{"output tokens/s", "900"}},
		{"a table", []string{quick, slow, "--format", "csv"}, []string{"interactivity:p50,tokens-per-accelerator,slow,id-slow,,2,,50,tokens/s,400,tokens/s,false,none,dominated,id-quick,2,,"}},
		{"the shell's runs/*", []string{quick, filepath.Join(root, "redline-history.sqlite")}, []string{"2 of 2 points"}},
		{"a label", []string{"--runs", root, "--label", "quick"}, []string{"2 of 2 points", "quick, llama-3.1-8b"}},
		{"one name twice", []string{quick, quick}, []string{quick[:20]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := redline(t, nil, append([]string{"report", "--pareto"}, tt.args...)...)
			if code != exitOK || stderr != "" {
				t.Fatalf("exit %d, %q", code, stderr)
			}
			for _, want := range tt.says {
				if !strings.Contains(strings.ReplaceAll(stdout, "\u00a0", " "), want) {
					t.Errorf("%q is not in\n%s", want, stdout)
				}
			}
		})
	}
}
