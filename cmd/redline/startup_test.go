//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/run/measure"
	"redline/internal/run/startup"
)

// startedSim is a command that starts the simulated engine through phases.
func startedSim(phases string) string {
	return "{redline} sim --listen 127.0.0.1:{port} --start-up '" + phases + "'"
}

// TestStartupMeasuresPhases: phases end in their order, the time before the port is
// open is at least that of the phases before it, and the engine's log has the others.
func TestStartupMeasuresPhases(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := redline(t, nil, "startup", "--server-command", startedSim("import 100ms, open, weights 200ms, compile 100ms"),
		"--against", startedSim("weights 100ms"), "--starts", "2", "--json")
	var r startup.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code == exitError || code == exitUsage {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	if len(r.A.Starts) != 2 || len(r.B.Starts) != 2 || r.Comparison == nil || r.Comparison.Rounds != 2 {
		t.Fatalf("%+v, want two starts of each, compared", r)
	}
	for _, s := range r.A.Starts {
		last := 0.0
		for _, name := range startup.Names {
			mark, ok := s.Marks[name]
			if !ok || mark < last {
				t.Errorf("%s after %g s: %v, want each phase after the one before", name, mark, s.Marks)
			}
			last = mark
		}
		if s.Marks[startup.PortOpen] < 0.1 || s.Marks[startup.Ready] < 0.4 || s.Marks[startup.FirstToken] > s.Marks[startup.Steady] {
			t.Errorf("%v, want the port after 100 ms at the earliest and readiness after 400 ms", s.Marks)
		}
		if got := fmt.Sprint(s.Engine); got != "[{weights 0.2} {compile 0.1}]" {
			t.Errorf("the log's phases are %s", got)
		}
	}
}

// TestStartupElsewhere: a command that ends has the server started, which answers at a
// URL of its own.
func TestStartupElsewhere(t *testing.T) {
	t.Parallel()
	engine := metronome(t, time.Millisecond)
	code, stdout, stderr := redline(t, nil, "startup", "--url", engine, "--server-command", "true", "--stop-command", "true", "--starts", "1")
	if code != exitOK || !strings.Contains(stdout, "to the first token, median of 1 start") || strings.Contains(stdout, startup.Process) {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

// TestStartupSaysWhyNot: every way not to come up ends in one line.
func TestStartupSaysWhyNot(t *testing.T) {
	t.Parallel()
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "redline startup starts the server itself"},
		{[]string{"--server-command", "serve"}, exitUsage, "has no {port}"},
		{[]string{"--server-command", "serve {port}", "--stop-command", "true"}, exitUsage, "is for a server elsewhere"},
		{[]string{"--server-command", "true", "--url", "http://127.0.0.1:1"}, exitUsage, "--stop-command: is missing"},
		{[]string{"--server-command", "serve {port} {n}"}, exitUsage, "{n} has no value"},
		{[]string{"--server-command", "serve {port}", "--starts", "0"}, exitUsage, "--starts: must be 1"},
		{[]string{"--server-command", "echo no such model; exit 3 # {port}"}, exitError, "exited with code 3"},
		{[]string{"--server-command", "echo loading; sleep 60 # {port}", "--ready-timeout", "200ms"}, exitError, "was not ready after 0.2 s (--ready-timeout); its last lines: loading"},
		{[]string{"--server-command", "sleep 60 # {port}", "--server-port", port}, exitError, "cannot be served on"},
		{[]string{"--server-command", "true", "--stop-command", "echo forbidden; exit 2", "--url", "http://127.0.0.1:1"}, exitError, "ended with exit code 2: forbidden"},
		{[]string{"--server-command", "serve {port}", "--cold", "/no/such/file"}, exitUsage, "--cold: "},
	} {
		code, _, stderr := redline(t, nil, append([]string{"startup", "--quiet"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, want %d and %q in:\n%s", c.args, code, c.code, c.want, stderr)
		}
	}
}

// TestRunStartsItsServer: a server that run launched is killed and started again under
// load, and none is left afterwards.
func TestRunStartsItsServer(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	_, _, stderr := redline(t, nil, "run", "--server-command", startedSim("weights 10ms"), "--rate", "20", "--duration", "4s", "--warmup", "0s", "--drain", "1s",
		"--workload", "fixed(20,2)", "--at", "1s: kill", "--at", "2s: start", "--at", "2500ms: start", "--no-telemetry", "--out", out, "--quiet")
	res, err := measure.Rebuild(out)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	p := res.Points[0]
	if p.Fire == nil || len(p.Fire.Events) != 3 || p.Fire.Events[0].Lost == 0 || p.Fire.Events[0].Failed != "" || p.Fire.Events[1].Failed != "" || p.Fire.Events[2].Failed == "" {
		t.Errorf("%+v, want requests lost by the kill, and that a server cannot be started twice", p.Fire)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(res.Engine.URL, "http://")); err == nil {
		c.Close()
		t.Error("the server still runs")
	}
}
