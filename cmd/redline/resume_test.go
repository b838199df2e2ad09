package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/internal/judge/result"
	"redline/internal/must"
)

// halting closes stop once a text was written.
type halting struct {
	buffer
	text string
	halt func()
}

func (h *halting) Write(p []byte) (int, error) {
	n, err := h.buffer.Write(p)
	if strings.Contains(h.String(), h.text) {
		h.halt()
	}
	return n, err
}

// runInterrupted runs a command whose user stops it when a text appears.
func runInterrupted(t *testing.T, text string, args ...string) (code int, stdout string) {
	t.Helper()
	stop := make(chan struct{})
	out, err := new(buffer), &halting{text: text, halt: sync.OnceFunc(func() { close(stop) })}
	p := &process{args: args, stdout: out, stderr: err, stop: stop, lookupEnv: func(string) (string, bool) { return "", false }}
	return p.run(t.Context()), out.String()
}

// goOn finds the command that a report ends with.
func goOn(t *testing.T, stdout string) []string {
	t.Helper()
	_, line, ok := strings.Cut(stdout, "Resume with: redline ")
	if !ok {
		t.Fatalf("no word on how to go on:\n%s", stdout)
	}
	return strings.Fields(line)
}

// What a cut experiment prints is a whole command, and it goes on: no stage that
// was kept is run again.
func TestThePrintedCommandGoesOn(t *testing.T) {
	t.Parallel()
	a, b := metronome(t, time.Millisecond), metronome(t, time.Millisecond)
	small := []string{"--concurrency", "1", "--requests", "3", "--warmup", "0s", "--workload", "fixed(16,3)", "--anyway"}
	for _, tt := range []struct {
		command []string
		first   string // the stage after which the user stops it
		stages  int
	}{
		{[]string{"compare", a, b, "--rounds", "2"}, "round 1 A", 4},
		{[]string{"run", "--url", a, "--repeat", "2"}, "run 1", 2},
	} {
		out := filepath.Join(t.TempDir(), "kept")
		args := append(append(tt.command, small...), "--out", out)
		code, stdout := runInterrupted(t, tt.first+" · ", args...)
		if code != exitInterrupted {
			t.Fatalf("%v: exit %d, want %d", tt.command, code, exitInterrupted)
		}
		on := goOn(t, stdout)
		_, stdout, stderr := redline(t, nil, append(on, "--json")...)
		var res result.Result
		if err := json.Unmarshal([]byte(stdout), &res); err != nil {
			t.Fatalf("%v: %v, %s", on, err, stderr)
		}
		if len(res.Stages) != tt.stages || res.Interrupted != "" || strings.Count(stderr, "kept from before") != 1 ||
			!strings.Contains(stderr, tt.first+" · kept from before") {
			t.Errorf("%v: %d stages, interrupted %q, want %d with the first kept:\n%s", on, len(res.Stages), res.Interrupted, tt.stages, stderr)
		}
	}
}

// Whoever goes on goes on by the plan that was kept, whatever else the
// environment, the flags or the arguments say by now.
func TestResumeTakesTheKeptPlan(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "sweep")
	virtually(t, func(w *world) {
		if code, _, stderr := w.redline("sweep", "--concurrencies", "1", "--requests", "3", "--warmup", "0s", "--workload", "fixed(16,3)",
			"--out", out, "--quiet"); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	})
	env := map[string]string{"REDLINE_SEED": "99", "REDLINE_REQUESTS": "5", "REDLINE_WORKLOAD": "fixed(8,8)", "REDLINE_PLAN": "nowhere.yaml"}
	if _, _, stderr := redline(t, env, "sweep", "--resume", out); !strings.Contains(stderr, "kept from before") {
		t.Errorf("with settings in the environment: %q, want the level kept", stderr)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"sweep", "--resume", out, "--seed", "1"}, exitUsage, "leave out --seed"},
		{[]string{"matrix", "--resume", out, "--quiet"}, exitError, "redline sweep --resume"},
		{[]string{"compare", "--resume", out}, exitError, "no live comparison"},
		{[]string{"compare", "http://127.0.0.1:1", "http://127.0.0.1:2", "--resume", out}, exitUsage, "leave out http://127.0.0.1:1"},
		{[]string{"run", "--resume", filepath.Join(out, "stages", "01-1-in-flight")}, exitError, "single run"},
	} {
		code, _, stderr := redline(t, nil, tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q; want %d and one line with %q", tt.args, code, stderr, tt.code, tt.want)
		}
	}
}

// A plan that asks for more than one load is not run as if it asked for one.
func TestRunNamesTheCommandOfAPlan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ plan, want string }{
		{"experiment: {rows: [{name: A, concurrency: 1}]}", "redline matrix"},
		{"experiment: {variants: [{name: tp2, sim: {tp: 2}}]}", "redline bench"},
		{"experiment: {rounds: 3}", "redline compare"},
		{"experiment: {repeat: 3, rates: [1, 2]}", "experiment.repeat"},
		{"experiment: {repeat: 3, concurrencies: [1, 2]}", "experiment.repeat"},
	} {
		path := must.File(t, "plan.yaml", tt.plan)
		out := filepath.Join(t.TempDir(), "run")
		code, _, stderr := redline(t, nil, "run", "--plan", path, "--out", out, "--concurrency", "1", "--requests", "1", "--warmup", "0s", "--quiet")
		if code != exitUsage || !strings.Contains(stderr, tt.want) || exists(out, "result.json") {
			t.Errorf("%s: exit %d, %q; want a usage error with %q", tt.plan, code, stderr, tt.want)
		}
	}
}

// TestSingleRunsThatCannotBeResumed: the line says why, and what can be done.
func TestSingleRunsThatCannotBeResumed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	virtually(t, func(w *world) {
		if code, _, stderr := w.redline("run", "--plain", "--requests", "3", "--concurrency", "1", "--workload", "fixed(16,3)", "--out", dir, "--quiet"); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	})
	write := func(name, content string) {
		must.Write(t, filepath.Join(dir, name), content)
	}
	refused := func(want, never string, commands ...string) {
		t.Helper()
		for _, command := range commands {
			code, _, stderr := redline(t, nil, command, "--resume", dir, "--quiet")
			if code != exitError || !strings.Contains(stderr, want) || !strings.Contains(stderr, "redline report "+dir) || strings.Contains(stderr, never) {
				t.Errorf("%s: exit %d, %s, want %s", command, code, stderr, want)
			}
			oneLine(t, stderr)
		}
	}
	refused("is finished", "crew.json", "run", "sweep")
	must.Do(t, os.Remove(filepath.Join(dir, "result.json")))
	refused("no crew.json in it); run its plan again with --plan "+filepath.Join(dir, "plan.yaml"), "finished", "run")
	write("crew.json", "nonsense")
	refused(filepath.Join(dir, "crew.json")+" was not written", "finished", "run")
	write("crew.json", `{"schema": "redline/crew/1"}`)
	plan := must.Read(t, filepath.Join(dir, "plan.yaml"))
	write("plan.yaml", string(plan)+"workers: {count: 2, nats: 'nats://127.0.0.1:1'}\n")
	refused("give that as REDLINE_JOIN_TOKEN", "--nats", "run") // which the plan has
}
