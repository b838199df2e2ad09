//go:build unix

// Command scale drives the load that this machine can hold, with servers that
// write down when each token was really sent, and writes what it cost and how
// true it was to docs/measured/SCALE.md. It is run from the repository's root, by make
// scale.
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
	"redline/internal/stats"
	"redline/scripts/truth"
)

var binary = "bin/redline"

// trial is one load on some servers.
type trial struct {
	servers int
	pace    time.Duration
	flags   []string
}

func closed(servers, streams int, pace time.Duration, output int, warmup, length string) trial {
	return trial{servers, pace, []string{"--concurrency", fmt.Sprint(streams), "--workload", fmt.Sprintf("fixed(16,%d)", output),
		"--warmup", warmup, "--duration", length}}
}

const ms = time.Millisecond

// Two cores hold about as much as one server; sixteen hold half a million
// tokens a second, ten million in the last trial's window.
var (
	few = []trial{
		closed(1, 200, 20*ms, 100, "4s", "10s"),
		closed(1, 900, 20*ms, 100, "4s", "10s"),
		closed(1, 10000, 500*ms, 20, "12s", "10s"),
		{1, ms, []string{"--rate", "2000", "--arrival", "constant", "--workload", "fixed(16,8)", "--warmup", "3s", "--duration", "10s"}},
	}
	many = []trial{
		closed(1, 200, 20*ms, 100, "3s", "6s"),
		closed(1, 1000, 20*ms, 100, "3s", "6s"),
		closed(4, 4000, 20*ms, 100, "4s", "6s"),
		closed(4, 10000, 50*ms, 100, "7s", "6s"),
		closed(8, 10000, 20*ms, 200, "6s", "20s"),
	}
)

func main() {
	page := flag.String("out", "docs/measured/SCALE.md", "file to write")
	dir := flag.String("dir", "", "directory for the servers' logs, which are large")
	only := flag.Int("trial", -1, "make this trial only, by its index")
	flag.StringVar(&binary, "redline", binary, "the program to measure")
	flag.Parse()
	trials, name := few, "few cores"
	if runtime.NumCPU() >= 8 {
		trials, name = many, "many cores"
	}
	if *only >= 0 {
		trials = trials[*only : *only+1]
	}
	if err := run(trials, *dir, *page, name); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(trials []trial, dir, page, name string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "On %s. Load average as it began: %s.\n\n", truth.Machine(), truth.LoadAverage())
	b.WriteString(`| load | pace × servers | tokens/s | tokens | µs per token | MB | servers, µs per token | coalesced | itl p50 / true, ms | itl p99 / true | lag p99, ms | report, s | MB | checks |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`)
	for _, t := range trials {
		row, err := t.measure(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(t.flags, " "), err)
		}
		fmt.Fprint(os.Stderr, row)
		b.WriteString(row)
	}
	return truth.Replace(page, name, b.String())
}

// measure makes one trial and gives its row.
func (t trial) measure(dir string) (string, error) {
	dir, err := os.MkdirTemp(dir, "scale")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	servers, err := t.start(dir)
	defer func() {
		for _, s := range servers {
			s.Kill()
		}
	}()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "run")
	args := append([]string{"run", "--quiet", "--out", out}, t.flags...)
	for _, s := range servers {
		args = append(args, "--url", s.URL)
	}
	client, err := finish(exec.Command(binary, args...))
	if err != nil {
		return "", err
	}
	served, serverCPU, lines := 0, time.Duration(0), []truth.Line(nil)
	for _, s := range servers {
		more, err := s.Stop()
		if err != nil {
			return "", err
		}
		lines = append(lines, more...)
		serverCPU += s.CPU()
	}
	for _, l := range lines {
		served += len(l.Before)
	}
	res, err := setAside(out)
	if err != nil {
		return "", err
	}
	began := time.Now()
	report, err := finish(exec.Command(binary, "report", "--json", out))
	if err != nil {
		return "", err
	}
	return t.row(out, res, lines, served, client, serverCPU, report, time.Since(began))
}

// start runs the servers, each with a directory of its own.
func (t trial) start(dir string) (servers []*truth.Server, err error) {
	for i := range t.servers {
		own := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(own, 0o755); err != nil {
			return servers, err
		}
		s, err := truth.Start(own, func(port, file string) *exec.Cmd {
			return exec.Command(binary, "sim", "--listen", "127.0.0.1:"+port, "--pace", t.pace.String(), "--truth", file)
		})
		if err != nil {
			return servers, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// usage is what a process took.
type usage struct {
	cpu time.Duration
	mb  int64
}

// finish runs a command to its end. One that calls its run invalid is as good.
func finish(cmd *exec.Cmd) (usage, error) {
	cmd.Stderr = os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 2 {
		err = nil
	}
	if cmd.ProcessState == nil {
		return usage{}, err
	}
	u := usage{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.mb = r.Maxrss >> 10
	}
	return u, err
}

// setAside gives a run's result and takes it away, so that a report has to make
// it again from the records.
func setAside(out string) (*result.Result, error) {
	dir, err := store.Open(out)
	if err != nil {
		return nil, err
	}
	res, err := dir.Result()
	if err != nil {
		return nil, err
	}
	return res, os.Remove(filepath.Join(out, "result.json"))
}

func (t trial) row(out string, res *result.Result, lines []truth.Line, served int, client usage, serverCPU time.Duration, report usage, took time.Duration) (string, error) {
	dir, err := store.Open(out)
	if err != nil {
		return "", err
	}
	header, err := dir.Header()
	if err != nil {
		return "", err
	}
	events, coalesced := 0, 0
	for r, err := range dir.Records() {
		if err != nil {
			return "", err
		}
		events += r.ChunkCount()
		coalesced += r.Coalesced
	}
	p := res.Points[0]
	gaps := trueGaps(lines, header.OriginUnixNS, p)
	per := func(cpu time.Duration) float64 { return float64(cpu.Microseconds()) / float64(served) }
	itl, lag := p.Latency.ITL.P, p.Latency.Lag.P
	return fmt.Sprintf("| `%s` | %v × %d | %.0f | %d | %.2f | %d | %.2f | %.2f%% | %.3f / %.3f | %.3f / %.3f | %.3f | %.1f | %d | %s |\n",
		strings.Join(t.flags, " "), t.pace, t.servers, p.Throughput.Output, served, per(client.cpu), client.mb, per(serverCPU),
		100*float64(coalesced)/float64(max(1, events)), itl["p50"], stats.Quantile(gaps, 0.5), itl["p99"], stats.Quantile(gaps, 0.99),
		lag["p99"], took.Seconds(), report.mb, failed(res)), nil
}

// trueGaps are the times between tokens in the window, sorted, in ms.
func trueGaps(lines []truth.Line, origin int64, p result.Point) (gaps []float64) {
	start, end := int64(p.Window.StartS*1e9), int64(p.Window.EndS*1e9)
	for _, line := range lines {
		for i, gap := range line.Gaps() {
			if at := line.Before[i+1] - origin; at >= start && at < end {
				gaps = append(gaps, gap)
			}
		}
	}
	slices.Sort(gaps)
	return gaps
}

// failed names the checks of validity that the run did not pass.
func failed(res *result.Result) string {
	var names []string
	for _, c := range res.Verdict.Checks {
		if !c.OK {
			names = append(names, c.Name+" "+c.Figure)
		}
	}
	if names == nil {
		return "sound"
	}
	return strings.Join(names, "; ")
}
