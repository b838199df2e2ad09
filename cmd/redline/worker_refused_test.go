//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"redline/internal/must"
	"redline/internal/workers/bus"
	"redline/internal/workers/crew"
)

// TestWorkersThatAreRefused: a worker that would spoil a run, or is none, is refused
// by name, and the conductor ends with one line that has the cure.
func TestWorkersThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, tc := range []struct {
		name string
		wait string
		join func(c *cluster)
		want []string
	}{
		{"nobody comes", "500ms", func(*cluster) {}, []string{"no worker came in the time allowed", "redline worker --nats " + c.nats, bus.TokenVariable}},
		{"another token", "2500ms", func(c *cluster) {
			cmd, _, said := program(t, "worker", "--nats", c.nats, "--name", "stranger")
			cmd.Env = append(cmd.Env, bus.TokenVariable+"=the token of somebody else")
			startedProcess(t, cmd)
			(&hand{cmd, said}).says(t, "waits for work")
			t.Cleanup(func() { cmd.Process.Kill() })
		}, []string{"no worker came", "could not be opened", "another join token"}},
		{"another version", "2500ms", func(c *cluster) { c.older() }, []string{"no worker came", "worker old", "is redline 0.9 and this is " + version, "install the same version there"}},
		{"too few open files", "1m", func(c *cluster) {
			cmd, _, said := program(t, "worker", "--nats", c.nats, "--name", "poor")
			shell := exec.Command("sh", append([]string{"-c", `ulimit -n 64; exec "$0" "$@"`}, cmd.Args...)...)
			shell.Env, shell.Dir, shell.Stderr = append(cmd.Env, bus.TokenVariable+"="+crewToken), cmd.Dir, said
			startedProcess(t, shell)
			(&hand{shell, said}).says(t, "waits for work")
		}, []string{"worker poor", "open files", "may have 64", "ulimit -n"}},
	} {
		tc.join(c)
		run := c.conducts(1, "run", "--rate", "20", "--duration", "1s", "--workers-wait", tc.wait)
		if code := run.code(); code != exitError || exists(run.dir, "result.json") {
			t.Errorf("%s: exit %d\n%s", tc.name, code, run.said)
		}
		lines := strings.Split(strings.TrimSpace(run.said.String()), "\n")
		for _, want := range tc.want {
			if !strings.Contains(lines[len(lines)-1], want) {
				t.Errorf("%s: the last line is %q, want %q", tc.name, lines[len(lines)-1], want)
			}
		}
		if strings.Contains(run.said.String(), "goroutine ") {
			t.Errorf("%s: %s", tc.name, run.said)
		}
	}
}

// TestWorkersNeedTheFilesOfAPlan: a worker without them, or with others under
// their names, does not send another load than was asked for.
func TestWorkersNeedTheFilesOfAPlan(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := c.joins("w1")
	write := func(dir, word string) {
		line := fmt.Sprintf("{\"prompt\": \"%s is a word\", \"output_tokens\": 4}\n", word)
		must.Write(t, filepath.Join(dir, "prompts.jsonl"), strings.Repeat(line, 50))
	}
	run := func() (*conductor, int) {
		dir := filepath.Join(t.TempDir(), "run")
		cmd, out, said := program(t, "run", "--url", c.engine, "--workload", "prompts.jsonl", "--concurrency", "2", "--requests", "10", "--warmup", "0s",
			"--workers", "1", "--nats", c.nats, "--out", dir, "--quiet")
		cmd.Env = append(cmd.Env, bus.TokenVariable+"="+crewToken)
		write(cmd.Dir, "apple")
		startedProcess(t, cmd)
		one := &conductor{Cmd: cmd, t: t, dir: dir, out: out, said: said}
		return one, one.code()
	}
	if one, code := run(); code != exitError || !strings.Contains(one.said.String(), "worker w1") || !strings.Contains(one.said.String(), "copy the plan's files to its machine") {
		t.Errorf("without it: exit %d, %s", code, one.said)
	}
	write(h.Dir, "pear")
	if one, code := run(); code != exitError || !strings.Contains(one.said.String(), "it would send another load than the conductor") {
		t.Errorf("with another: exit %d, %s", code, one.said)
	}
	write(h.Dir, "apple")
	one, _ := run()
	if n := one.result().Points[0].Requests; n.OK != 10 {
		t.Errorf("with the same: %d of %d ok", n.OK, n.Due)
	}
}

// older is a worker of another version.
func (c *cluster) older() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	member, err := bus.Join(ctx, bus.Options{URL: c.nats, Token: crewToken})
	if err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- member.Serve(ctx, crew.Hello{ID: "old", Name: "old", Version: "0.9"}, func() string { return "" },
			func(context.Context, crew.Question) crew.Answer { return crew.Answer{} })
	}()
	c.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			c.t.Error(err)
		}
		member.Close()
	})
}

// TestAnEmbeddedServerRefusesStrangers: who lacks the token that the conductor
// prints is refused on both sides, and who has it works.
func TestAnEmbeddedServerRefusesStrangers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	dir, at := filepath.Join(t.TempDir(), "run"), "127.0.0.1:"+freePort(t)
	cmd, out, said := program(t, "run", "--url", c.engine, "--rate", "20", "--duration", "1s", "--warmup", "0s", "--workload", "fixed(20,10)",
		"--workers", "1", "--nats-listen", at, "--out", dir, "--quiet")
	startedProcess(t, cmd)
	run := &conductor{Cmd: cmd, t: t, dir: dir, out: out, said: said}
	const asks = bus.TokenVariable + "="
	await(t, "a token", func() bool { return strings.Contains(said.String(), asks) })
	_, rest, _ := strings.Cut(said.String(), asks)
	token := strings.Fields(rest)[0]
	work := func(token string) (code int, stderr string) {
		cmd, _, said := program(t, "worker", "--nats", "nats://"+at, "--once")
		cmd.Env = append(cmd.Env, asks+token)
		_ = cmd.Run() // its exit code says more
		return cmd.ProcessState.ExitCode(), said.String()
	}
	code, stderr := work("the token of somebody else")
	if oneLine(t, stderr); code != exitError || !strings.Contains(stderr, "the join token is not the conductor's") || !strings.Contains(stderr, bus.TokenVariable) {
		t.Errorf("exit %d, %q", code, stderr)
	}
	await(t, "word of it", func() bool { return strings.Contains(said.String(), "refused a worker at 127.0.0.1") })
	if code, stderr := work(token); code != exitOK || !strings.Contains(stderr, "released") {
		t.Errorf("with the token: exit %d, %s", code, stderr)
	}
	run.result()
}

// TestNoServerWithoutWorkers: a run that sends its load itself listens nowhere; one
// with workers does.
func TestNoServerWithoutWorkers(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/net/tcp"); err != nil {
		t.Skip("needs /proc")
	}
	c := newCluster(t)
	for want, workers := range [][]string{nil, {"--workers", "1"}} {
		dir := filepath.Join(t.TempDir(), "run")
		run := c.start(dir, append([]string{"run", "--url", c.engine, "--rate", "20", "--duration", "10m", "--warmup", "0s", "--workload", "fixed(20,10)",
			"--out", dir, "--quiet"}, workers...)...)
		run.under(20)
		if got := countListeners(t, run.Process.Pid); got != want {
			t.Errorf("%q: listens at %d addresses, want %d", workers, got, want)
		}
		run.Process.Kill()
	}
}

// countListeners counts the sockets of a process that take connections.
func countListeners(t *testing.T, pid int) (n int) {
	t.Helper()
	own := map[string]bool{}
	files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no open files of process %d: %v", pid, err)
	}
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && strings.HasPrefix(to, "socket:[") {
			own[strings.Trim(to, "socket:[]")] = true
		}
	}
	const state, inode, listen = 3, 9, "0A"
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		content, _ := os.ReadFile(table) // a machine may lack IPv6
		for line := range strings.Lines(string(content)) {
			if f := strings.Fields(line); len(f) > inode && f[state] == listen && own[f[inode]] {
				n++
			}
		}
	}
	return n
}

// TestJoinTokensThatNobodyMeans: neither side begins with one.
func TestJoinTokensThatNobodyMeans(t *testing.T) {
	t.Parallel()
	for _, token := range []string{strings.Repeat(" ", 20), "t0123456789abcdef\n", "t0123456789\x00abcdef", " t0123456789abcdef"} {
		for _, args := range [][]string{
			{"worker", "--nats", "nats://127.0.0.1:1"},
			{"run", "--url", "http://127.0.0.1:1", "--workers", "1", "--nats", "nats://127.0.0.1:1"},
		} {
			code, _, stderr := redline(t, map[string]string{"REDLINE_JOIN_TOKEN": token}, args...)
			if code != exitUsage || !strings.Contains(stderr, "REDLINE_JOIN_TOKEN: expected a join token") {
				t.Errorf("%s with %q: exit %d, %s", args[0], token, code, stderr)
			}
		}
	}
}
