//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
)

// simTemplate is a template that starts the simulated engine under a name, by
// which its processes can be found.
func simTemplate(name string) string {
	return "{redline} sim --listen 127.0.0.1:{port} --served-model-name " + name + " --max-num-seqs {n}"
}

// short makes every run of a tuning a second long.
var short = []string{"--workload", "fixed(50,20)", "--rate", "40", "--duration", "1s", "--warmup", "0s", "--drain", "1s",
	"--repeat", "1", "--slo", "ttft:p95<300ms", "--no-telemetry", "--anyway"}

// TestTuneOverSockets: one sequence at a time is too few by far, eight are
// enough, and a value that the engine refuses is rejected with what it said.
func TestTuneOverSockets(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "tune")
	code, stdout, stderr := redline(t, nil, append([]string{"tune", "--server-command", simTemplate("sockets"), "--knob", "n=1,-5,8",
		"--rounds", "2", "--objective", "throughput", "--out", out}, short...)...)
	res, err := measure.Rebuild(out)
	if err != nil || code != resultCode(res) {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	steps := res.Tuning.Steps
	if len(steps) != 2 || steps[0].Decision != slo.Failed || len(steps[0].Log) == 0 || !strings.Contains(steps[0].Log[0], "--max-num-seqs: must be more than 0") {
		t.Fatalf("%+v, want that -5 fails, with what the engine says", steps)
	}
	// Two rounds of a second may leave it open, but never speak against it.
	accepted := steps[1].Decision == slo.Accepted
	if steps[1].Decision == slo.Rejected || steps[1].StartUpS == nil || accepted != (res.Tuning.Winner[0].Value == "8") {
		t.Errorf("n=8 is %s: %s; the winner is %v", steps[1].Decision, steps[1].Why, res.Tuning.Winner)
	}
	record := must.Read(t, filepath.Join(out, decisionFile))
	for _, want := range []string{"| n=-5 | 1 | failed |", "ttft:p95&lt;300ms", "stopped because"} {
		if !strings.Contains(string(record), want) {
			t.Errorf("the record lacks %q:\n%s", want, record)
		}
	}
	if before, _, started := strings.Cut(stderr, "Ctrl-C keeps"); !started || !strings.Contains(before, "n=8 in place of 1: more requests share a step") || !strings.Contains(before, "risk: each gets its tokens later") {
		t.Errorf("what n=8 should do was not said before the first run:\n%s", stderr)
	}
	if !strings.Contains(stdout, "n=8") || len(processes("sockets")) > 0 {
		t.Errorf("processes %v left after\n%s", processes("sockets"), stdout)
	}
}

// processes are those whose command line has a word, this one aside.
func processes(word string) (found []string) {
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, path := range entries {
		line, err := os.ReadFile(path)
		if err != nil || filepath.Base(filepath.Dir(path)) == strconv.Itoa(os.Getpid()) {
			continue
		}
		if bytes.Contains(line, []byte(word)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// TestTuneSurvivesKills ends it at random moments, by several signals: no
// process is left, and it goes on to the same answer.
func TestTuneSurvivesKills(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("processes are not to be seen here")
	}
	out, name := filepath.Join(t.TempDir(), "tune"), fmt.Sprintf("killed-%d", rand.Uint32())
	begin := append([]string{"tune", "--server-command", simTemplate(name), "--knob", "n=1,8", "--rounds", "1", "--out", out, "--force"}, short...)
	next := func() []string {
		if exists(out, "experiment.json") {
			return []string{"tune", "--resume", out}
		}
		return begin
	}
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGKILL} {
		cmd, _, _ := program(t, next()...)
		must.Do(t, cmd.Start())
		time.Sleep(time.Duration(200+rand.IntN(2500)) * time.Millisecond)
		_ = cmd.Process.Signal(sig) // it may be done already
		_ = cmd.Wait()
		await(t, "the end of every server", func() bool { return len(processes(name)) == 0 })
	}
	code, _, stderr := runProcess(t, next()...)
	res, err := measure.Rebuild(out)
	if err != nil || code != resultCode(res) {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	if res.Interrupted != "" || len(res.Tuning.Steps) != 1 || len(processes(name)) != 0 {
		t.Errorf("interrupted %q, %d steps, processes %v", res.Interrupted, len(res.Tuning.Steps), processes(name))
	}
	if _, err := experiment.Reopen(out); err != nil {
		t.Error(err)
	}
}

// TestTuneMistakes: whatever is wrong is told in one line, with its cure.
func TestTuneMistakes(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	taken := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no command", []string{"--knob", "n=1,2"}, exitUsage, "--server-command"},
		{"nothing at all", nil, exitUsage, "--server-command: is missing"},
		{"no port in it", []string{"--server-command", "serve {n}", "--knob", "n=1,2"}, exitUsage, "has no {port}"},
		{"no knob in it", []string{"--server-command", "serve {port}"}, exitUsage, "has no knob"},
		{"no values", []string{"--server-command", "serve {port} {n}"}, exitUsage, "--knob n=8,16,32"},
		{"a knob without a place", []string{"--server-command", "serve {port} {n}", "--knob", "m=1,2", "--knob", "n=1,2"}, exitUsage, "write {m}"},
		{"a place without a knob", []string{"--server-command", "serve {port} {n} {m}", "--knob", "n=1,2"}, exitUsage, "names {m}"},
		{"one value", []string{"--server-command", "serve {port} {n}", "--knob", "n=1"}, exitUsage, "max_num_seqs=8,16,32"},
		{"only the baseline", []string{"--server-command", "serve {port} {n}", "--knob", "n=1,1"}, exitUsage, "beside its baseline"},
		{"an odd objective", []string{"--server-command", "serve {port} {n}", "--knob", "n=1,2", "--objective", "joy"}, exitUsage, `unknown figure "joy"`},
		{"a port that is taken", []string{"--server-command", "serve {port} {n}", "--knob", "n=1,2", "--server-port", taken}, exitError, "port " + taken},
		{"a command that exits", []string{"--server-command", "echo no such model; exit 3 # {port} {n}", "--knob", "n=1,2"}, exitError,
			"the baseline cannot be measured: the server exited with code 3"},
		{"its last words", []string{"--server-command", "echo no such model; exit 3 # {port} {n}", "--knob", "n=1,2"}, exitError, "no such model"},
		{"a command that is not there", []string{"--server-command", "no-such-engine {port} {n}", "--knob", "n=1,2"}, exitError, "not found"},
		{"never ready", []string{"--server-command", "echo loading; sleep 60 # {port} {n}", "--knob", "n=1,2", "--ready-timeout", "200ms"}, exitError,
			"the server was not ready after 0.2 s (--ready-timeout)"},
		{"no directory to go on with", []string{"--resume", filepath.Join(t.TempDir(), "none")}, exitError, "holds no experiment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"tune", "--quiet"}
			if len(c.args) == 0 || c.args[0] != "--resume" {
				args = append(args, "--out", filepath.Join(t.TempDir(), "out"))
			}
			code, _, stderr := redline(t, nil, append(args, c.args...)...)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d, want %d with %q:\n%s", code, c.code, c.want, stderr)
			}
			oneLine(t, stderr)
		})
	}
}

// TestKnobsAreForTune: other commands say so, and a secret of the plan stays out of
// what is written.
func TestKnobsAreForTune(t *testing.T) {
	t.Parallel()
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	text := "server:\n  command: 'HF_TOKEN=${HF_TOKEN} serve {port} {n}'\n  env: {API_KEY: hidden-1234}\ntune:\n  knobs:\n    - {name: n, baseline: 1, values: [2, 3]}\n"
	must.Write(t, plan, text)
	env := map[string]string{"HF_TOKEN": "hf-secret-1234"}
	for command, want := range map[string]string{"run": "names {n}, for which only redline tune has values", "sweep": "is started by redline run, tune and startup; redline sweep needs a URL"} {
		code, _, stderr := redline(t, env, command, "--plan", plan)
		if code != exitUsage || !strings.Contains(stderr, plan+":2: server.command: "+want) {
			t.Errorf("exit %d: %s", code, stderr)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	code, _, stderr := redline(t, env, "tune", "--plan", plan, "--out", out, "--quiet")
	if code != exitError || strings.Contains(stderr, "hf-secret") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	kept := must.Read(t, filepath.Join(out, "plan.yaml"))
	if strings.Contains(string(kept), "hf-secret") || strings.Contains(string(kept), "hidden-1234") || !strings.Contains(string(kept), "${HF_TOKEN}") {
		t.Errorf("the plan that was kept:\n%s", kept)
	}
}

// TestALaunchedServersSecretsDoNotLeak: a server that prints a variable of
// server.env, calls its model after it and fails with it leaves it nowhere.
func TestALaunchedServersSecretsDoNotLeak(t *testing.T) {
	t.Parallel()
	const secret, signed = "hf_ZxCvBnMaSdFgHjKl", "Az/09+Secret%3DValue=="
	dir := t.TempDir()
	plan, out := filepath.Join(dir, "plan.yaml"), filepath.Join(dir, "tune")
	text := fmt.Sprintf(`server:
  command: 'echo "started with $HF_TOKEN and $SAS_TOKEN"; [ {n} != 3 ] || { echo "no such thing: $HF_TOKEN"; exit 1; };
    exec {redline} sim --listen 127.0.0.1:{port} --served-model-name "m-$HF_TOKEN-$SAS_TOKEN" --max-num-seqs {n}'
  env: {HF_TOKEN: %q, SAS_TOKEN: %q}
`, secret, signed)
	must.Write(t, plan, text)
	code, stdout, stderr := redline(t, nil, append([]string{"tune", "--plan", plan, "--knob", "n=1,3", "--rounds", "1",
		"--objective", "throughput", "--out", out}, short...)...)
	if code == exitUsage || !exists(out, decisionFile) {
		t.Fatalf("exit %d: %s\n%s", code, stderr, stdout)
	}
	files := filesOf(t, out)
	files["stdout"], files["stderr"] = stdout, stderr
	leaks(t, files, secret, signed)
	if record := files[filepath.Join(out, decisionFile)]; !strings.Contains(record, `m-\*\*\*-\*\*\*`) {
		t.Errorf("the record does not name the model as far as it may:\n%s", record)
	}
}
