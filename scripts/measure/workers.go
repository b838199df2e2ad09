//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"redline/internal/launch"
)

// workersTrial is a number of workers with some streams each, and what it came
// to.
type workersTrial struct {
	workers, streams int
	flags            []string

	*outcome
	coalesced float64
	workerCPU float64 // seconds per second
	ownCPU    float64
	bytes     float64 // of records, per second
}

// workers measures what more workers bring and cost: each on a core of its own,
// the conductor on another, the servers on those that are left.
func workers(h *harness) func() error {
	streams := h.Int("streams", 1000, "streams of each worker, 50 tokens/s each")
	most := h.Int("most", 64, "the largest number of workers")
	return func() error {
		// Workers with much to do, many with little, which shows what each of them
		// costs, and much with the times of few tokens.
		n, few := *streams, *streams/50
		all := []*workersTrial{{workers: 1, streams: n}, {workers: 2, streams: n}, {workers: 4, streams: n}, {workers: 8, streams: n},
			{workers: 1, streams: few}, {workers: 64, streams: few}, {workers: 8, streams: n, flags: []string{"--token-times", "1%"}}}
		table := "| workers | streams | flags | tokens/s | times one | lag p99, ms | itl p99, ms | coalesced | workers, µs per token | conductor, µs per token | of the workers' CPU | conductor, MB | messages/s | MB/s |\n" +
			"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
		for _, t := range all {
			t.workers = min(t.workers, *most)
			if err := h.driveWorkers(t); err != nil {
				return fmt.Errorf("%d workers: %w", t.workers, err)
			}
			row := t.row(all[0].rate())
			fmt.Fprint(os.Stderr, row)
			table += row
		}
		return h.writePart("workers", table+"\n"+conductorModel(all))
	}
}

func (t *workersTrial) rate() float64 { return t.point.Throughput.Output }

func (t *workersTrial) row(one float64) string {
	flags := "–"
	if t.flags != nil {
		flags = "`" + strings.Join(t.flags, " ") + "`"
	}
	return fmt.Sprintf("| %d | %d | %s | %.0f | %.2f | %.2f | %.2f | %.2f%% | %.2f | %.3f | %.1f%% | %d | %d | %.1f |\n", t.workers, t.workers*t.streams, flags,
		t.rate(), t.rate()/one, t.latency("lag", "p99"), t.latency("itl", "p99"), 100*t.coalesced, 1e6*t.workerCPU/t.rate(), 1e6*t.ownCPU/t.rate(),
		100*t.ownCPU/t.workerCPU, t.mb, 10*t.workers, t.bytes/1e6)
}

// conductorModel says what a conductor would need at sizes that this machine
// cannot reach: a part of its own, one for each worker, and one for each token.
func conductorModel(all []*workersTrial) string {
	full, alone, crowd, thin := all[3], all[4], all[5], all[6]
	each := (crowd.ownCPU - alone.ownCPU - (crowd.rate()-alone.rate())*full.ownCPU/full.rate()) / float64(max(1, crowd.workers-alone.workers))
	each = max(each, 0)
	own := max(0, alone.ownCPU-each-alone.rate()*full.ownCPU/full.rate())
	perToken := func(t *workersTrial) float64 { return max(0, t.ownCPU-own-each*float64(t.workers)) / t.rate() }
	text := fmt.Sprintf("Of a conductor's CPU time, %.3f cores are its own, %.4f go to each worker, %.3f µs to each token, or %.3f µs with the times of one request in a hundred.\n",
		own, each, 1e6*perToken(full), 1e6*perToken(thin)) +
		"By that, at replies of 100 tokens and 100,000 tokens/s from each worker:\n\n" +
		"| workers | tokens/s | messages/s | conductor, cores | MB/s | cores, `--token-times 1%` | MB/s |\n|---|---|---|---|---|---|---|\n"
	for _, n := range []float64{10, 30, 100, 300, 1000} {
		rate := n * 1e5
		cores := func(t *workersTrial) float64 { return own + each*n + perToken(t)*rate }
		text += fmt.Sprintf("| %.0f | %.0f M | %.0f | %.1f | %.0f | %.1f | %.0f |\n", n, rate/1e6, 10*n, cores(full), full.bytes/full.rate()*rate/1e6, cores(thin), thin.bytes/thin.rate()*rate/1e6)
	}
	return text
}

// driveWorkers drives the load.
func (h *harness) driveWorkers(t *workersTrial) (err error) {
	port, err := launch.FreePorts(1)
	if err != nil {
		return err
	}
	nats, cores := fmt.Sprint("127.0.0.1:", port), runtime.NumCPU()
	if err := os.Setenv("REDLINE_JOIN_TOKEN", "a-token-for-a-measurement"); err != nil {
		return err
	}
	args := append([]string{"--workers", fmt.Sprint(t.workers), "--nats-listen", nats,
		"--concurrency", fmt.Sprint(t.workers * t.streams), "--workload", "fixed(16,100)", "--warmup", "4s", "--duration", "10s"}, t.flags...)
	for range 4 {
		s, err := h.simulate(onCores(min(9, cores-1), cores-1), "--pace", "20ms")
		if err != nil {
			return err
		}
		defer s.kill()
		args = append(args, "--url", s.url)
	}
	for i := range t.workers {
		worker := onCores(i%8, i%8).command(h.redline, "worker", "--nats", "nats://"+nats, "--name", fmt.Sprintf("w%d", i+1))
		if err := worker.Start(); err != nil {
			return err
		}
		defer func() {
			_ = worker.Process.Kill()
			_ = worker.Wait()
		}()
	}
	time.Sleep(time.Second)
	if t.outcome, err = h.driveAt(onCores(8, 8), args...); err != nil {
		return err
	}
	defer os.RemoveAll(t.dir.Path) // it may be large
	seconds := t.point.Window.EndS - t.point.Window.StartS
	for _, w := range t.Workers {
		t.workerCPU += w.Client.CPUSeconds / seconds
	}
	t.ownCPU = t.Conductor.CPUSeconds / seconds
	size, err := os.Stat(t.dir.RecordsPath())
	if err != nil {
		return err
	}
	records := 0
	for range t.dir.Records() {
		records++
	}
	t.bytes = float64(size.Size()) / float64(max(1, records)) * t.point.Throughput.Requests
	t.coalesced, err = t.outcome.coalescedShare()
	return err
}
