//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"redline/internal/text"
)

// agents shows what many live agents with long prompts take of the client.
func agents(h *harness) func() error {
	live := h.Int("live", 500, "agents under way")
	rate := h.Float64("rate", 20, "requests per second of all of them")
	prompt := h.Int("prompt", 100_000, "tokens of a prompt")
	length := h.Duration("length", time.Minute, "how long the window lasts")
	return func() error {
		const turns = 4
		// A job lasts for its turns at the pace of an agent, so that so many are live.
		lasts := time.Duration(turns * float64(*live) / *rate * float64(time.Second))
		file := filepath.Join(h.work, "jobs.jsonl")
		if err := writeJobs(file, *prompt, turns, lasts/(turns-1)); err != nil {
			return err
		}
		client, other := halves() // the server has cores of its own where there are enough
		s, err := h.simulate(other, "--pace", "20ms", "--max-model-len", fmt.Sprint(2**prompt))
		if err != nil {
			return err
		}
		defer s.kill()
		// A machine that is busy with other work says so in the row.
		f, err := h.tryAt(client, "--url", s.url, "--workload", file, "--rate", fmt.Sprint(*rate/turns), "--warmup", lasts.String(), "--duration", length.String(), "--drain", "5s")
		if err != nil {
			return err
		}
		if f.point.Jobs == nil || f.point.Tokens.PromptLengths == nil {
			return errors.New("the run has no figures of jobs")
		}
		heldUp := "–"
		if held := f.Client.HeldUp; held != nil {
			heldUp = fmt.Sprintf("%.1f%% of the time, %.0f ms at most", 100*held.TotalS/length.Seconds(), held.MaxMS)
		}
		return h.writePart("agents", fmt.Sprintf(`| live agents, mean / max | prompt, tokens | requests/s | requests | client memory, MB | client CPU, cores | lag p50 / p99, ms | client held up by the machine |
|---|---|---|---|---|---|---|---|
| %.0f / %d | %s | %.1f | %s of %s ok | %s | %.2f | %.2f / %.2f | %s |
`, f.point.Jobs.LiveMean, f.point.Jobs.LiveMax, text.Count(int(f.point.Tokens.PromptLengths.Mean)), f.point.Rates.Completed, text.Count(f.point.Requests.OK), text.Count(f.point.Requests.Due),
			text.Count(f.mb), f.cpu.Seconds()/(lasts+*length).Seconds(), f.latency("lag", "p50"), f.latency("lag", "p99"), heldUp))
	}
}

// writeJobs writes jobs of some turns, a pause apart, each of which has the prompt of
// the one before and 512 tokens more.
func writeJobs(path string, prompt, turns int, pause time.Duration) error {
	const jobs, size = 40, 64
	type request struct {
		T    float64 `json:"t"`
		Type string  `json:"type"`
		In   int     `json:"in"`
		Out  int     `json:"out"`
		IDs  []int   `json:"hash_ids"`
		Took float64 `json:"api_time"`
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	write := json.NewEncoder(file)
	for j := range jobs {
		var list []request
		var ids []int
		for i := range turns {
			for n := (prompt + 512*i) / size; len(ids) < n; {
				ids = append(ids, j<<20+len(ids))
			}
			list = append(list, request{float64(i) * pause.Seconds(), "n", len(ids) * size, 40, ids, 0.8})
		}
		if err := write.Encode(map[string]any{"id": fmt.Sprint("job", j), "block_size": size, "hash_id_scope": "local", "requests": list}); err != nil {
			return err
		}
	}
	return file.Close()
}
