//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
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
		client, other := halves()
		s, err := h.simulate(other, "--pace", "20ms", "--max-model-len", "1000000")
		if err != nil {
			return err
		}
		defer s.kill()
		f, err := h.driveAt(client, "--url", s.url, "--workload", file, "--rate", fmt.Sprint(*rate/turns), "--warmup", lasts.String(), "--duration", length.String(), "--drain", "5s")
		if err != nil {
			return err
		}
		return h.writePart("agents", fmt.Sprintf(`| live agents | prompt, tokens | requests/s | requests | client memory, MB | client CPU, cores | lag p50 / p99, ms | checks |
|---|---|---|---|---|---|---|---|
| %d | %.0f | %.1f | %d of %d ok | %d | %.2f | %.2f / %.2f | %s |
`, *live, f.point.Tokens.PromptLengths.Mean, f.point.Rates.Completed, f.point.Requests.OK, f.point.Requests.Due, f.mb,
			f.cpu.Seconds()/(lasts+*length).Seconds(), f.latency("lag", "p50"), f.latency("lag", "p99"), f.checks()))
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
