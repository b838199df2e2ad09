//go:build linux

// Command workers measures what more workers bring and cost: each on a core of
// its own, the conductor on another, the servers on those that are left. It
// writes its table into docs/SCALE.md. It is run from the repository's root, by
// make workers, on a machine with many cores.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"redline/internal/judge/result"
	"redline/internal/run/store"
	"redline/scripts/truth"
)

var (
	binary  = flag.String("redline", "bin/redline", "the program to measure")
	page    = flag.String("out", "docs/SCALE.md", "file whose table is written")
	streams = flag.Int("streams", 1000, "streams of each worker, 50 tokens/s each")
	counts  = flag.String("workers", "1,2,4,8", "numbers of workers")
)

const (
	token = "a-token-for-a-measurement"
	nats  = "127.0.0.1:4299"
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "workers:", err)
		os.Exit(1)
	}
}

func run() error {
	table, err := measureAll()
	if err != nil {
		return err
	}
	return truth.Replace(*page, "workers", table)
}

func measureAll() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Written by `make workers` on %s.\n\n", truth.Machine())
	b.WriteString("| workers | streams | tokens/s | times one | lag p99, ms | itl p99, ms | coalesced | workers, µs per token | conductor, µs per token | of the workers' CPU | conductor, MB | messages/s | MB/s |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	first := 0.0
	for count := range strings.SplitSeq(*counts, ",") {
		var n int
		if _, err := fmt.Sscan(count, &n); err != nil || n < 1 {
			return "", fmt.Errorf("-workers: %q is no number of workers", count)
		}
		row, rate, err := measure(n, first)
		if err != nil {
			return "", fmt.Errorf("%d workers: %w", n, err)
		}
		if first == 0 {
			first = rate / float64(n)
		}
		fmt.Fprint(os.Stderr, row)
		b.WriteString(row)
	}
	return b.String(), nil
}

// on gives a command that may use some cores only. Machines with few cores give
// all of them.
func on(first, last int, args ...string) *exec.Cmd {
	if most := runtime.NumCPU() - 1; last <= most {
		args = append([]string{"taskset", "-c", fmt.Sprintf("%d-%d", first, last)}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "REDLINE_JOIN_TOKEN="+token)
	cmd.Stderr = os.Stderr
	return cmd
}

// measure drives one load and gives its row and tokens/s.
func measure(n int, first float64) (row string, rate float64, err error) {
	dir, err := os.MkdirTemp("", "workers")
	if err != nil {
		return "", 0, err
	}
	defer os.RemoveAll(dir)
	var running []*exec.Cmd
	defer func() {
		for _, cmd := range running {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	start := func(cmd *exec.Cmd) error {
		running = append(running, cmd)
		return cmd.Start()
	}
	cores := runtime.NumCPU()
	args := []string{*binary, "run", "--quiet", "--out", filepath.Join(dir, "run"), "--workers", fmt.Sprint(n), "--nats-listen", nats,
		"--concurrency", fmt.Sprint(n * *streams), "--workload", "fixed(16,100)", "--warmup", "4s", "--duration", "10s"}
	for i := range 4 {
		address := fmt.Sprintf("127.0.0.1:%d", 4300+i)
		if err := start(on(min(9, cores-1), cores-1, *binary, "sim", "--listen", address, "--pace", "20ms")); err != nil {
			return "", 0, err
		}
		args = append(args, "--url", "http://"+address)
	}
	for i := range n {
		if err := start(on(i, i, *binary, "worker", "--nats", "nats://"+nats, "--name", fmt.Sprintf("w%d", i+1))); err != nil {
			return "", 0, err
		}
	}
	time.Sleep(time.Second)
	conductor := on(8, 8, args...)
	var exit *exec.ExitError
	if err := conductor.Run(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() > 2) {
		return "", 0, err
	}
	opened, err := store.Open(filepath.Join(dir, "run"))
	if err != nil {
		return "", 0, err
	}
	res, err := opened.Result()
	if err != nil {
		return "", 0, err
	}
	memory := conductor.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
	return tell(n, first, res, opened, memory)
}

func tell(n int, first float64, res *result.Result, dir *store.Dir, memory int64) (string, float64, error) {
	p := res.Points[0]
	seconds := p.Window.EndS - p.Window.StartS
	rate := p.Throughput.Output
	workers := 0.0
	for _, w := range res.Workers {
		workers += w.Client.CPUSeconds
	}
	size, err := os.Stat(dir.RecordsPath())
	if err != nil {
		return "", 0, err
	}
	events, coalesced := 0, 0
	for r, err := range dir.Records() {
		if err != nil {
			return "", 0, err
		}
		events += r.ChunkCount()
		coalesced += r.Coalesced
	}
	times := 1.0
	if first > 0 {
		times = rate / first
	}
	per := func(cpu float64) float64 { return cpu * 1e6 / (rate * seconds) }
	own := res.Conductor.CPUSeconds
	var failed []string
	for _, c := range res.Verdict.Checks {
		if !c.OK && !slices.Contains(failed, c.Name) {
			failed = append(failed, c.Name)
		}
	}
	row := fmt.Sprintf("| %d | %d | %.0f | %.2f | %.2f | %.2f | %.2f%% | %.2f | %.3f | %.1f%% | %d | %d | %.1f |\n", n, n**streams, rate, times,
		p.Latency.Lag.P["p99"], p.Latency.ITL.P["p99"], 100*float64(coalesced)/float64(max(1, events)),
		per(workers), per(own), 100*own/workers, memory, 10*n, float64(size.Size())/1e6/seconds)
	if failed != nil {
		fmt.Fprintln(os.Stderr, "failed checks:", strings.Join(failed, ", "))
	}
	return row, rate, nil
}
