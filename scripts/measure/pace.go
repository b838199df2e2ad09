//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// measurePace shows how many tokens a second one redline sim --pace writes, and how
// late it is, by its own metrics page over a window in which all streams are open.
func measurePace(h *harness) func() error {
	streams := h.String("streams", "2000,4000,6000,8000", "streams of each row")
	pace := h.Duration("pace", 20*time.Millisecond, "time between two tokens of a stream")
	clients := h.Int("clients", 4, "client processes")
	length := h.Duration("length", 12*time.Second, "window of each row")
	return func() error {
		table := "| streams | tokens/s due | tokens/s written | own lateness p50, ms | p99 | p99.9 | slowest wake-up | server CPU, cores |\n|--:|--:|--:|--:|--:|--:|---|--:|\n"
		for word := range strings.SplitSeq(*streams, ",") {
			n, err := strconv.Atoi(word)
			if err != nil {
				return fmt.Errorf("-streams: %w", err)
			}
			row, err := h.paceRow(n, *clients, *pace, *length)
			if err != nil {
				return fmt.Errorf("%d streams: %w", n, err)
			}
			fmt.Print(row)
			table += row
		}
		return h.writePart("pace", table)
	}
}

// paceRow makes one row. Every client opens its share of the streams at once and keeps
// each to the end of the window.
func (h *harness) paceRow(streams, clients int, pace, length time.Duration) (string, error) {
	var served, asking place
	if n := runtime.NumCPU(); n >= 8 { // the server writes and answers on more
		served, asking = onCores(0, n*5/8-1), onCores(n*5/8, n-1)
	}
	s, err := h.simulate(served, "--pace", pace.String())
	if err != nil {
		return "", err
	}
	defer s.kill()
	const ramp = 25 * time.Second
	tokens := int((ramp + length + 10*time.Second) / pace)
	share := strconv.Itoa(streams / clients)
	for i := range clients {
		out := filepath.Join(h.work, fmt.Sprintf("client-%d-%d", streams, i))
		c := asking.command(h.redline, "run", "--quiet", "--force", "--out", out, "--url", s.url, "--plain", "--concurrency", share,
			"--requests", share, "--workload", fmt.Sprintf("fixed(16,%d)", tokens), "--token-times", "1%", "--seed", strconv.Itoa(i+1))
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			return "", err
		}
		defer func(c *exec.Cmd) {
			_ = c.Process.Kill() // what it measured is not asked for
			_ = c.Wait()
			_ = os.RemoveAll(out)
		}(c)
	}
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		page, err := s.page()
		if err != nil {
			return "", err
		}
		if page["vllm:num_requests_running"] >= float64(streams/clients*clients) {
			break
		}
		if time.Since(began) > ramp {
			return "", fmt.Errorf("%.0f are open after %s", page["vllm:num_requests_running"], ramp)
		}
	}
	time.Sleep(2 * time.Second) // until what opening them held up is written
	before, err := s.page()
	if err != nil {
		return "", err
	}
	began, used := time.Now(), s.cpuSoFar()
	time.Sleep(length)
	after, err := s.page()
	if err != nil {
		return "", err
	}
	took := time.Since(began).Seconds()
	cores := (s.cpuSoFar() - used).Seconds() / took
	written := (after["vllm:generation_tokens_total"] - before["vllm:generation_tokens_total"]) / took
	late := func(share float64) string { return lateness(before, after, share) }
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %.1f |\n", text.Count(streams), text.Count(int(float64(streams)/pace.Seconds())), text.Count(int(written)),
		late(0.5), late(0.99), late(0.999), late(1), cores), nil
}

// page is the server's metrics page: the sum of each series' values by its name, and
// of a histogram's bucket by the name and its edge.
func (s *server) page() (map[string]float64, error) {
	reply, err := http.Get(s.url + "/metrics")
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, one := range telemetry.ParsePage(body).Series {
		values[one.Name+one.Label("le")] += one.Value
	}
	return values, nil
}

// lateness is the edge of the bucket that holds a share of the wake-ups between two
// pages, in ms: at most so late.
func lateness(before, after map[string]float64, share float64) string {
	const bucket = "redline_sim_late_seconds_bucket"
	all := after[bucket+"+Inf"] - before[bucket+"+Inf"]
	edge, found := 0.0, false
	for name := range after {
		if word, ok := strings.CutPrefix(name, bucket); ok {
			if v, err := strconv.ParseFloat(word, 64); err == nil && after[name]-before[name] >= share*all && (!found || v < edge) {
				edge, found = v, true
			}
		}
	}
	return "≤ " + strconv.FormatFloat(edge*1e3, 'g', -1, 64)
}

// cpuSoFar is what the running server has taken.
func (s *server) cpuSoFar() time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid)) // without it, none
	p, _ := parseStat(string(stat))
	return p.cpu
}
