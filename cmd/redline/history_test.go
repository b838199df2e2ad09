package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/run/history"
)

// keptSeries is a directory of weekly runs of one plan with these throughputs.
// The last two are of a newer engine.
func keptSeries(t *testing.T, throughputs ...float64) string {
	t.Helper()
	root := t.TempDir()
	for i, output := range throughputs {
		version := "0.11"
		if i >= len(throughputs)-2 {
			version = "0.12"
		}
		res := &result.Result{Schema: result.Schema, ID: fmt.Sprintf("%08d-run", i+1), Started: time.Date(2026, 1, 1+7*i, 3, 0, 0, 0, time.UTC),
			Label: "nightly", Model: result.Model{Name: "llama-3.1-8b"}, Engine: result.Engine{Name: "vllm", Version: version},
			Verdict: result.Verdict{Valid: "yes", SLO: "met"},
			Points: []result.Point{{Load: result.Load{Mode: "open", Rate: new(5.0)}, Summary: metric.Summary{
				Requests: metric.Requests{Due: 600, Sent: 600, OK: 600}, Throughput: metric.Throughput{Output: output}}}}}
		document := must.Get(json.Marshal(res))(t)
		dir := filepath.Join(root, fmt.Sprintf("week-%02d", i+1))
		must.Do(t, os.Mkdir(dir, 0o755))
		for name, content := range map[string][]byte{"records.jsonl": nil, "result.json": document} {
			must.Write(t, filepath.Join(dir, name), content)
		}
	}
	return root
}

// slowed are throughputs that fall by a tenth at the end.
var slowed = []float64{1000, 1004, 997, 1002, 1001, 996, 1003, 999, 1005, 998, 901, 899}

func TestHistory(t *testing.T) {
	t.Parallel()
	root := keptSeries(t, slowed...)
	for _, c := range []struct {
		name string
		args string
		code int
		says []string
	}{
		{"list", "", exitOK, []string{"started, UTC", "2026-03-19 03:00", "00000012", "llama-3.1-8b", "5/s", "met", "nightly"}},
		{"filter", "--since 2026-03-15 --json", exitOK, []string{`"id": "00000012-run"`}},
		{"by verdict", "--verdict met --json", exitOK, []string{`"id": "00000012-run"`}},
		{"no such verdict", "--verdict missed", exitOK, []string{"No matching runs in " + root}},
		{"nothing there", "--model qwen", exitOK, []string{"No matching runs in " + root}},
		{"show by the beginning of an id", "show 00000003", exitOK, []string{"MET"}},
		{"drift", "drift", exitRegression, []string{"WORSE: throughput is worse since 2026-03-12", "−10%", "throughput likely from: engine version 0.11 → 0.12"}},
		{"drift as a document", "drift 00000001 --json", exitRegression, []string{`"outcome": "worse"`, `"since": "00000011-run"`}},
		{"what would go", "prune --keep 2 --dry-run", exitOK, []string{"would delete week-01", "would delete 10 runs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"history"}, append(strings.Fields(c.args), "--runs", root)...)
			code, stdout, stderr := redline(t, nil, args...)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, stderr)
			}
			for _, text := range c.says {
				if !strings.Contains(strings.ReplaceAll(stdout, "\u00a0", " "), text) {
					t.Errorf("%q is not in:\n%s", text, stdout)
				}
			}
		})
	}
}

func TestAPinnedRunEndsTheAlarm(t *testing.T) {
	t.Parallel()
	root := keptSeries(t, slowed...)
	if code, stdout, stderr := redline(t, nil, "history", "pin", "00000011", "--note", "accepted", "--runs", root); code != exitOK || !strings.Contains(stdout, "week-11 is the baseline of nightly") {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	if code, stdout, _ := redline(t, nil, "history", "drift", "--runs", root); code != exitOK || !strings.Contains(stdout, "STEADY") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	if code, stdout, _ := redline(t, nil, "history", "prune", "--keep", "1", "--runs", root); code != exitOK || !strings.Contains(stdout, "deleted 10 runs") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	for name, there := range map[string]bool{"week-10": false, "week-11": true, "week-12": true} {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code, _, stderr := redline(t, nil, "history", "unpin", "00000011", "--runs", root); code != exitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestHistoryMistakes(t *testing.T) {
	t.Parallel()
	root := keptSeries(t, 1000, 1001)
	damaged := t.TempDir()
	must.Write(t, filepath.Join(damaged, history.FileName), strings.Repeat("not a database", 99))
	for _, c := range []struct {
		name, args, runs string
		code             int
		says             string
	}{
		{"no such directory", "", filepath.Join(root, "nowhere"), exitError, "--runs names"},
		{"a damaged index", "", damaged, exitError, "redline history rebuild --runs " + damaged},
		{"no such run", "show zz", root, exitError, `there is no run "zz"`},
		{"several such runs", "show 0000", root, exitError, "give more of it"},
		{"no run named", "pin", root, exitUsage, "needs one run"},
		{"no policy", "prune", root, exitUsage, "--older-than"},
		{"absurd number", "prune --keep -3", root, exitUsage, "N above 0"},
		{"no verdict", "--verdict mised", root, exitUsage, "missed"},
		{"no date", "--since yesterday", root, exitUsage, "2026-01-31"},
		{"no age", "prune --older-than -5d", root, exitUsage, "30d"},
		{"unknown command", "shwo", root, exitUsage, "show"},
		{"a directory", root, root, exitUsage, "redline history --runs " + root},
		{"too few runs", "drift", root, exitUndecided, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"history"}, append(strings.Fields(c.args), "--runs", c.runs)...)
			code, stdout, stderr := redline(t, nil, args...)
			if code != c.code || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") > 1 {
				t.Errorf("exit %d, want %d; %q, want %q in it\n%s", code, c.code, stderr, c.says, stdout)
			}
		})
	}
	if code, stdout, stderr := redline(t, nil, "history", "rebuild", "--runs", damaged); code != exitOK || !strings.Contains(stdout, "0 runs found") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}

// TestARunIsRemembered runs one over a socket and finds it in the list; a list
// that cannot be written costs the run nothing but a line.
func TestARunIsRemembered(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	url := metronome(t, 2*time.Millisecond)
	one := func(name string) (int, string) {
		code, _, stderr := redline(t, nil, "run", "--url", url, "--rate", "20", "--duration", "1s", "--warmup", "0s", "--quiet",
			"--workload", "in=fixed(20) out=fixed(5)", "--out", filepath.Join(root, name), "--label", "test")
		return code, stderr
	}
	if code, stderr := one("first"); code == exitError || strings.Contains(stderr, "history") {
		t.Fatalf("exit %d, %q", code, stderr)
	}
	if code, stdout, stderr := redline(t, nil, "history", "--label", "test", "--runs", root); code != exitOK || !strings.Contains(stdout, "20/s") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	must.Write(t, filepath.Join(root, history.FileName), strings.Repeat("x", 4096))
	if code, stderr := one("second"); code == exitError || !strings.Contains(stderr, "the run is not in the history") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

// The name of a directory is foreign text.
func TestHistoryShowsNamesAsTheyAre(t *testing.T) {
	t.Parallel()
	root := keptSeries(t, 1000)
	if err := os.Rename(filepath.Join(root, "week-01"), filepath.Join(root, "week-\x1b[2J")); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"pin", "00000001"}, {"unpin", "00000001"}, {"prune", "--older-than", "2026-06-01"}} {
		code, stdout, stderr := redline(t, nil, append(append([]string{"history"}, args...), "--runs", root)...)
		if code != exitOK || strings.Contains(stdout, "\x1b") || args[0] != "unpin" && !strings.Contains(stdout, `week-\x1b[2J`) {
			t.Errorf("%s: exit %d, %q, %s", args[0], code, stdout, stderr)
		}
	}
}
