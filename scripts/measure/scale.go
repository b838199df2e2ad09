//go:build linux

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"redline/internal/stats"
	"redline/internal/store"
)

// scaleTrial is one load on some servers.
type scaleTrial struct {
	servers int
	pace    string
	flags   []string
}

func closedLoop(servers, streams int, pace string, output int, warmup, length string) scaleTrial {
	return scaleTrial{servers, pace, []string{"--concurrency", fmt.Sprint(streams), "--workload", fmt.Sprintf("fixed(16,%d)", output), "--warmup", warmup, "--duration", length}}
}

// Two cores hold about as much as one server; sixteen hold half a million
// tokens a second, ten million in the last trial's window.
var (
	fewCores = []scaleTrial{
		closedLoop(1, 200, "20ms", 100, "4s", "10s"),
		closedLoop(1, 900, "20ms", 100, "4s", "10s"),
		closedLoop(1, 10000, "500ms", 20, "12s", "10s"),
		{1, "1ms", []string{"--rate", "2000", "--arrival", "constant", "--workload", "fixed(16,8)", "--warmup", "3s", "--duration", "10s"}},
	}
	manyCores = []scaleTrial{
		closedLoop(1, 200, "20ms", 100, "3s", "6s"),
		closedLoop(1, 1000, "20ms", 100, "3s", "6s"),
		closedLoop(4, 4000, "20ms", 100, "4s", "6s"),
		closedLoop(4, 10000, "50ms", 100, "7s", "6s"),
		closedLoop(8, 10000, "20ms", 200, "6s", "20s"),
	}
)

// scale drives the load that this machine can hold, and shows what it costs and
// how true it is.
func scale(h *harness) func() error {
	only := h.Int("trial", -1, "make this trial only, by its index")
	return func() error {
		trials, mark := fewCores, "few cores"
		if runtime.NumCPU() >= 8 {
			trials, mark = manyCores, "many cores"
		}
		if *only >= 0 {
			trials = trials[*only : *only+1]
		}
		table := `| load | pace × servers | tokens/s | tokens | µs per token | MB | servers, µs per token | coalesced | itl p50 / true, ms | itl p99 / true | lag p99, ms | report, s | MB | checks |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`
		for _, t := range trials {
			row, err := h.scaleRow(t)
			if err != nil {
				return fmt.Errorf("%s: %w", shellWords(t.flags), err)
			}
			table += row
		}
		return h.writePart(mark, table)
	}
}

// scaleRow makes one trial.
func (h *harness) scaleRow(t scaleTrial) (string, error) {
	var servers []*server
	args := t.flags
	for range t.servers {
		s, err := h.simulateTruth(place{}, "--pace", t.pace)
		if err != nil {
			return "", err
		}
		defer s.kill()
		servers, args = append(servers, s), append(args, "--url", s.url)
	}
	f, err := h.drive(args...)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(f.dir.Path) // it may be large
	served, serverCPU, truth := 0, time.Duration(0), []reply(nil)
	for _, s := range servers {
		more, err := s.stop()
		if err != nil {
			return "", err
		}
		truth = append(truth, more...)
		serverCPU += s.cpu()
	}
	for _, t := range truth {
		served += len(t.Before)
	}
	gaps, err := trueGaps(f, truth)
	if err != nil {
		return "", err
	}
	coalesced, err := f.coalescedShare()
	if err != nil {
		return "", err
	}
	// Without its result a report has to make it again from the records.
	if err := os.Remove(filepath.Join(f.dir.Path, store.ResultFile)); err != nil {
		return "", err
	}
	began := time.Now()
	report, err := h.finish(place{}, "report", "--json", f.dir.Path)
	took := time.Since(began)
	per := func(cpu time.Duration) float64 { return float64(cpu.Microseconds()) / float64(served) }
	return fmt.Sprintf("| `%s` | %s × %d | %.0f | %d | %.2f | %d | %.2f | %.2f%% | %.3f / %.3f | %.3f / %.3f | %.3f | %.1f | %d | %s |\n",
		shellWords(t.flags), t.pace, t.servers, f.point.Throughput.Output, served, per(f.cpu), f.mb, per(serverCPU), 100*coalesced,
		f.latency("itl", "p50"), stats.Quantile(gaps, 0.5), f.latency("itl", "p99"), stats.Quantile(gaps, 0.99),
		f.latency("lag", "p99"), took.Seconds(), report.mb, f.checks()), err
}

// offer shows what load redline can offer: many short requests, many streams
// at once, and a recorded trace.
func offer(h *harness) func() error {
	length := h.Duration("length", 20*time.Second, "how long each load lasts")
	return func() error {
		trace := filepath.Join(h.work, "trace.csv")
		if err := writeTrace(trace, 500, *length); err != nil {
			return err
		}
		body := "Server and client are on this machine, over loopback: `redline sim --pace` is a process of its own and takes its share of the cores.\n" +
			"`trace.csv` has 500 requests a second at random times; the lag is how late each was sent after its recorded one.\n\n" +
			"| flags | due | sent | ok | lag p50 / p99, ms | in flight, max | tokens/s | client memory, MB | client CPU | checks |\n|---|---|---|---|---|---|---|---|---|---|\n"
		for _, t := range []scaleTrial{
			{1, "1ms", []string{"--rate", "2000", "--arrival", "constant", "--workload", "fixed(16,8)", "--duration", length.String(), "--warmup", "5s"}},
			closedLoop(1, 10000, "500ms", 20, "15s", length.String()),
			{1, "1ms", []string{"--workload", trace}},
		} {
			s, err := h.simulate(place{}, "--pace", t.pace)
			if err != nil {
				return err
			}
			f, err := h.drive(append(t.flags, "--url", s.url)...)
			s.kill()
			if err != nil {
				return err
			}
			n := f.point.Requests
			body += fmt.Sprintf("| `%s` | %d | %d | %d | %.3f / %.3f | %d | %.0f | %d | %.0f%% | %s |\n",
				strings.ReplaceAll(shellWords(t.flags), h.work+"/", ""), n.Due, n.Sent, n.OK, f.latency("lag", "p50"), f.latency("lag", "p99"),
				f.point.Concurrency.Max, f.point.Throughput.Output, f.mb, 100*f.Client.CPUShare, f.checks())
		}
		return h.writePart("offered", body)
	}
}

// writeTrace writes a trace of so many requests a second, at random times.
func writeTrace(path string, rate float64, length time.Duration) error {
	random := stats.Rand(1, "trace", 0)
	text, at := "timestamp,prompt_tokens,output_tokens\n", 1.7e9
	for i := range int(math.Round(rate * length.Seconds())) {
		at += stats.Exponential(random) / rate
		text += fmt.Sprintf("%.6f,%d,%d\n", at, 16+i%48, 4+i%9)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
