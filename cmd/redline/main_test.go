package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"redline/internal/must"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// asRedline makes the test binary be the program itself, for tests that need a
// process of its own.
const asRedline = "REDLINE_TEST_AS_PROGRAM"

// noWorker makes every worker end at its start, with these words.
const noWorker = "REDLINE_TEST_NO_WORKER"

func TestMain(m *testing.M) {
	// What redline itself starts is redline too, never the tests again.
	command := len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.")
	if command && os.Args[1] == asNATS {
		serveNATS(os.Args[2:])
	}
	if command && os.Args[1] == "worker" && os.Getenv(noWorker) != "" {
		fmt.Fprintln(os.Stderr, os.Getenv(noWorker))
		os.Exit(3)
	}
	if command || os.Getenv(asRedline) != "" {
		os.Unsetenv(asRedline)
		main()
	}
	// Commands run side by side in this process, each with sleepers of its own.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 4*pacers)
	os.Exit(m.Run())
}

// asNATS makes the test binary be the server that clusters run.
const asNATS = "nats-server"

// serveNATS is what the main of nats-server does.
func serveNATS(args []string) {
	usage := func() {}
	options, err := server.ConfigureOptions(flag.NewFlagSet(asNATS, flag.ContinueOnError), args, usage, usage, usage)
	if err == nil {
		var s *server.Server
		if s, err = server.NewServer(options); err == nil {
			err = server.Run(s)
			s.WaitForShutdown()
		}
	}
	if err != nil {
		server.PrintAndDie(err.Error())
	}
	os.Exit(0)
}

// buffer is a bytes.Buffer that several goroutines may write to.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// redline runs a command in this process, in an empty environment but for env.
func redline(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err buffer
	p := &process{args: args, stdout: &out, stderr: &err, stop: make(chan struct{}), lookupEnv: environment(env)}
	code = p.run(t.Context())
	return code, out.String(), err.String()
}

// environment looks variables up in a map.
func environment(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// program is the program as a process of its own.
func program(t *testing.T, args ...string) (*exec.Cmd, *buffer, *buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asRedline+"=1")
	cmd.Dir = t.TempDir()
	out, err := new(buffer), new(buffer)
	cmd.Stdout, cmd.Stderr = out, err
	return cmd, out, err
}

// metronome serves tokens at a pace.
func metronome(t *testing.T, pace time.Duration) (url string) {
	t.Helper()
	return metronomeAs(t, "", pace)
}

// metronomeAs serves them under a model's name.
func metronomeAs(t *testing.T, model string, pace time.Duration) (url string) {
	t.Helper()
	running := must.Get(simserver.Start(context.WithoutCancel(t.Context()), sim.Spec{ServedModelName: model}, simserver.ServeOptions{Pace: pace}))(t)
	t.Cleanup(func() { running.Close() })
	return running.URL()
}

// await waits until cond holds, for as long as a very slow machine could need.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for range 24000 {
		if cond() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s never happened", what)
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// oneLine checks that an error is one line without a stack trace.
func oneLine(t *testing.T, stderr string) {
	t.Helper()
	if strings.Count(strings.TrimSpace(stderr), "\n") != 0 || strings.Contains(stderr, "goroutine ") {
		t.Errorf("want one clear line, got:\n%s", stderr)
	}
}
