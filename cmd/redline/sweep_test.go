package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
)

func TestSweepCommand(t *testing.T) {
	t.Parallel()
	virtually(t, sweepCommand)
}

func sweepCommand(t *world) {
	out := filepath.Join(t.TempDir(), "sweep")
	code, stdout, stderr := t.redline("sweep", "--rates", "20,40", "--duration", "1s", "--warmup", "0s", "--workload", "fixed(50,5)",
		"--out", out, "--json", "--quiet")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var res result.Result
	must.Do(t, json.Unmarshal([]byte(stdout), &res))
	if len(res.Points) != 2 || res.Curve == nil {
		t.Errorf("%d points, curve %v, want two levels", len(res.Points), res.Curve)
	}
	// What was kept can be shown again, whole and level by level.
	for _, dir := range []string{out, filepath.Join(out, res.Stages[1].Dir)} {
		if code, shown, stderr := t.redline("report", dir); code != exitOK || !strings.Contains(shown, "40 requests/s") && !strings.Contains(shown, "40") {
			t.Errorf("report %s: exit %d, %s", dir, code, stderr)
		}
	}
	// Two of its levels are not one load.
	code, _, stderr = t.redline("compare", filepath.Join(out, res.Stages[0].Dir), filepath.Join(out, res.Stages[1].Dir))
	if code != exitInvalid || !strings.Contains(stderr, "not comparable") {
		t.Errorf("compare: exit %d, %q, want a refusal", code, stderr)
	}
}
