//go:build linux

// Command workers measures what more workers bring and cost: each on a core of
// its own, the conductor on another, the servers on those that are left. It
// writes its table into docs/measured/SCALE.md. It is run from the repository's root, by
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
	"strings"
	"syscall"
	"time"

	"redline/internal/judge/result"
	"redline/internal/run/store"
	"redline/scripts/truth"
)

var (
	binary  = flag.String("redline", "bin/redline", "the program to measure")
	page    = flag.String("out", "docs/measured/SCALE.md", "file whose table is written")
	streams = flag.Int("streams", 1000, "streams of each worker, 50 tokens/s each")
	most    = flag.Int("most", 64, "the largest number of workers")
)

// trial is a number of workers with some streams each.
type trial struct {
	workers, streams int
	flags            []string
}

// trials are workers with much to do, many with little, which shows what each of
// them costs, and much with the times of few tokens.
func trials() []trial {
	n, few := *streams, *streams/50
	all := []trial{{1, n, nil}, {2, n, nil}, {4, n, nil}, {8, n, nil}, {1, few, nil}, {64, few, nil}, {8, n, []string{"--token-times", "1%"}}}
	for i := range all {
		all[i].workers = min(all[i].workers, *most)
	}
	return all
}

// outcome is what a trial came to.
type outcome struct {
	trial
	rate      float64 // tokens/s
	requests  float64 // per second
	lag, gap  float64 // p99, ms
	coalesced float64
	workerCPU float64 // seconds per second
	ownCPU    float64
	memory    int64   // of the conductor, MB
	bytes     float64 // of records, per second
}

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
	fmt.Fprintf(&b, "On %s.\n\n", truth.Machine())
	b.WriteString("| workers | streams | flags | tokens/s | times one | lag p99, ms | itl p99, ms | coalesced | workers, µs per token | conductor, µs per token | of the workers' CPU | conductor, MB | messages/s | MB/s |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	var all []outcome
	for _, t := range trials() {
		o, err := t.measure()
		if err != nil {
			return "", fmt.Errorf("%d workers: %w", t.workers, err)
		}
		all = append(all, o)
		row := o.row(all[0].rate)
		fmt.Fprint(os.Stderr, row)
		b.WriteString(row)
	}
	b.WriteString("\n" + model(all))
	return b.String(), nil
}

func (o outcome) row(one float64) string {
	flags := "–"
	if o.flags != nil {
		flags = "`" + strings.Join(o.flags, " ") + "`"
	}
	return fmt.Sprintf("| %d | %d | %s | %.0f | %.2f | %.2f | %.2f | %.2f%% | %.2f | %.3f | %.1f%% | %d | %d | %.1f |\n", o.workers, o.workers*o.streams, flags,
		o.rate, o.rate/one, o.lag, o.gap, o.coalesced, 1e6*o.workerCPU/o.rate, 1e6*o.ownCPU/o.rate, 100*o.ownCPU/o.workerCPU, o.memory, 10*o.workers, o.bytes/1e6)
}

// model says what a conductor would need at sizes that this machine cannot reach:
// a part of its own, one for each worker, and one for each token.
func model(all []outcome) string {
	full, alone, crowd, thin := all[3], all[4], all[5], all[6]
	each := (crowd.ownCPU - alone.ownCPU - (crowd.rate-alone.rate)*full.ownCPU/full.rate) / float64(max(1, crowd.workers-alone.workers))
	each = max(each, 0)
	own := max(0, alone.ownCPU-each-alone.rate*full.ownCPU/full.rate)
	perToken := func(o outcome) float64 { return max(0, o.ownCPU-own-each*float64(o.workers)) / o.rate }
	var b strings.Builder
	fmt.Fprintf(&b, "Of a conductor's CPU time, %.3f cores are its own, %.4f go to each worker, %.3f µs to each token, or %.3f µs with the times of one request in a hundred.\n",
		own, each, 1e6*perToken(full), 1e6*perToken(thin))
	b.WriteString("By that, at replies of 100 tokens and 100,000 tokens/s from each worker:\n\n" +
		"| workers | tokens/s | messages/s | conductor, cores | MB/s | cores, `--token-times 1%` | MB/s |\n|---|---|---|---|---|---|---|\n")
	for _, n := range []float64{10, 30, 100, 300, 1000} {
		rate := n * 1e5
		cores := func(o outcome) float64 { return own + each*n + perToken(o)*rate }
		fmt.Fprintf(&b, "| %.0f | %.0f M | %.0f | %.1f | %.0f | %.1f | %.0f |\n", n, rate/1e6, 10*n, cores(full), full.bytes/full.rate*rate/1e6, cores(thin), thin.bytes/thin.rate*rate/1e6)
	}
	return b.String()
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

// measure drives the load.
func (t trial) measure() (o outcome, err error) {
	dir, err := os.MkdirTemp("", "workers")
	if err != nil {
		return o, err
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
	args := append([]string{*binary, "run", "--quiet", "--out", filepath.Join(dir, "run"), "--workers", fmt.Sprint(t.workers), "--nats-listen", nats,
		"--concurrency", fmt.Sprint(t.workers * t.streams), "--workload", "fixed(16,100)", "--warmup", "4s", "--duration", "10s"}, t.flags...)
	for i := range 4 {
		address := fmt.Sprintf("127.0.0.1:%d", 4300+i)
		if err := start(on(min(9, cores-1), cores-1, *binary, "sim", "--listen", address, "--pace", "20ms")); err != nil {
			return o, err
		}
		args = append(args, "--url", "http://"+address)
	}
	for i := range t.workers {
		if err := start(on(i%8, i%8, *binary, "worker", "--nats", "nats://"+nats, "--name", fmt.Sprintf("w%d", i+1))); err != nil {
			return o, err
		}
	}
	time.Sleep(time.Second)
	conductor := on(8, 8, args...)
	var exit *exec.ExitError
	if err := conductor.Run(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() > 2) {
		return o, err
	}
	opened, err := store.Open(filepath.Join(dir, "run"))
	if err != nil {
		return o, err
	}
	res, err := opened.Result()
	if err != nil {
		return o, err
	}
	o = outcome{trial: t, memory: conductor.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10}
	return o, o.read(res, opened)
}

// read takes figures from a result and its records.
func (o *outcome) read(res *result.Result, dir *store.Dir) error {
	p := res.Points[0]
	seconds := p.Window.EndS - p.Window.StartS
	o.rate, o.requests = p.Throughput.Output, p.Throughput.Requests
	o.lag, o.gap = p.Latency.Lag.P["p99"], p.Latency.ITL.P["p99"]
	for _, w := range res.Workers {
		o.workerCPU += w.Client.CPUSeconds / seconds
	}
	o.ownCPU = res.Conductor.CPUSeconds / seconds
	size, err := os.Stat(dir.RecordsPath())
	if err != nil {
		return err
	}
	events, coalesced, records := 0, 0, 0
	for r, err := range dir.Records() {
		if err != nil {
			return err
		}
		events += r.ChunkCount()
		coalesced += r.Coalesced
		records++
	}
	o.coalesced = 100 * float64(coalesced) / float64(max(1, events))
	o.bytes = float64(size.Size()) / float64(max(1, records)) * o.requests
	return nil
}
