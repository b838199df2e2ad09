//go:build unix

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/must"
)

// startProcess starts a command as a process of its own and returns once a file of its
// directory is there.
func startProcess(t *testing.T, out, file string, args ...string) *exec.Cmd {
	t.Helper()
	cmd, _, stderr := program(t, append(args, "--out", out)...)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	await(t, file+" ("+stderr.String()+")", func() bool { return exists(out, file) })
	return cmd
}

// runProcess runs a command as a process of its own to its end.
func runProcess(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd, out, err := program(t, args...)
	_ = cmd.Run() // its exit code says more
	return cmd.ProcessState.ExitCode(), out.String(), err.String()
}

// A second process that would write to a directory is told who has it and
// changes nothing; a reader is not held up; a kill frees it.
func TestADirectoryHasOneWriter(t *testing.T) {
	t.Parallel()
	url := metronome(t, 2*time.Millisecond)
	load := []string{"--url", url, "--warmup", "0s", "--workload", "fixed(16,4)", "--quiet"}
	long, short := append(load, "--duration", "10m"), append(load, "--requests", "4")
	for _, tt := range []struct {
		name    string
		first   []string
		file    string // there once the first has begun
		second  func(out string) []string
		after   func(out string) []string
		holder  string
		readers bool
	}{
		{"run", append([]string{"run", "--concurrency", "2"}, long...), "records.jsonl",
			func(out string) []string {
				return append([]string{"run", "--concurrency", "2", "--force", "--out", out}, short...)
			}, nil, "redline run", true},
		{"sweep", append([]string{"sweep", "--concurrencies", "1,2"}, long...), "stages/01-1-in-flight/records.jsonl",
			func(out string) []string { return []string{"sweep", "--resume", out, "--quiet"} },
			func(out string) []string {
				return append([]string{"sweep", "--concurrencies", "1,2", "--force", "--out", out}, short...)
			}, "redline sweep", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "d")
			first := startProcess(t, out, tt.file, tt.first...)
			code, _, stderr := runProcess(t, tt.second(out)...)
			who := fmt.Sprintf("is being written by %s (pid %d, since ", tt.holder, first.Process.Pid)
			if code != exitError || !strings.Contains(stderr, who) {
				t.Fatalf("a second writer: exit %d, want %d and %q:\n%s", code, exitError, who, stderr)
			}
			oneLine(t, stderr)
			if tt.readers {
				await(t, "a record", func() bool { return lines(filepath.Join(out, "records.jsonl")) > 20 })
				if code, _, stderr := runProcess(t, "report", out); code != exitOK {
					t.Errorf("a reader: exit %d\n%s", code, stderr)
				}
			}
			first.Process.Kill()
			first.Wait()
			again := tt.after
			if again == nil {
				again = tt.second
			}
			if code, _, stderr := runProcess(t, again(out)...); code == exitError || code == exitUsage {
				t.Errorf("after the first was killed: exit %d\n%s", code, stderr)
			}
			if exists(out, "redline.lock") {
				t.Error("the lock file is left behind")
			}
		})
	}
}
