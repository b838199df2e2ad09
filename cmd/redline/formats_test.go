package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"redline/internal/must"
	"redline/internal/oracle"
	"redline/internal/twin/sim"
)

// shortRun is a short run on a server with an even pace, in virtual time.
func shortRun(t *testing.T, more ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	virtually(t, func(w *world) {
		args := append([]string{"run", "--url", w.engine(sim.Spec{}, time.Millisecond), "--rate", "50", "--requests", "20", "--plain", "--workload", "fixed(20,4)", "--slo", "ttft:p50<10s",
			"--quiet", "--out", dir}, more...)
		if code, _, stderr := w.redline(args...); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	})
	return dir
}

// Every jq line of the manual finds something in a result.
func TestManualOfResults(t *testing.T) {
	t.Parallel()
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("there is no jq")
	}
	manual := must.Read(t, "../../docs/reference/RESULT.md")
	dir := shortRun(t)
	lines := regexp.MustCompile("`jq ((?:-r |-c )?)('[^`]*'|[^` ]+) result.json`").FindAllStringSubmatch(string(manual), -1)
	if len(lines) != 30 {
		t.Errorf("%d lines of jq, want 30", len(lines))
	}
	for _, l := range lines {
		filter := strings.ReplaceAll(strings.Trim(l[2], "'"), `\|`, "|")
		out, err := exec.Command(jq, "-c", filter, filepath.Join(dir, "result.json")).CombinedOutput()
		if said := strings.TrimSpace(string(out)); err != nil || said == "null" || said == "" {
			t.Errorf("jq %s: %s %v", filter, said, err)
		}
	}
}

// The manual's lines of Python run beside a result and the file that it names.
func TestManualOfResultsInPython(t *testing.T) {
	t.Parallel()
	python := oracle.Python(t, "../../internal/show/parquet/testdata/requirements.txt")
	manual := must.Read(t, "../../docs/reference/RESULT.md")
	blocks := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(string(manual), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of Python, want 2", len(blocks))
	}
	dir := shortRun(t)
	if code, _, stderr := redline(t, nil, "export", "--format", "parquet", "-o", filepath.Join(dir, "requests.parquet"), dir); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, b := range blocks {
		c := exec.Command(python, "-c", b[1])
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil || strings.Contains(string(out), "nan") {
			t.Errorf("%s%v: %s", b[1], err, out)
		}
	}
}

// A run is written in every format, and what is written can be read.
func TestExportFormats(t *testing.T) {
	t.Parallel()
	dir := shortRun(t)
	out := func(format string) string {
		code, stdout, stderr := redline(t, nil, "export", "--format", format, dir)
		if code != exitOK {
			t.Fatalf("%s: exit %d: %s", format, code, stderr)
		}
		return stdout
	}
	rows, err := csv.NewReader(strings.NewReader(out("csv"))).ReadAll()
	if err != nil || len(rows) != 21 || rows[0][9] != "ttft_ms" || rows[1][9] == "" {
		t.Errorf("csv: %d rows, %v: %v", len(rows), err, rows[:min(2, len(rows))])
	}
	first, _, _ := strings.Cut(out("jsonl"), "\n")
	var request map[string]any
	if err := json.Unmarshal([]byte(first), &request); err != nil || request["output_tokens"] != 4.0 {
		t.Errorf("jsonl: %v: %s", err, first)
	}
	var vllm struct {
		Completed int
		TTFTs     []float64
	}
	if err := json.Unmarshal([]byte(out("vllm")), &vllm); err != nil || vllm.Completed != 20 || len(vllm.TTFTs) != 20 {
		t.Errorf("vllm: %v: %+v", err, vllm)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(out("prometheus")))
	if err != nil || families["redline_ok"] == nil || families["redline_ok"].GetMetric()[0].GetGauge().GetValue() != 20 {
		t.Errorf("prometheus: %v", err)
	}
	if file := out("parquet"); !strings.HasPrefix(file, "PAR1") || !strings.HasSuffix(file, "PAR1") || !strings.Contains(file, "ttft_ms") {
		t.Errorf("parquet: %.40q", file)
	}
	var screen, said buffer
	terminal := &process{args: []string{"export", "--format", "parquet", dir}, stdout: &screen, stderr: &said, lookupEnv: environment(nil), page: func() int { return 80 }}
	if code := terminal.run(t.Context()); code != exitUsage || screen.String() != "" || !strings.Contains(said.String(), "-o requests.parquet") {
		t.Errorf("parquet on a terminal: exit %d, %.40q, %s", code, screen.String(), said.String())
	}
	if code, _, stderr := redline(t, nil, "export", "--format", "avro", dir); code != exitUsage || !strings.Contains(stderr, "parquet") {
		t.Errorf("avro: exit %d: %s", code, stderr)
	}
}

func TestReportsAsFiles(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	var args []string
	for _, f := range reportFormats {
		args = append(args, "--"+f.name, filepath.Join(files, f.name))
	}
	dir := shortRun(t, args...)
	begins := map[string]string{"junit": "<?xml", "markdown": "#", "html": "<!", "csv": "run,point,"}
	check := func(what string) {
		for name, begin := range begins {
			content, err := os.ReadFile(filepath.Join(files, name))
			if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(string(content))), begin) {
				t.Errorf("%s --%s: %v: %.40q", what, name, err, content)
			}
			os.Remove(filepath.Join(files, name))
		}
	}
	check("run")
	if code, _, stderr := redline(t, nil, append([]string{"compare", dir, dir, "--anyway"}, args...)...); code == exitError || code == exitUsage {
		t.Fatalf("compare: exit %d: %s", code, stderr)
	}
	check("compare")
}
