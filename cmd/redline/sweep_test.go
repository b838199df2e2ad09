package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/judge/result"
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
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatal(err)
	}
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

func TestExperimentMistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"sweep", "--find-limit"}, exitUsage, "objective"},
		{[]string{"sweep", "--rates", "1,x"}, exitUsage, "--rates"},
		{[]string{"sweep", "--rates", "0"}, exitUsage, "above 0"},
		{[]string{"sweep", "--rates", "1", "--concurrencies", "2"}, exitUsage, "one of the two"},
		{[]string{"sweep", "--concurrencies", "1.5"}, exitUsage, "whole numbers"},
		{[]string{"sweep", "--resume", "nowhere"}, exitError, "no plan.yaml"},
		{[]string{"sweep", "--resume", "nowhere", "--rates", "1"}, exitError, "no plan.yaml"},
		{[]string{"compare"}, exitUsage, "two runs or two URLs"},
		{[]string{"compare", "a", "http://127.0.0.1:1"}, exitUsage, "one of each"},
		{[]string{"compare", "nowhere", "nowhere"}, exitError, "nowhere"},
		{[]string{"run", "--repeat", "0"}, exitUsage, "--repeat"},
	} {
		code, _, stderr := redline(t, nil, tc.args...)
		if code != tc.code || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q; want %d and one line with %q", tc.args, code, stderr, tc.code, tc.want)
		}
	}
}
