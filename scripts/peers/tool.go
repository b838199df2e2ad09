//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"redline/internal/run/store"
)

// tool is a load tester.
type tool struct {
	name    string // of its command
	pkg     string // on PyPI; empty for redline itself
	version string
	note    string // what its figures mean, where the names mislead
	start   func(setting) *exec.Cmd
	read    func(setting) (reported, error)
	judge   func(setting, evidence) (figures, error)
}

// reported is what a tool says.
type reported struct {
	figures
	requests int
}

// tools are those that are driven, with settings from each one's own help: no
// screen, no server or accelerator metrics, server-side token counts. None is
// tuned beyond that.
var tools = []tool{
	{name: "redline", start: startRedline, read: readRedline, judge: judgeRedline},
	{name: "aiperf", pkg: "aiperf", version: "0.13.0", start: startAIPerf, read: readAIPerf, judge: judgeAll,
		note: "tpot is what it calls inter_token_latency, a mean for each request; itl is its inter_chunk_latency"},
	{name: "guidellm", pkg: "guidellm", version: "0.8.1", start: startGuideLLM, read: readGuideLLM, judge: judgeAll,
		note: "tpot is what it calls inter_token_latency_ms, a mean for each request; it keeps no gap between tokens"},
	{name: "vllm", pkg: "vllm", version: "0.32.0", start: startVLLM, read: readVLLM, judge: judgeAll},
	{name: "inference-perf", pkg: "inference-perf"},
}

func (s setting) executable(name string) string {
	return filepath.Join(s.home, name, "bin", name)
}

func startRedline(s setting) *exec.Cmd {
	return exec.Command(ours, "run", "--url", s.url, "--concurrency", strconv.Itoa(s.streams),
		"--requests", strconv.Itoa(s.requests), "--warmup", "0s", "--workload", fmt.Sprintf("fixed(%d,%d)", prompt, output),
		"--quiet", "--out", filepath.Join(s.out, "run"))
}

func readRedline(s setting) (reported, error) {
	dir, err := store.Open(filepath.Join(s.out, "run"))
	if err != nil {
		return reported{}, err
	}
	res, err := dir.Result()
	if err != nil {
		return reported{}, err
	}
	if len(res.Points) == 0 || res.Points[0].Latency.ITL == nil {
		return reported{}, errors.New("redline measured nothing")
	}
	l := res.Points[0].Latency
	return reported{requests: res.Points[0].Requests.OK, figures: figures{
		"ttft p50": l.TTFT.P["p50"], "ttft p99": l.TTFT.P["p99"], "tpot p50": l.TPOT.P["p50"], "tpot p99": l.TPOT.P["p99"],
		"itl p50": l.ITL.P["p50"], "itl p99": l.ITL.P["p99"],
	}}, nil
}

func startAIPerf(s setting) *exec.Cmd {
	return exec.Command(s.executable("aiperf"), "profile", "--model", model, "--url", s.url, "--endpoint-type", "chat", "--streaming",
		"--concurrency", strconv.Itoa(s.streams), "--request-count", strconv.Itoa(s.requests),
		"--isl", strconv.Itoa(prompt), "--osl", strconv.Itoa(output), "--extra-inputs", "ignore_eos:true",
		"--tokenizer", s.tokenizer, "--use-server-token-count", "--workers-max", strconv.Itoa(runtime.NumCPU()),
		"--ui", "none", "--export-level", "summary", "--no-server-metrics", "--no-gpu-telemetry",
		"--artifact-dir", filepath.Join(s.out, "aiperf"))
}

func readAIPerf(s setting) (reported, error) {
	type block struct{ Avg, P50, P99 float64 }
	var d struct {
		Count block `json:"request_count"`
		TTFT  block `json:"time_to_first_token"`
		TPOT  block `json:"inter_token_latency"`
		ITL   block `json:"inter_chunk_latency"`
	}
	err := decode(filepath.Join(s.out, "aiperf", "profile_export_aiperf.json"), &d)
	return reported{requests: int(d.Count.Avg), figures: figures{
		"ttft p50": d.TTFT.P50, "ttft p99": d.TTFT.P99, "tpot p50": d.TPOT.P50, "tpot p99": d.TPOT.P99,
		"itl p50": d.ITL.P50, "itl p99": d.ITL.P99,
	}}, err
}

func startGuideLLM(s setting) *exec.Cmd {
	return exec.Command(s.executable("guidellm"), "run", "--backend", "kind=openai_http,target="+s.url+",model="+model,
		"--profile", fmt.Sprintf("kind=concurrent,streams=%d", s.streams), "--constraint", fmt.Sprintf("kind=max_requests,count=%d", s.requests),
		"--tokenizer", "kind=huggingface_auto,model="+s.tokenizer,
		"--data", fmt.Sprintf("kind=synthetic_text,prompt_tokens=%d,output_tokens=%d", prompt, output),
		"--output", "kind=json,path="+filepath.Join(s.out, "guidellm.json"), "--disable-console")
}

func readGuideLLM(s setting) (reported, error) {
	type split struct {
		Successful struct {
			Count       int
			Percentiles struct{ P50, P99 float64 }
		}
	}
	var d struct {
		Benchmarks []struct {
			Metrics struct {
				Latency split `json:"request_latency"`
				TTFT    split `json:"time_to_first_token_ms"`
				TPOT    split `json:"inter_token_latency_ms"`
			}
		}
	}
	if err := decode(filepath.Join(s.out, "guidellm.json"), &d); err != nil {
		return reported{}, err
	}
	if len(d.Benchmarks) != 1 {
		return reported{}, fmt.Errorf("guidellm reports %d benchmarks, want 1", len(d.Benchmarks))
	}
	m := d.Benchmarks[0].Metrics
	ttft, tpot := m.TTFT.Successful.Percentiles, m.TPOT.Successful.Percentiles
	return reported{requests: m.Latency.Successful.Count, figures: figures{
		"ttft p50": ttft.P50, "ttft p99": ttft.P99, "tpot p50": tpot.P50, "tpot p99": tpot.P99,
	}}, nil
}

func startVLLM(s setting) *exec.Cmd {
	return exec.Command(s.executable("vllm"), "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions",
		"--base-url", s.url, "--model", model, "--tokenizer", s.tokenizer, "--dataset-name", "random",
		"--random-input-len", strconv.Itoa(prompt), "--random-output-len", strconv.Itoa(output), "--ignore-eos",
		"--num-prompts", strconv.Itoa(s.requests), "--max-concurrency", strconv.Itoa(s.streams), "--disable-tqdm",
		"--percentile-metrics", "ttft,tpot,itl", "--metric-percentiles", "50,99",
		"--save-result", "--result-dir", s.out, "--result-filename", "vllm.json")
}

func readVLLM(s setting) (reported, error) {
	var d struct {
		Completed int
		TTFT50    float64 `json:"p50_ttft_ms"`
		TTFT99    float64 `json:"p99_ttft_ms"`
		TPOT50    float64 `json:"p50_tpot_ms"`
		TPOT99    float64 `json:"p99_tpot_ms"`
		ITL50     float64 `json:"p50_itl_ms"`
		ITL99     float64 `json:"p99_itl_ms"`
	}
	err := decode(filepath.Join(s.out, "vllm.json"), &d)
	return reported{requests: d.Completed, figures: figures{
		"ttft p50": d.TTFT50, "ttft p99": d.TTFT99, "tpot p50": d.TPOT50, "tpot p99": d.TPOT99,
		"itl p50": d.ITL50, "itl p99": d.ITL99,
	}}, err
}

func decode(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}
