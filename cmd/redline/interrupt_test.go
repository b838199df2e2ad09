//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/store"
)

// long is a long load as a process of its own.
func long(t *testing.T, flags ...string) (cmd *exec.Cmd, out string, stdout, stderr *buffer) {
	t.Helper()
	url := metronome(t, 2*time.Millisecond)
	out = filepath.Join(t.TempDir(), "run")
	args := append([]string{"run", "--url", url, "--concurrency", "4", "--duration", "10m", "--warmup", "100ms",
		"--workload", "fixed(16,20)", "--out", out}, flags...)
	cmd, stdout, stderr = program(t, args...)
	return cmd, out, stdout, stderr
}

// startLongLoad runs a long load and returns once records are on disk.
func startLongLoad(t *testing.T, flags ...string) (cmd *exec.Cmd, out string, stdout, stderr *buffer) {
	t.Helper()
	cmd, out, stdout, stderr = long(t, flags...)
	start(t, cmd, out)
	return cmd, out, stdout, stderr
}

func start(t *testing.T, cmd *exec.Cmd, out string) {
	t.Helper()
	must.Do(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	await(t, "a record on disk", func() bool { return lines(filepath.Join(out, "records.jsonl")) > 40 })
}

func lines(path string) (n int) {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		n++
	}
	return n
}

// TestInterruptKeepsWhatWasMeasured: Ctrl-C, a scheduler's end and a terminal that
// goes away all end a run in order.
func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	// A caught signal is at its default again in what is started, also where the
	// tests ignore it as nohup has them do.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	for _, by := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			interruptedBy(t, by)
		})
	}
}

// TestNohup: a run that was told to ignore a hangup goes on.
func TestNohup(t *testing.T) {
	t.Parallel()
	cmd, out, _, _ := long(t, "--quiet")
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"/bin/sh", "-c", `trap "" HUP; exec "$0" "$@"`}, cmd.Args...)
	start(t, cmd, out)
	cmd.Process.Signal(syscall.SIGHUP)
	before := lines(filepath.Join(out, "records.jsonl"))
	await(t, "more than what was in flight", func() bool { return lines(filepath.Join(out, "records.jsonl")) > before+40 })
}

// TestNobodyReadsTheProgress: a pipe behind standard error that is closed, as by
// head, costs no result.
func TestNobodyReadsTheProgress(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	cmd, stdout, _ := program(t, "run", "--url", metronome(t, 2*time.Millisecond), "--concurrency", "4", "--duration", "1s",
		"--warmup", "100ms", "--workload", "fixed(16,20)", "--out", out)
	read, write := must.Get2(os.Pipe())(t)
	defer write.Close()
	read.Close()
	cmd.Stderr = write
	cmd.Run()
	res := readResultOf(t, out)
	if code := cmd.ProcessState.ExitCode(); code != resultCode(res) || res.Interrupted != "" || res.Points[0].Requests.OK == 0 {
		t.Errorf("%s of a result that is %s, interrupted %q\n%s", cmd.ProcessState, res.Verdict.Valid, res.Interrupted, stdout)
	}
}

// TestNobodyReadsTheAnswer: a process whose standard output is closed, as by head,
// ends by the signal and says nothing, whichever way it is printed.
func TestNobodyReadsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"catalog"}} {
		cmd, _, stderr := program(t, args...)
		read, write := must.Get2(os.Pipe())(t)
		defer write.Close()
		read.Close()
		cmd.Stdout = write
		cmd.Run()
		if ended := cmd.ProcessState.String(); ended != "signal: broken pipe" || stderr.String() != "" {
			t.Errorf("%s: %s, saying %q", args, ended, stderr)
		}
	}
}

func interruptedBy(t *testing.T, signal syscall.Signal) {
	cmd, out, stdout, stderr := startLongLoad(t, "--quiet")
	cmd.Process.Signal(signal)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit %d, want %d\n%s%s", code, exitInterrupted, stdout, stderr)
	}
	if !strings.HasPrefix(stdout.String(), "INTERRUPTED") {
		t.Errorf("the report does not begin with INTERRUPTED:\n%s", stdout)
	}
	dir := must.Get(store.Open(out))(t)
	res := must.Get(dir.Result())(t)
	if got := res.Points[0].Requests; got.OK == 0 || got.Cancelled != 0 {
		t.Errorf("%d ok and %d cancelled; requests in flight had time to end", got.OK, got.Cancelled)
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	cmd, out, _, stderr := startedSlow(t)
	cmd.Process.Signal(syscall.SIGINT)
	await(t, "the notice", func() bool { return strings.Contains(stderr.String(), "Ctrl-C") })
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d, want %d\n%s", code, exitInterrupted, stderr)
	}
	if lines(filepath.Join(out, "records.jsonl")) < 2 {
		t.Error("the records are gone")
	}
}

// startedSlow has requests in flight that take longer than the grace.
func startedSlow(t *testing.T) (cmd *exec.Cmd, out string, stdout, stderr *buffer) {
	t.Helper()
	url := metronome(t, 50*time.Millisecond)
	out = filepath.Join(t.TempDir(), "run")
	cmd, stdout, stderr = program(t, "run", "--url", url, "--concurrency", "4", "--duration", "10m", "--warmup", "0s",
		"--workload", "fixed(16,2000)", "--out", out)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	await(t, "the first live line", func() bool { return strings.Contains(stderr.String(), "in flight") })
	return cmd, out, stdout, stderr
}

func TestKilledRunStillReports(t *testing.T) {
	t.Parallel()
	cmd, out, _, _ := startLongLoad(t, "--quiet")
	await(t, "telemetry of the window", func() bool { return lines(filepath.Join(out, "telemetry.jsonl")) > 6 })
	cmd.Process.Kill()
	cmd.Wait()
	if exists(out, "result.json") {
		t.Fatal("a killed run has a result")
	}
	code, stdout, stderr := redline(t, nil, "report", out, "--explain")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if _, unchecked, _ := strings.Cut(stdout, "\nunchecked"); strings.Contains(unchecked, "own CPU") {
		t.Errorf("the telemetry log was not asked:\n%s", stdout)
	}
	// What the server and this machine did was logged meanwhile.
	for _, want := range []string{"killed", "ttft", "tpot", "\nserver ", "\nengine ", "\nmodel "} {
		if !strings.Contains(strings.ToLower(stdout), want) {
			t.Errorf("the report does not say %q:\n%s", want, stdout)
		}
	}
}

func TestVersionAsAProcess(t *testing.T) {
	t.Parallel()
	cmd, stdout, _ := program(t, "version")
	if err := cmd.Run(); err != nil || !strings.HasPrefix(stdout.String(), "redline ") {
		t.Errorf("%v: %q", err, stdout)
	}
}
