// Command accuracy measures redline against servers that write down when each
// token was really sent, and writes the comparison to docs/ACCURACY.md. It is
// run from the repository's root, by make accuracy.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/llm"
	"redline/internal/record"
	"redline/internal/result"
	"redline/internal/stats"
	"redline/internal/store"
)

const (
	binary = "bin/redline"
	pace   = 20 * time.Millisecond
)

// server is a metronome that keeps a truth file.
type server struct {
	name    string
	command func(port int, truth string) *exec.Cmd
}

var servers = []server{
	{"redline sim --pace 20ms", func(port int, truth string) *exec.Cmd {
		return exec.Command(binary, "sim", "--listen", address(port), "--pace", pace.String(), "--truth", truth)
	}},
	{"scripts/accuracy/testdata/metronome.py", func(port int, truth string) *exec.Cmd {
		return exec.Command("python3", "scripts/accuracy/testdata/metronome.py", strconv.Itoa(port),
			fmt.Sprint(pace.Seconds()), truth)
	}},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run() error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Accuracy\n\nWritten by `make accuracy` on a machine with %d cores (%s/%s), server and client on it, over loopback.\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(&b, "\n`redline run --concurrency 50 --workload 'fixed(64,100)' --duration 10s --warmup 2s` against a metronome of %v as a\n"+
		"process of its own. Truth is the server's own clock around each write; figures in ms, ±: distance to the truth.\n", pace)
	for _, s := range servers {
		c, err := compare(s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		c.table(&b, s.name)
	}
	fmt.Print(b.String())
	return os.WriteFile("docs/ACCURACY.md", []byte(b.String()), 0o644)
}

func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// comparison holds what redline says and what was so.
type comparison struct {
	reported result.Point
	ttft     []float64 // true, ms
	gaps     []float64
	errors   []float64 // of stamps that are not coalesced, µs
	events   int
	shared   int // coalesced
}

func compare(s server) (*comparison, error) {
	dir, err := os.MkdirTemp("", "accuracy")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	truth, out := filepath.Join(dir, "truth.jsonl"), filepath.Join(dir, "run")
	serving := s.command(port, truth)
	serving.Stderr = os.Stderr
	if err := serving.Start(); err != nil {
		return nil, err
	}
	defer serving.Process.Kill()
	url := "http://" + address(port)
	if err := await(url); err != nil {
		return nil, err
	}
	load := exec.Command(binary, "run", "--url", url, "--concurrency", "50", "--workload", "fixed(64,100)",
		"--duration", "10s", "--warmup", "2s", "--quiet", "--out", out)
	load.Stderr = os.Stderr
	var exit *exec.ExitError
	// An invalid run is still a run to compare.
	if err := load.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 5) {
		return nil, err
	}
	serving.Process.Signal(os.Interrupt)
	serving.Wait()
	return join(out, truth)
}

func await(url string) error {
	for range 200 {
		if resp, err := http.Get(url + "/v1/models"); err == nil {
			return resp.Body.Close()
		}
		time.Sleep(25 * time.Millisecond)
	}
	return errors.New("the server does not answer")
}

type truthLine struct {
	ID     string  `json:"id"`
	Before []int64 `json:"before_ns"`
	After  []int64 `json:"after_ns"`
}

func readTruth(path string) (map[string]truthLine, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := map[string]truthLine{}
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 64<<20)
	for scan.Scan() {
		var l truthLine
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, err
		}
		lines[l.ID] = l
	}
	return lines, scan.Err()
}

// join lays the records beside the truth.
func join(out, truth string) (*comparison, error) {
	dir, err := store.Open(out)
	if err != nil {
		return nil, err
	}
	res, err := dir.Result()
	if err != nil {
		return nil, err
	}
	header, err := dir.Header()
	if err != nil {
		return nil, err
	}
	lines, err := readTruth(truth)
	if err != nil {
		return nil, err
	}
	if len(res.Points) == 0 {
		return nil, errors.New("nothing was measured")
	}
	c := &comparison{reported: res.Points[0]}
	window := [2]int64{int64(res.Points[0].Window.StartS * 1e9), int64(res.Points[0].Window.EndS * 1e9)}
	for r, err := range dir.Records() {
		if err != nil {
			return nil, err
		}
		if r.Outcome != llm.OK {
			continue
		}
		line, ok := lines[llm.RequestID(header.Run, r.ID)]
		if !ok || len(line.Before) != r.ChunkCount() {
			return nil, fmt.Errorf("request %d: %d events recorded, %d written", r.ID, r.ChunkCount(), len(line.Before))
		}
		c.add(r, line, header.OriginUnixNS, window)
	}
	l := c.reported.Latency
	if len(c.errors) == 0 || l.TPOT == nil || l.TTFT == nil || l.ITL == nil {
		return nil, errors.New("nothing to compare: not one request streamed to its end in the window")
	}
	return c, nil
}

// add takes in one request that both sides know.
func (c *comparison) add(r *record.Record, line truthLine, origin int64, window [2]int64) {
	if r.Phase == record.Measure {
		c.ttft = append(c.ttft, float64(line.Before[0]-origin-r.Sent)/1e6)
	}
	var times []int64
	for at := range r.Chunks() {
		times = append(times, at)
	}
	for i, at := range times {
		low, high := line.Before[i]-origin, line.After[i]-origin
		if i > 0 && low >= window[0] && low < window[1] {
			c.gaps = append(c.gaps, float64(line.Before[i]-line.Before[i-1])/1e6)
		}
		c.events++
		// Of events that share a stamp, it is the last one's.
		if i+1 < len(times) && times[i+1] == at {
			c.shared++
			continue
		}
		// Stamps are kept in whole microseconds.
		c.errors = append(c.errors, math.Max(0, float64(max(low-at-500, at-high-500)))/1e3)
	}
}

func (c *comparison) table(b *strings.Builder, name string) {
	slices.Sort(c.ttft)
	slices.Sort(c.gaps)
	slices.Sort(c.errors)
	l := c.reported.Latency
	fmt.Fprintf(b, "\n## %s\n\n| figure | redline | truth | ± |\n|---|---|---|---|\n", name)
	row := func(figure string, got, want float64) {
		fmt.Fprintf(b, "| %s | %.3f | %.3f | %.2f %% |\n", figure, got, want, 100*math.Abs(got-want)/want)
	}
	row("tpot p50", l.TPOT.P["p50"], pace.Seconds()*1e3)
	row("ttft p50", l.TTFT.P["p50"], stats.Quantile(c.ttft, 0.5))
	row("ttft p99", l.TTFT.P["p99"], stats.Quantile(c.ttft, 0.99))
	row("itl p50", l.ITL.P["p50"], stats.Quantile(c.gaps, 0.5))
	row("itl p99", l.ITL.P["p99"], stats.Quantile(c.gaps, 0.99))
	fmt.Fprintf(b, "\n%d events, %.2f %% coalesced. Error of the other stamps, µs outside the server's write: p50 %.1f, p99 %.1f, max %.0f.\n",
		c.events, 100*float64(c.shared)/float64(c.events), stats.Quantile(c.errors, 0.5), stats.Quantile(c.errors, 0.99), c.errors[len(c.errors)-1])
}
