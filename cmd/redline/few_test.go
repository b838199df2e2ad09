package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// Whoever asks for few requests gets these alone, and a run of them is sound; who
// asks for more is told why others are sent beside them.
func TestFewRequests(t *testing.T) {
	t.Parallel()
	virtually(t, fewRequests)
}

func fewRequests(t *world) {
	url := t.engine(sim.Spec{}, time.Millisecond)
	few := []string{"run", "--url", url, "--rate", "200", "--workload", "fixed(16,5)"}
	code, stdout, stderr := t.redline(append(few, "--requests", "60", "--out", filepath.Join(t.TempDir(), "run"))...)
	if code != exitOK || !strings.Contains(stderr, "measuring 60 requests; a warm-up of 50 or more") || !strings.Contains(stdout, "of warm-up (") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
	out := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr = t.redline(append(few, "--requests", "3", "--json", "--out", out)...)
	var res result.Result
	if err := json.Unmarshal([]byte(stdout), &res); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v\n%s", code, err, stderr)
	}
	for _, c := range res.Verdict.Checks {
		if c.Name == "realised work" {
			t.Errorf("the arrivals of a plain run are held to its window: %+v", c)
		}
	}
	log := must.Read(t, filepath.Join(out, "records.jsonl"))
	if ended := strings.Count(string(log), `"outcome":"ok"`); ended != 3 || strings.Contains(stderr, "--plain") {
		t.Errorf("%d requests were sent, want 3; %s", ended, stderr)
	}
}
