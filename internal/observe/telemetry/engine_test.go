package telemetry

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
)

func TestReadVLLM(t *testing.T) {
	t.Parallel()
	h := func(sum, count float64, rest ...[]float64) *Histogram {
		all := &Histogram{SumS: sum, Count: count}
		if len(rest) > 0 {
			all.LE, all.N = rest[0], rest[1]
		}
		return all
	}
	for _, c := range []struct {
		name, page string
		want       *Reading
	}{
		{"another program's page", "go_goroutines 12\n", nil},
		{"gauges and counters of one engine", `
process_start_time_seconds 1.7e9
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting{engine="0",model_name="m"} 7.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 40.0
vllm:external_prefix_cache_queries_total{engine="0",model_name="m"} 60.0
vllm:external_prefix_cache_hits_total{engine="0",model_name="m"} 25.0
vllm:num_preemptions_total{engine="0",model_name="m"} 2.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 1000.0
vllm:generation_tokens_total{engine="0",model_name="m"} 500.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 4.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 5.0
vllm:request_success_total{engine="0",finished_reason="abort",model_name="m"} 1.0
vllm:cache_config_info{block_size="16",num_gpu_blocks="1000",engine="0"} 1.0
`, &Reading{Engine: "vllm", Replicas: 1, StartedUnixS: new(1.7e9), Running: new(3.0), Waiting: new(7.0), KVUsage: new(0.25),
			PrefixQueries: new(100.0), PrefixHits: new(65.0), TierHits: new(25.0), Preemptions: new(2.0), Recomputes: new(2.0), PromptTokens: new(1000.0),
			GenerationTokens: new(500.0), Requests: new(10.0),
			Config: map[string]string{"block_size": "16", "num_gpu_blocks": "1000"}}},
		{"two engines: sums, and the mean of the cache's use", `
vllm:num_requests_running{engine="0"} 3
vllm:num_requests_running{engine="1"} 4
vllm:kv_cache_usage_perc{engine="0"} 0.5
vllm:kv_cache_usage_perc{engine="1"} 1
vllm:prompt_tokens_total{engine="0"} 10
vllm:prompt_tokens_total{engine="1"} 20
vllm:generation_tokens_total{engine="0"} 100
vllm:generation_tokens_total{engine="1"} 300
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1"} 1
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 2
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.1"} 3
vllm:time_to_first_token_seconds_bucket{engine="1",le="+Inf"} 3
vllm:time_to_first_token_seconds_sum{engine="0"} 1.5
vllm:time_to_first_token_seconds_sum{engine="1"} 0.25
vllm:time_to_first_token_seconds_count{engine="0"} 2
vllm:time_to_first_token_seconds_count{engine="1"} 3
`, &Reading{Engine: "vllm", Replicas: 2, Running: new(7.0), KVUsage: new(0.75), PromptTokens: new(30.0),
			TTFT: h(1.75, 5, []float64{0.1}, []float64{4}),
			Each: []Replica{{Name: "0", Running: new(3.0), KVUsage: new(0.5), GenerationTokens: new(100.0), PromptTokens: new(10.0)},
				{Name: "1", Running: new(4.0), KVUsage: new(1.0), GenerationTokens: new(300.0), PromptTokens: new(20.0)}}, GenerationTokens: new(400.0)}},
		{"names of older versions", `
vllm:gpu_cache_usage_perc 0.5
vllm:gpu_prefix_cache_queries_total 8
vllm:gpu_prefix_cache_hits_total 2
vllm:time_per_output_token_seconds_sum 2
vllm:time_per_output_token_seconds_count 100
`, &Reading{Engine: "vllm", Replicas: 1, KVUsage: new(0.5), PrefixQueries: new(8.0), PrefixHits: new(2.0), ITL: h(2, 100)}},
		{"a newer name wins over an older one", `
vllm:gpu_cache_usage_perc 0.5
vllm:kv_cache_usage_perc 0.25
vllm:time_per_output_token_seconds_sum 2
vllm:time_per_output_token_seconds_count 100
vllm:inter_token_latency_seconds_sum 3
vllm:inter_token_latency_seconds_count 101
`, &Reading{Engine: "vllm", Replicas: 1, KVUsage: new(0.25), ITL: h(3, 101)}},
		{"what is not finite is not known", `
vllm:num_requests_running NaN
vllm:num_requests_waiting +Inf
vllm:request_queue_time_seconds_sum NaN
vllm:request_queue_time_seconds_count 3
`, &Reading{Engine: "vllm", Replicas: 1}},
		{"an edge that one engine lacks is left out", `
vllm:e2e_request_latency_seconds_bucket{engine="0",le="1"} 1
vllm:e2e_request_latency_seconds_bucket{engine="0",le="2"} 2
vllm:e2e_request_latency_seconds_bucket{engine="1",le="2"} 3
vllm:e2e_request_latency_seconds_bucket{engine="1",le="x"} 3
vllm:e2e_request_latency_seconds_sum 9
vllm:e2e_request_latency_seconds_count 6
vllm:request_prefill_time_seconds_sum 1
vllm:request_prefill_time_seconds_count 2
vllm:request_decode_time_seconds_sum 3
vllm:request_decode_time_seconds_count 4
`, &Reading{Engine: "vllm", Replicas: 1, E2E: h(9, 6, []float64{2}, []float64{5}), Prefill: h(1, 2), Decode: h(3, 4)}},
	} {
		got, known := ParsePage([]byte(c.page)).Read()
		if known != (c.want != nil) {
			t.Errorf("%s: known is %v", c.name, known)
		}
		expect.NoDiff(t, cmp.Diff(c.want, got), "%s (-want +got)", c.name)
	}
}
