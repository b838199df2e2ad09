package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/twin/sim"
)

// The exit code of a live comparison is the same however its answer is shown.
func TestLiveComparisonsEndAlikeWithEveryOption(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rounds string
		code   int
	}{
		{"4", exitRegression}, // twice as slow, four times in a row
		{"1", exitUndecided},  // one round has no spread
	} {
		for _, options := range [][]string{nil, {"--json"}, {"--quiet", "--explain"}, {"--tolerance", "0.5"}, {"--anyway"}} {
			virtually(t, func(w *world) {
				quick, slow := w.engine(sim.Spec{}, time.Millisecond), w.engine(sim.Spec{}, 2*time.Millisecond)
				code, stdout, stderr := w.redline(append([]string{"compare", quick, slow, "--rounds", tt.rounds, "--concurrency", "1", "--requests", "3", "--warmup", "0s",
					"--workload", "fixed(16,4)", "--out", filepath.Join(t.TempDir(), "compare")}, options...)...)
				if code != tt.code || stdout == "" {
					t.Errorf("%s rounds with %v: exit %d, want %d\n%s%s", tt.rounds, options, code, tt.code, stdout, stderr)
				}
			})
		}
	}
}

// storeRun is a stored run with a ttft p99, of which parts show an error of 0.5%.
func storeRun(t *testing.T, name string, ttft float64, change func(*result.Result)) string {
	t.Helper()
	rate := 10.0
	res := &result.Result{Schema: result.Schema, ID: name, Model: result.Model{Name: "llama-3.1-8b"}, Workload: result.Workload{Name: "chat"},
		Verdict: result.Verdict{Valid: result.Valid, SLO: "none"}, Points: []result.Point{{Load: result.Load{Mode: "open", Rate: &rate}}}}
	p := &res.Points[0]
	p.Window = metric.Window{StartS: 10, EndS: 70}
	p.Requests = metric.Requests{Due: 600, Sent: 600, OK: 600}
	p.Latency.TTFTDue = &metric.Dist{N: 600, P: map[string]float64{"p99": ttft}}
	p.StandardErrors = metric.StandardErrors{"ttft:p99": 0.005}
	change(res)
	return keptResult(t, filepath.Join(t.TempDir(), name), res)
}

// Stored runs end with 5 where they do not carry the answer, and are shown all
// the same: --anyway has them judged, and does not make them valid.
func TestStoredComparisonsEndBySeverity(t *testing.T) {
	t.Parallel()
	same := func(*result.Result) {}
	invalid := func(r *result.Result) {
		r.Verdict.Valid, r.Verdict.Reasons = result.Invalid, []string{"lag: p99 9 ms, allowed ≤ 1 ms"}
		r.Points[0].Invalid = r.Verdict.Reasons[0]
	}
	other := func(r *result.Result) { r.Model.Name = "llama-3.1-70b" }
	for _, tt := range []struct {
		name   string
		ttft   float64
		change func(*result.Result)
		anyway bool
		code   int
		says   []string
	}{
		{"worse", 150, same, false, exitRegression, []string{"WORSE", "slower by 50"}},
		{"worse, anyway", 150, same, true, exitRegression, []string{"WORSE", "slower by 50"}},
		{"nothing shown", 104, same, false, exitUndecided, []string{"NO DIFFERENCE SHOWN", "too close to call"}},
		{"equal", 101, same, false, exitOK, []string{"SAME", "no difference larger than"}},
		{"the same records", 100, same, false, exitOK, []string{"SAME", "no difference at all"}},
		{"not valid", 150, invalid, false, exitInvalid, []string{"INVALID", "lag: p99 9 ms", "100", "150", "not judged"}},
		{"not valid, anyway", 150, invalid, true, exitInvalid, []string{"INVALID", "lag: p99 9 ms", "slower by 50"}},
		{"not valid, nothing shown", 104, invalid, true, exitInvalid, []string{"INVALID", "too close to call"}},
		{"another model", 150, other, false, exitInvalid, nil},
		{"another model, anyway", 150, other, true, exitInvalid, []string{"INVALID", "not comparable: model", "slower by 50"}},
	} {
		args := []string{"compare", storeRun(t, "a", 100, same), storeRun(t, "b", tt.ttft, tt.change)}
		if tt.anyway {
			args = append(args, "--anyway")
		}
		for _, options := range [][]string{nil, {"--json"}, {"--explain"}} {
			code, stdout, stderr := redline(t, nil, append(args, options...)...)
			if code != tt.code {
				t.Errorf("%s %v: exit %d, want %d\n%s%s", tt.name, options, code, tt.code, stdout, stderr)
			}
			for _, said := range tt.says {
				if options == nil && !strings.Contains(stdout, said) {
					t.Errorf("%s does not say %q:\n%s", tt.name, said, stdout)
				}
			}
		}
	}
}
