package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/must"
)

// A run becomes an engine, and the engine serves a run.
func TestCalibrate(t *testing.T) {
	t.Parallel()
	virtually(t, calibrateTwice)
}

func calibrateTwice(t *world) {
	dir := t.TempDir()
	run, engine := filepath.Join(dir, "run"), filepath.Join(dir, "engine.yaml")
	code, _, stderr := t.redline("run", "--rate", "10", "--duration", "2s", "--warmup", "1s", "--workload", "fixed(100,20)", "--out", run, "--quiet")
	if code != exitOK {
		t.Fatalf("run: exit %d, %s", code, stderr)
	}
	code, stdout, stderr := t.redline("calibrate", run, "-o", engine, "--json")
	if code != exitOK {
		t.Fatalf("calibrate: exit %d, %s", code, stderr)
	}
	var shown struct {
		Schema string `json:"schema"`
		Levels []struct {
			Level string `json:"level"`
		} `json:"levels"`
		Notes []string `json:"notes"`
	}
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || shown.Schema != "redline/calibration/1" ||
		len(shown.Levels) != 1 || shown.Levels[0].Level != "10/s" || len(shown.Notes) == 0 {
		t.Errorf("%v in %s", err, stdout)
	}
	code, _, stderr = t.redline("run", "--engine", engine, "--rate", "10", "--duration", "1s", "--warmup", "1s",
		"--workload", "fixed(100,20)", "--out", filepath.Join(dir, "again"), "--quiet")
	if code != exitOK {
		t.Errorf("run --engine: exit %d, %s", code, stderr)
	}
	plan, err := os.ReadFile(filepath.Join(dir, "again", "plan.yaml"))
	if err != nil || !strings.Contains(string(plan), "weights_us") || strings.Contains(string(plan), engine) {
		t.Errorf("the kept plan does not hold the engine itself: %v\n%s", err, plan)
	}
}

// soundRun makes a run that met its objective.
func soundRun(t *testing.T, dir string) {
	t.Helper()
	virtually(t, func(w *world) {
		if code, _, stderr := w.redline("run", "--rate", "10", "--duration", "2s", "--warmup", "1s", "--workload", "fixed(100,20)",
			"--slo", "e2e:p50<30s", "--out", dir, "--quiet"); code != exitOK {
			t.Fatalf("run: exit %d, %s", code, stderr)
		}
	})
}

// A plan is tried in virtual time on the run that it rests on.
func TestCapacitySimulates(t *testing.T) {
	t.Parallel()
	run := filepath.Join(t.TempDir(), "run")
	soundRun(t, run)
	code, stdout, stderr := redline(t, nil, "capacity", run, "--rate", "30", "--simulate", "--profile", "steps(30:2m,10:2m)", "--json")
	var shown struct {
		Capacity struct {
			Rehearsal struct {
				Traffic string  `json:"traffic"`
				SpanS   float64 `json:"span_s"`
				Planned struct {
					Requests int `json:"requests"`
				} `json:"planned"`
			} `json:"rehearsal"`
		} `json:"capacity"`
	}
	// The delay that a start was measured to take is that of new instances.
	started := filepath.Join(t.TempDir(), "startup.json")
	must.Write(t, started, `{"schema": "redline/startup/1", "a": {"provisioning_delay_s": 95.5}}`)
	if code, stdout, stderr := redline(t, nil, "capacity", run, "--rate", "30", "--simulate", "--profile", "steps(30:2m,10:2m)", "--autoscale", "1..4", "--provisioning-delay", started, "--json"); code != exitOK ||
		!strings.Contains(stdout, `"provisioning_delay_s": 95.5`) || !strings.Contains(stdout, `"instance_hours"`) {
		t.Errorf("exit %d, %s in %s", code, stderr, stdout)
	}
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v, %s in %s", code, err, stderr, stdout)
	}
	if r := shown.Capacity.Rehearsal; r.SpanS != 240 || r.Planned.Requests < 4000 || !strings.Contains(r.Traffic, "steps(30:2m,10:2m)") {
		t.Errorf("rehearsed %+v", r)
	}
	for want, args := range map[string][]string{
		"--router goes with --simulate":  {"capacity", run, "--rate", "5", "--router", "round-robin"},
		"--simulate needs the directory": {"capacity", "--rate", "5", "--limit", "3", "--simulate"},
		"--router: unknown \"x\"":        {"capacity", run, "--rate", "5", "--simulate", "--router", "x"},
		"--profile: ":                    {"capacity", run, "--rate", "5", "--simulate", "--profile", "x"},
		"1 of each":                      {"capacity", run, "--rate", "5", "--simulate", "--prefill", "2"},
		"--pools finds what":             {"capacity", run, "--rate", "5", "--simulate", "--pools", "--prefill", "2", "--decode", "1"},
		"--autoscale: the lowest number": {"capacity", run, "--rate", "5", "--simulate", "--autoscale", "9..8"},
		"--autoscale: expected":          {"capacity", run, "--rate", "5", "--simulate", "--autoscale", "9"},
		"--scale-target: expected":       {"capacity", run, "--rate", "5", "--simulate", "--autoscale", "1..8", "--scale-target", "-1"},
		"from 0s to 24h":                 {"capacity", run, "--rate", "5", "--simulate", "--autoscale", "1..8", "--provisioning-delay", "25h"},
		"is not what redline startup":    {"capacity", run, "--rate", "5", "--simulate", "--failures", "1", "--provisioning-delay", filepath.Join(run, "result.json")},
		"goes with --autoscale or":       {"capacity", run, "--rate", "5", "--simulate", "--provisioning-delay", "3m"},
		"--failures: expected":           {"capacity", run, "--rate", "5", "--simulate", "--failures", "some"},
	} {
		if code, _, stderr := redline(t, nil, args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d, %q; want %q", args, code, stderr, want)
		}
	}
}
