package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// runQuality runs a short load on the embedded engine beside the built-in golden
// set and gives what came of it.
func runQuality(t *testing.T, wantCode int, args ...string) (*result.Result, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	var res result.Result
	var stdout string
	virtually(t, func(w *world) {
		code, answer, stderr := w.redline(append([]string{"run", "--golden", "builtin", "--workload", "fixed(16,8)", "--concurrency", "6",
			"--requests", "300", "--warmup", "0s", "--quiet", "--json", "--seed", "3", "--out", dir}, args...)...)
		if stdout = answer; code != wantCode {
			t.Fatalf("exit %d, want %d: %s", code, wantCode, stderr)
		}
	})
	must.Do(t, json.Unmarshal([]byte(stdout), &res))
	if len(res.Points) != 1 || res.Points[0].Quality == nil {
		t.Fatalf("no quality in %s", stdout)
	}
	return &res, dir
}

func gateStandings(res *result.Result) map[string]slo.Standing {
	out := map[string]slo.Standing{}
	for _, g := range res.Points[0].Quality.Gates {
		out[g.Objective] = g.Standing
	}
	return out
}

func TestQualityGatesStaySilent(t *testing.T) {
	t.Parallel()
	res, dir := runQuality(t, exitOK, "--quality-threshold", "overall>=0.5", "--quality-threshold", "structured>=100%")
	for name, standing := range gateStandings(res) {
		if standing != slo.Met {
			t.Errorf("%s is %s", name, standing)
		}
	}
	q := res.Points[0].Quality
	if under := q.Phase(result.UnderLoad); under == nil || under.N < 5 || *under.Score != 1 {
		t.Errorf("under load: %+v", under)
	}
	if after := q.Phase(result.After); after == nil || after.N != 25 || after.SameAsAlone.Share != 1 {
		t.Errorf("after: %+v", after)
	}
	if res.Verdict.SLO != "met" {
		t.Errorf("verdict %s", res.Verdict.SLO)
	}
	// Golden requests are none of the load's.
	if due := res.Points[0].Requests.Due; due != 300 {
		t.Errorf("%d were due, want the 300 of the load", due)
	}
	for _, check := range res.Verdict.Checks {
		if check.Name == "foreign traffic" && !check.OK {
			t.Errorf("the golden requests pass for somebody else's: %+v", check)
		}
	}
	written, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil || strings.Contains(string(written), "capital of France") {
		t.Errorf("a prompt was kept (%v)", err)
	}
	if exists(dir, "quality.jsonl") {
		t.Error("answers were kept without --keep-text")
	}
}

// Golden questions are charged to the same budget as the load.
func TestGoldenQuestionsAreCharged(t *testing.T) {
	t.Parallel()
	load := func(limit string, more ...string) (code int, ok int, said string) {
		code, stdout, stderr := redline(t, nil, append([]string{"run", "--workload", "fixed(16,4)", "--concurrency", "2", "--requests", "1000",
			"--warmup", "0s", "--quiet", "--json", "--max-tokens-total", limit, "--out", filepath.Join(t.TempDir(), "run")}, more...)...)
		var res result.Result
		if json.Unmarshal([]byte(stdout), &res) != nil || len(res.Points) == 0 {
			return code, 0, stderr
		}
		return code, res.Points[0].Requests.OK, res.Interrupted
	}
	_, without, _ := load("3000")
	_, with, ended := load("3000", "--golden", "builtin")
	// 25 questions have more than eight tokens each.
	if with == 0 || with > without-10 || !strings.Contains(ended, "--max-tokens-total") {
		t.Errorf("%d requests beside the golden set and %d without, ended by %q", with, without, ended)
	}
	if code, _, said := load("300", "--golden", "builtin"); code != exitError || !strings.Contains(said, "--max-tokens-total") || !strings.Contains(said, "quality.golden") {
		t.Errorf("exit %d: %s", code, said)
	}
}

func TestQualityGatesFireUnderLoadOnly(t *testing.T) {
	t.Parallel()
	res, dir := runQuality(t, exitMissed, "--answer-error-under-load", "1", "--quality-threshold", "overall>=0.95", "--keep-text")
	got := gateStandings(res)
	if got["quality overall, alone"] != slo.Met || got["quality overall, under load"] != slo.Missed || got["quality overall, after it"] != slo.Met {
		t.Errorf("gates: %v", got)
	}
	if res.Verdict.SLO != "missed" || !slices.ContainsFunc(res.Verdict.Reasons, func(r string) bool { return strings.Contains(r, "quality overall, under load") }) {
		t.Errorf("verdict: %+v", res.Verdict)
	}
	kept := must.Read(t, filepath.Join(dir, "quality.jsonl"))
	var first result.KeptAnswer
	if err := json.Unmarshal(kept[:strings.IndexByte(string(kept), '\n')], &first); err != nil || first.Phase != result.UnderLoad ||
		first.Answer == "" || first.Prompt == "" || first.Why == "" || first.Score != 0 {
		t.Errorf("kept %+v (%v)", first, err)
	}
	_, junit, _ := redline(t, nil, "report", dir, "--format", "junit")
	if !strings.Contains(junit, `name="quality overall, under load"`) {
		t.Errorf("no test case for the gate: %s", junit)
	}
	_, text, _ := redline(t, nil, "report", dir)
	if !strings.Contains(text, "quality     100% alone, ") || !strings.Contains(text, " under load, 100% after") {
		t.Errorf("the report does not tell: %s", text)
	}
}

// Weights of fewer bits answer worse, and redline compare says so beside the
// speed.
func TestQualityOfTwoRunsIsCompared(t *testing.T) {
	t.Parallel()
	_, a := runQuality(t, exitOK)
	_, b := runQuality(t, exitOK, "--answer-error", "0.5")
	code, stdout, stderr := redline(t, nil, "compare", a, b)
	if code != exitRegression || !strings.Contains(stdout, "quality") || !strings.Contains(stdout, "points worse") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestQualityMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string { return must.File(t, name, text) }
	bad := file("bad.jsonl", `{"prompt": "a", "expect": {"exact": "b"}}`+"\n"+`{"prompt": "c", "expect": {"fuzzy": "b"}}`)
	plan := file("plan.yaml", "quality:\n  golden: builtin\n  thresholds: {slices: {maths: 0.5}}\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--golden", filepath.Join(dir, "none.jsonl")}, "none.jsonl"},
		{[]string{"--golden", bad}, bad + ":2: expect: fuzzy: unknown key"},
		{[]string{"--golden", "builtin", "--quality-threshold", "maths>=0.5"}, "did you mean math?"},
		{[]string{"--golden", "builtin", "--quality-threshold", "overall"}, "expected a threshold such as overall>=0.95"},
		{[]string{"--quality-threshold", "overall>=0.9"}, "give --golden FILE, or --golden builtin"},
		{[]string{"--plan", plan}, "plan.yaml:3: quality.thresholds"},
		{[]string{"--golden", "builtin", "--answer-error", "2"}, "expected a share from 0 to 1, got 2"},
	} {
		code, _, stderr := redline(t, nil, append([]string{"run", "--requests", "5"}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, %q; want %q", c.args, code, stderr, c.want)
		}
		oneLine(t, stderr)
	}
}
