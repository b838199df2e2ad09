package peer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/internal/must"
	"redline/internal/plan/config"
)

// bounded are command lines of every peer with a small load.
var bounded = []string{
	"vllm bench serve --port 1 --num-prompts 7 --request-rate 5",
	"vllm bench serve --port 1 --num-prompts 7 --dataset-name prefix_repetition",
	"sglang.bench_serving --dataset-name random --num-prompts 7 --request-rate 5",
	"sglang.bench_serving --dataset-name generated-shared-prefix --gsp-num-groups 2 --gsp-prompts-per-group 3 --gsp-group-distribution zipf",
	"aiperf profile -u h:1 --streaming --isl 10 --osl 5 --request-count 7 --request-rate 5",
	"aiperf profile -u h:1 --streaming --isl 10 --osl 5 --num-sessions 6 --session-turns-mean 3 --concurrency 2 --benchmark-duration 5",
	"genai-perf profile -u h:1 --streaming --isl 10 --osl 5 --request-count 7 --concurrency 2",
	"guidellm benchmark --target http://h:1 --rate-type constant --rate 2 --max-requests 7 --data prompt_tokens=10,output_tokens=5",
	"guidellm benchmark --target http://h:1 --rate-type concurrent --rate 2 --max-seconds 7 --data prompt_tokens=10,output_tokens=5,prefix_tokens=4",
	`inference-perf --server.base_url h:2 --load.stages [{"rate":2,"duration":3}]`,
	`inference-perf --server.base_url h:2 --load.type concurrent --load.stages [{"concurrency_level":2,"num_requests":7}] --data.type shared_prefix`,
	"token_benchmark_ray.py --model m --max-num-completed-requests 7",
}

// ask gives what a command line becomes, as far as redline takes it.
func ask(t *testing.T, words []string) ([]Plan, error) {
	t.Helper()
	p, rest := Find(words)
	v, err := p.Parse(rest)
	if err != nil {
		return nil, err
	}
	v.Env, v.Read = func(name string) (string, bool) { return "http://h:1/v1", name == "OPENAI_API_BASE" }, os.ReadFile
	plans, err := p.Ask(v)
	if err != nil {
		return nil, err
	}
	for _, plan := range plans {
		in := config.Input{Command: "run", Flags: plan.Flags(), LookupEnv: func(string) (string, bool) { return "", false }}
		if plan.Workload != "" {
			in.PlanPath = filepath.Join(t.TempDir(), "plan.yaml")
			must.Write(t, in.PlanPath, "workload:\n"+plan.Workload)
		}
		if _, err := config.Resolve(in); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// Whatever value a flag of a peer has, the load stays as small as it was asked for,
// and what is given and empty is a mistake, as are amounts that are none.
func TestHostileValuesOfPeersFlags(t *testing.T) {
	t.Parallel()
	for _, line := range bounded {
		words := strings.Fields(line)
		p, _ := Find(words)
		if _, err := ask(t, words); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, f := range p.Flags {
			if f.Takes == None {
				continue
			}
			values := []string{"", " ", "0", "-1", "NaN", "abc", "inf", "1e308", "0,0", "[0]", "{}", "[]", `{"a":`, "null", "\x00"}
			if f.Ours == "" {
				values = values[:3] // it is in no plan
			}
			for _, value := range values {
				plans, err := ask(t, append(slices.Clone(words), "--"+f.Names[0]+"="+value))
				what := fmt.Sprintf("%s --%s=%q", line, f.Names[0], value)
				if err == nil && strings.TrimSpace(value) == "" {
					t.Errorf("%s: an empty value is taken for none", what)
				}
				if err == nil && f.Positive && value != "inf" && value != "1e308" {
					t.Errorf("%s: is taken", what)
				}
				for _, plan := range plans {
					if flags := plan.Flags(); flags["requests"] == nil && flags["duration"] == nil {
						t.Errorf("%s: a load without an end: %v", what, plan.Settings)
					}
				}
			}
		}
	}
}

// Numbers inside of a value are held to the same.
func TestHostileNumbersInValues(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=concurrent,streams=%s --constraint kind=max_requests,count=9 --data prompt_tokens=10,output_tokens=5",
		"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=constant,rate=%s --constraint kind=max_requests,count=9 --data prompt_tokens=10,output_tokens=5",
		"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=concurrent,streams=2 --constraint kind=max_requests,count=%s --data prompt_tokens=10,output_tokens=5",
		"guidellm run --backend kind=openai_http,target=http://h:1 --profile kind=concurrent,streams=2 --constraint kind=max_duration,seconds=%s --data prompt_tokens=10,output_tokens=5",
		"guidellm benchmark --target http://h:1 --rate-type constant --rate 2 --max-requests 7 --data prompt_tokens=%s,output_tokens=5",
		"guidellm benchmark --target http://h:1 --rate-type constant --rate 2 --max-requests 7 --data prompt_tokens=10,output_tokens=%s",
		`inference-perf --server.base_url h:2 --load.stages [{"rate":%s,"duration":3}]`,
		`inference-perf --server.base_url h:2 --load.stages [{"rate":2,"duration":%s}]`,
		`inference-perf --server.base_url h:2 --load.type concurrent --load.stages [{"concurrency_level":%s,"num_requests":7}]`,
		`inference-perf --server.base_url h:2 --load.type concurrent --load.stages [{"concurrency_level":2,"num_requests":%s}]`,
		"vllm bench serve --port 1 --num-prompts %s",
		"vllm bench serve --port 1 --num-prompts=%s --request-rate 500",
		"vllm bench serve --port 1 --num-prompts 7 --request-rate %s",
		"vllm bench serve --port 1 --num-prompts 7 --request-rate 5 --burstiness %s",
		"aiperf profile -u h:1 --osl 5 --concurrency 2,%s --request-count 5",
	} {
		for _, value := range []string{"", "0", "-1", "NaN", "abc"} {
			if plans, err := ask(t, strings.Fields(fmt.Sprintf(line, value))); err == nil {
				t.Errorf(line+" becomes %v", value, plans[0].Settings)
			}
		}
	}
	for _, line := range []string{"vllm bench serve --port 1 --random-range-ratio 1.5", "vllm bench serve --port 1 --metric-percentiles NaN", "vllm bench serve --port 1 --percentile-metrics abc",
		`vllm bench serve --port 1 --random-range-ratio {"input":-1}`, "sglang.bench_serving --dataset-name random --random-range-ratio 1.5", "aiperf profile -u h:1 --osl 5 --random-range-ratio 2"} {
		if plans, err := ask(t, strings.Fields(line)); err == nil {
			t.Errorf("%s becomes %v", line, plans[0].Settings)
		}
	}
}
