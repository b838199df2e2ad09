//go:build unix

package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"redline/internal/judge/result"
	"redline/internal/must"
)

// fakeTool writes an nvidia-smi of two devices that draw 600.5 and 500.25 W,
// and gives the command that runs it and the file with its process id.
func fakeTool(t *testing.T) (command, pid string) {
	t.Helper()
	dir := t.TempDir()
	path, pid := filepath.Join(dir, "nvidia-smi"), filepath.Join(dir, "pid")
	text := `case "$1" in --version) echo "CUDA Version : 13.0"; exit 0;; esac
echo $$ > ` + pid + `
while :; do
echo "0, 2, NVIDIA H200, 580.1, 90, 20, 1000, 143771, 1500, 3201, 600.50, 60, 0x0000000000000004"
echo "1, 2, NVIDIA H200, 580.1, 80, 20, 1000, 143771, 1700, 3201, 500.25, 58, 0x0000000000000000"
sleep 0.1
done`
	must.Write(t, path, text)
	return "sh " + path, pid
}

func TestAcceleratorsBesideARun(t *testing.T) {
	t.Parallel()
	command, pidFile := fakeTool(t)
	out := filepath.Join(t.TempDir(), "run")
	code, _, stderr := redline(t, nil, "run", "--url", metronome(t, 1e6), "--concurrency", "4", "--requests", "200", "--warmup", "0s",
		"--workload", "fixed(16,20)", "--telemetry-interval", "100ms", "--accelerator", command, "--quiet", "--out", out)
	live := readResultOf(t, out)
	if code != resultCode(live) || live.Points[0].Requests.OK != 200 {
		t.Fatalf("exit %d of %+v: %s", code, live.Points[0].Requests, stderr)
	}
	drew(t, "the run", live)
	text := must.Read(t, pidFile)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || syscall.Kill(pid, 0) == nil {
		t.Errorf("the tool still runs: %q %v", text, err)
	}
	// A run that was killed has its log, and no result.
	must.Do(t, os.Remove(filepath.Join(out, "result.json")))
	code, stdout, stderr := redline(t, nil, "report", "--format", "json", out)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var rebuilt result.Result
	must.Do(t, json.Unmarshal([]byte(stdout), &rebuilt))
	drew(t, "the rebuilt run", &rebuilt)
	schema := compileSchema(t, "telemetry")
	log := must.Read(t, filepath.Join(out, "telemetry.jsonl"))
	for line := range strings.Lines(string(log)) {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = schema.Validate(document)
		}
		if err != nil {
			t.Errorf("%v\n%.300s", err, line)
		}
	}
}

func readResultOf(t *testing.T, dir string) *result.Result {
	t.Helper()
	text := must.Read(t, filepath.Join(dir, "result.json"))
	var r result.Result
	must.Do(t, json.Unmarshal(text, &r))
	return &r
}

// drew compares a result with what the tool says all the time: 1,100.75 W.
func drew(t *testing.T, name string, r *result.Result) {
	t.Helper()
	const watts = 1100.75
	if len(r.Points) != 1 || r.Points[0].Accelerator == nil {
		t.Fatalf("%s saw no accelerators: %+v", name, r.Warnings)
	}
	p := r.Points[0]
	u, seconds := p.Accelerator, p.Window.EndS-p.Window.StartS
	if u.Devices != 2 || len(u.Names) != 2 || u.Watts == nil || math.Abs(u.Watts.Mean-watts) > 1e-6 || math.Abs(u.Throttled["sw_power_cap"]-0.5) > 1e-9 {
		t.Errorf("%s: %+v", name, u)
	}
	if u.Joules == nil || math.Abs(*u.Joules/seconds-watts) > 1e-3 {
		t.Errorf("%s: joules %v over %v s", name, u.Joules, seconds)
	}
	if tokens := p.Throughput.Output; u.JoulesPerOutputToken == nil || math.Abs(*u.JoulesPerOutputToken-watts/tokens) > 1e-3*watts/tokens {
		t.Errorf("%s: joules per token %v at %v tokens/s", name, u.JoulesPerOutputToken, tokens)
	}
}

// A tool that is not there ends no run.
func TestAcceleratorToolThatIsNotThere(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	code, _, stderr := redline(t, nil, "run", "--url", metronome(t, 1e6), "--concurrency", "2", "--requests", "20", "--warmup", "0s",
		"--workload", "fixed(16,5)", "--accelerator", filepath.Join(out, "nvidia-smi"), "--out", out)
	res := readResultOf(t, out)
	if code != resultCode(res) || res.Points[0].Requests.OK != 20 {
		t.Fatalf("exit %d of %+v: %s", code, res.Points[0].Requests, stderr)
	}
	if !strings.Contains(stderr, "the accelerators cannot be read: nvidia-smi: ") || !strings.Contains(stderr, "the run goes on without them") {
		t.Errorf("says nothing of it: %s", stderr)
	}
	for _, w := range res.Warnings {
		if w.Figure == "accelerator" {
			return
		}
	}
	t.Error("no warning in the result")
}
