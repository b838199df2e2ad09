package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/twin/sim"
)

// peerFile is a result file that the real peer wrote.
func peerFile(name string) string { return "../../internal/peer/testdata/files/" + name }

// imported makes a run directory of a peer's file.
func importedRun(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.ReplaceAll(name, ".", "-"))
	if code, _, stderr := redline(t, nil, "import", peerFile(name), "--out", dir); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	return dir
}

// What is no result file gets one line, and leaves nothing behind.
func TestImportMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string { return must.File(t, name, content) }
	large := file("large", "")
	must.Do(t, os.Truncate(large, 2<<30))
	for _, tt := range []struct{ name, file, says string }{
		{"an endless device", "/dev/zero", "is a device"},
		{"a directory", dir, "is a directory"},
		{"2 GB", large, "longer than 256 MiB"},
		{"nothing", file("empty", ""), "holds no result"},
		{"no such file", filepath.Join(dir, "none"), "none"},
		{"an unknown version", file("v9", `{"metadata":{"guidellm_version":"9.9"},"benchmarks":[{"x":1}]}`), "GuideLLM 9.9"},
		{"another program's", file("other", `{"a":1}`), "it has the keys a"},
	} {
		out := filepath.Join(dir, "out")
		code, stdout, stderr := redline(t, nil, "import", tt.file, "--out", out)
		if code != exitError || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: exit %d, %q, %q; want one line with %q", tt.name, code, stdout, stderr, tt.says)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: left a run directory", tt.name)
		}
	}
}

// A file without single requests is planned with too: by its own figures, and never
// called met for certain.
func TestCapacityOfAnImportedRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"aiperf-0.13.0.json", "aiperf-0.13.0.jsonl"} {
		dir := importedRun(t, name)
		code, stdout, stderr := redline(t, nil, "capacity", dir, "--rate", "100", "--slo", "ttft:p99<1s")
		if code != exitOK || !strings.Contains(stdout, "another benchmark made the run") || !strings.Contains(stdout, "no load met the objectives for certain") {
			t.Errorf("%s: exit %d: %s%s", name, code, stdout, stderr)
		}
		// The file of figures does not say when a request was due.
		if due := strings.Contains(stdout, "ttft due"); due != strings.HasSuffix(name, "l") {
			t.Errorf("%s: latency from due is %t: %s", name, due, stdout)
		}
		if code, stdout, _ := redline(t, nil, "capacity", dir, "--rate", "100", "--slo", "ttft:p99<1ms"); code != exitMissed || !strings.Contains(stdout, "less was not tried") {
			t.Errorf("%s: exit %d with an objective that it missed: %s", name, code, stdout)
		}
		if code, _, stderr := redline(t, nil, "capacity", dir, "--rate", "100"); code != exitError || !strings.Contains(stderr, "--slo") {
			t.Errorf("%s: exit %d without objectives: %s", name, code, stderr)
		}
	}
}

// Stored runs are called by their paths, in every format, and Markdown can be
// printed alone.
func TestStoredComparisonNamesPaths(t *testing.T) {
	t.Parallel()
	a, b := importedRun(t, "aiperf-0.13.0.jsonl"), importedRun(t, "aiperf-0.13.0.json")
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}`)
	for _, args := range [][]string{nil, {"--markdown", "-"}, {"--html", "-"}} {
		code, stdout, stderr := redline(t, nil, append([]string{"compare", a, b, "--anyway"}, args...)...)
		if code != exitUndecided || !strings.Contains(stdout, a) || !strings.Contains(stdout, b) || id.MatchString(stdout) {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
		if len(args) > 0 && args[0] == "--markdown" && !strings.HasPrefix(stdout, "## "+b+" against "+a+"\n") {
			t.Errorf("Markdown begins with %.200s", stdout)
		}
	}
	if code, _, stderr := redline(t, nil, "compare", a, b, "--markdown", "-", "--json"); code != exitUsage || !strings.Contains(stderr, "--json both print") {
		t.Errorf("two to standard output: exit %d: %s", code, stderr)
	}
}

func TestPeersKeepNoTexts(t *testing.T) {
	t.Parallel()
	code, _, stderr := redline(t, nil, "vllm", "bench", "serve", "--keep-text")
	if code != exitUsage || !strings.Contains(stderr, "keeps no prompts and no texts") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// A file of vLLM without latencies of whole requests does not say how many were in
// flight, and so does no report of it.
func TestImportedLoadIsNotMadeUp(t *testing.T) {
	t.Parallel()
	file, dir := filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "run")
	must.Write(t, file, `{"request_throughput":1,"completed":2,"duration":2,"mean_ttft_ms":5,"mean_tpot_ms":4,"total_output_tokens":50,"total_input_tokens":9}`)
	if code, _, stderr := redline(t, nil, "import", file, "--out", dir); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	code, stdout, stderr := redline(t, nil, "report", dir)
	if code != exitOK || !strings.Contains(stdout, "25.0 output tokens/s") || strings.Contains(stdout, "in flight") {
		t.Errorf("exit %d: %s\n%s", code, stderr, stdout)
	}
}

// A run is compared with the import of a file of the same run: what the file does not
// say is no difference.
func TestARunIsComparedWithItsImport(t *testing.T) {
	t.Parallel()
	virtually(t, func(t *world) {
		url, dir := t.engine(sim.Spec{}, time.Millisecond), t.TempDir()
		own, foreign := filepath.Join(dir, "own"), filepath.Join(dir, "imported")
		t.env = environment(map[string]string{"REDLINE_OUT": own, "REDLINE_QUIET": "1"})
		if code, _, stderr := t.redline("vllm", "bench", "serve", "--base-url", url, "--request-rate", "20", "--num-prompts", "40", "--random-input-len", "20", "--random-output-len", "4",
			"--save-result", "--save-detailed", "--result-dir", dir, "--result-filename", "r.json", "--disable-tqdm"); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		t.env = environment(nil)
		if code, _, stderr := t.redline("import", filepath.Join(dir, "r.json"), "--out", foreign); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		code, stdout, stderr := t.redline("compare", own, foreign)
		if code == exitError || code == exitUsage || !strings.Contains(stdout, "ttft") {
			t.Errorf("exit %d: %s%s", code, stdout, stderr)
		}
	})
}
