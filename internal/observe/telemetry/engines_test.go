package telemetry

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
)

func sums(sum, count float64) *Histogram { return &Histogram{SumS: sum, Count: count} }

// TestReadEngines reads a page of each engine in the form that it is served,
// of newer and of older versions.
func TestReadEngines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, page string
		want       *Reading
	}{
		{"sglang", `
# HELP sglang:num_running_reqs The number of running requests.
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 12.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 3.0
sglang:token_usage{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 0.28
sglang:cache_hit_rate{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 0.1
sglang:spec_accept_rate{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 0.7
sglang:max_total_num_tokens{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 420000.0
sglang:cache_config_info{num_pages="26250",page_size="16",model_name="m"} 1.0
sglang:num_retracted_requests_total{model_name="m",tp_rank="0"} 2.0
sglang:evicted_tokens_total{model_name="m",tp_rank="0"} 4096.0
sglang:prompt_tokens_total{model_name="m"} 8000.0
sglang:cached_tokens_total{cache_source="device",model_name="m"} 1500.0
sglang:cached_tokens_total{cache_source="host",model_name="m"} 500.0
sglang:generation_tokens_total{model_name="m"} 7000.0
sglang:num_requests_total{model_name="m"} 40.0
sglang:time_to_first_token_seconds_sum{is_streaming="true",model_name="m"} 8.0
sglang:time_to_first_token_seconds_count{is_streaming="true",model_name="m"} 40.0
sglang:inter_token_latency_seconds_sum{model_name="m"} 70.0
sglang:inter_token_latency_seconds_count{model_name="m"} 6960.0
sglang:queue_time_seconds_sum{model_name="m",tp_rank="0"} 2.0
sglang:queue_time_seconds_count{model_name="m",tp_rank="0"} 40.0
sglang:per_stage_req_latency_seconds_sum{stage="prefill_forward",tp_rank="0"} 4.0
sglang:per_stage_req_latency_seconds_count{stage="prefill_forward",tp_rank="0"} 40.0
sglang:per_stage_req_latency_seconds_sum{stage="request_process",tp_rank="0"} 0.1
sglang:per_stage_req_latency_seconds_count{stage="request_process",tp_rank="0"} 40.0
sglang:e2e_request_latency_seconds_sum{model_name="m"} 80.0
sglang:e2e_request_latency_seconds_count{model_name="m"} 40.0
`, &Reading{Engine: "sglang", Replicas: 1, Running: new(12.0), Waiting: new(3.0), KVUsage: new(0.28), PrefixRate: new(0.1),
			SpecRate: new(0.7), PrefixHits: new(2000.0), HitsBy: map[string]float64{"device": 1500, "host": 500}, PrefixQueries: new(8000.0), Preemptions: new(2.0), Recomputes: new(2.0),
			Evictions: new(4096.0), EvictionUnit: "token", PromptTokens: new(8000.0), GenerationTokens: new(7000.0), Requests: new(40.0),
			TTFT: sums(8, 40), ITL: sums(70, 6960), Queue: sums(2, 40), Prefill: sums(4, 40), E2E: sums(80, 40),
			Config: map[string]string{"block_size": "16", "num_gpu_blocks": "26250", "model_name": "m", "kv_tokens": "420000"}}},
		{"vllm with adapters, of which the latest series counts", `
vllm:num_requests_running{engine="0"} 2.0
vllm:lora_requests_info{max_lora="4",running_lora_adapters="a,b,c",waiting_lora_adapters="d"} 1.7949e+09
vllm:lora_requests_info{max_lora="4",running_lora_adapters="a,b",waiting_lora_adapters="b, d"} 1.7950e+09
vllm:websocket_connections_active 5.0
`, &Reading{Engine: "vllm", Replicas: 1, Running: new(2.0), Adapters: new(3.0), Connections: new(5.0), Config: map[string]string{"max_loras": "4"}}},
		{"vllm with adapters, at rest", `
vllm:num_requests_running{engine="0"} 0.0
vllm:lora_requests_info{max_lora="4",running_lora_adapters="",waiting_lora_adapters=""} 1.7951e+09
vllm:lora_requests_info{max_lora="4",running_lora_adapters="a,b",waiting_lora_adapters="b, d"} 1.7950e+09
`, &Reading{Engine: "vllm", Replicas: 1, Running: new(0.0), Adapters: new(0.0), Config: map[string]string{"max_loras": "4"}}},
		{"sglang of old, with no counters of its cache", `
sglang:num_running_reqs{model_name="m"} 162.0
sglang:token_usage{model_name="m"} 0.5
sglang:cache_hit_rate{model_name="m"} 0.25
sglang:time_per_output_token_seconds_sum{model_name="m"} 12.0
sglang:time_per_output_token_seconds_count{model_name="m"} 400.0
`, &Reading{Engine: "sglang", Replicas: 1, Running: new(162.0), KVUsage: new(0.5), PrefixRate: new(0.25), ITL: sums(12, 400)}},
		{"sglang whose schedulers all speak: two data-parallel replicas of two shards", `
sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 4
sglang:num_running_reqs{dp_rank="0",tp_rank="1"} 4
sglang:num_running_reqs{dp_rank="1",tp_rank="0"} 2
sglang:num_running_reqs{dp_rank="1",tp_rank="1"} 2
`, &Reading{Engine: "sglang", Replicas: 2, Running: new(6.0),
			Each: []Replica{{Name: "0", Running: new(4.0)}, {Name: "1", Running: new(2.0)}}}},
		{"tgi: token counters are sums of lengths, durations are seconds", `
# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 5
tgi_queue_size 2
tgi_request_count 21
tgi_request_success 18
tgi_request_failure{err="validation"} 2
tgi_request_input_length_sum 9000
tgi_request_input_length_count 20
tgi_request_generated_tokens_sum 3600
tgi_request_generated_tokens_count 18
tgi_request_queue_duration_sum 0.9
tgi_request_queue_duration_count 18
tgi_request_duration_sum 36
tgi_request_duration_count 18
tgi_request_duration_bucket{le="1.5"} 4
tgi_request_duration_bucket{le="+Inf"} 18
tgi_request_mean_time_per_token_duration_sum 0.2
tgi_request_mean_time_per_token_duration_count 18
tgi_batch_inference_duration_sum{method="prefill"} 2.7
tgi_batch_inference_duration_count{method="prefill"} 18
tgi_batch_inference_duration_sum{method="decode"} 20
tgi_batch_inference_duration_count{method="decode"} 2000
`, &Reading{Engine: "tgi", Replicas: 1, Running: new(5.0), Waiting: new(2.0), PromptTokens: new(9000.0), GenerationTokens: new(3600.0),
			Requests: new(20.0), Queue: sums(0.9, 18), Prefill: sums(2.7, 18), ITL: sums(20, 2000), Steps: new(2018.0),
			E2E: &Histogram{SumS: 36, Count: 18, LE: []float64{1.5}, N: []float64{4}}}},
		{"llama.cpp: prompt tokens and cached ones are apart", `
llamacpp:prompt_tokens_total 3000
llamacpp:prompt_tokens_cached_total 1000
llamacpp:prompt_seconds_total 1.5
llamacpp:tokens_predicted_total 500
llamacpp:tokens_predicted_seconds_total 10
llamacpp:n_decode_total 520
llamacpp:n_busy_slots_per_decode 1.5
llamacpp:prompt_tokens_seconds 2000
llamacpp:predicted_tokens_seconds 50
llamacpp:requests_processing 1
llamacpp:requests_deferred 4
llamacpp:spec_decode_num_draft_tokens_total 200
llamacpp:spec_decode_num_accepted_tokens_total 120
`, &Reading{Engine: "llama.cpp", Replicas: 1, Running: new(1.0), Waiting: new(4.0), PrefixHits: new(1000.0), PrefixQueries: new(4000.0),
			PromptTokens: new(4000.0), GenerationTokens: new(500.0), PrefillSeconds: new(1.5), Prefilled: new(3000.0),
			SpecDrafted: new(200.0), SpecAccepted: new(120.0), ITL: sums(10, 500), Steps: new(520.0)}},
		{"llama.cpp of old", `
llamacpp:prompt_tokens_total 3000
llamacpp:kv_cache_usage_ratio 0.4
llamacpp:kv_cache_tokens 800
llamacpp:requests_processing 1
`, &Reading{Engine: "llama.cpp", Replicas: 1, Running: new(1.0), KVUsage: new(0.4), PrefixQueries: new(3000.0), PromptTokens: new(3000.0),
			Prefilled: new(3000.0)}},
		{"triton with TensorRT-LLM: a pipeline of several models counts a request once, times are in microseconds", `
nv_inference_request_success{model="ensemble",version="1"} 10
nv_inference_request_success{model="preprocessing",version="1"} 10
nv_inference_request_success{model="tensorrt_llm",version="1"} 10
nv_inference_request_duration_us{model="ensemble",version="1"} 25000000
nv_inference_request_duration_us{model="tensorrt_llm",version="1"} 24000000
nv_inference_queue_duration_us{model="ensemble",version="1"} 500000
nv_inference_pending_request_count{model="ensemble",version="1"} 9
nv_inference_first_response_histogram_ms_sum{model="ensemble",version="1"} 1500
nv_inference_first_response_histogram_ms_count{model="ensemble",version="1"} 10
nv_inference_first_response_histogram_ms_bucket{model="ensemble",version="1",le="100"} 4
nv_inference_first_response_histogram_ms_bucket{model="ensemble",version="1",le="+Inf"} 10
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 3
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 6
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 7
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 512
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="tensorrt_llm",version="1"} 64
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="tensorrt_llm",version="1"} 1560
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="tensorrt_llm",version="1"} 6240
nv_llm_input_token_len_sum{model="tensorrt_llm"} 5000
nv_llm_output_token_len_sum{model="tensorrt_llm"} 2000
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.9
`, &Reading{Engine: "triton", Replicas: 1, Running: new(6.0), Waiting: new(3.0), KVUsage: new(0.25), Requests: new(10.0),
			PromptTokens: new(5000.0), GenerationTokens: new(2000.0), Queue: sums(0.5, 10), E2E: sums(25, 10),
			TTFT:   &Histogram{SumS: 1.5, Count: 10, LE: []float64{0.1}, N: []float64{4}},
			Config: map[string]string{"num_gpu_blocks": "6240", "block_size": "64", "max_num_seqs": "512"}}},
		{"triton with one model of another backend", `
nv_inference_request_success{model="vllm_model",version="1"} 4
nv_inference_pending_request_count{model="vllm_model",version="1"} 2
nv_inference_queue_duration_us{model="vllm_model",version="1"} 8000
`, &Reading{Engine: "triton", Replicas: 1, Waiting: new(2.0), Requests: new(4.0), Queue: sums(0.008, 4)}},
		{"triton with models that it cannot be known which is asked", `
nv_inference_request_success{model="a",version="1"} 4
nv_inference_request_success{model="b",version="1"} 5
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="a"} 0.5
`, &Reading{Engine: "triton", Replicas: 1, KVUsage: new(0.5)}},
		{"tensorrt-llm's own server", `
trtllm_num_requests_running{model_name="m"} 8
trtllm_num_requests_waiting{model_name="m"} 1
trtllm_kv_cache_utilization{model_name="m"} 0.5
trtllm_kv_cache_hit_rate{model_name="m"} 0.3
trtllm_request_success_total{finished_reason="stop",model_name="m"} 9
trtllm_time_to_first_token_seconds_sum{model_name="m"} 0.9
trtllm_time_to_first_token_seconds_count{model_name="m"} 9
`, &Reading{Engine: "tensorrt-llm", Replicas: 1, Running: new(8.0), Waiting: new(1.0), KVUsage: new(0.5), PrefixRate: new(0.3),
			Requests: new(9.0), TTFT: sums(0.9, 9)}},
		{"nim: vLLM's names without the prefix", `
process_start_time_seconds 1.7e9
num_requests_running{model_name="meta/llama"} 3.0
num_requests_waiting{model_name="meta/llama"} 1.0
num_request_max{model_name="meta/llama"} 256.0
gpu_cache_usage_perc{model_name="meta/llama"} 0.1
prompt_tokens_total{model_name="meta/llama"} 700.0
generation_tokens_total{model_name="meta/llama"} 300.0
request_finish_total{finished_reason="stop",model_name="meta/llama"} 5.0
request_finish_total{finished_reason="length",model_name="meta/llama"} 2.0
time_to_first_token_seconds_sum{model_name="meta/llama"} 0.7
time_to_first_token_seconds_count{model_name="meta/llama"} 7.0
time_per_output_token_seconds_sum{model_name="meta/llama"} 3
time_per_output_token_seconds_count{model_name="meta/llama"} 293
`, &Reading{Engine: "nim", Replicas: 1, StartedUnixS: new(1.7e9), Running: new(3.0), Waiting: new(1.0), KVUsage: new(0.1),
			PromptTokens: new(700.0), GenerationTokens: new(300.0), Requests: new(7.0), TTFT: sums(0.7, 7), ITL: sums(3, 293),
			Config: map[string]string{"max_num_seqs": "256"}}},
	} {
		got, _ := ParsePage([]byte(c.page)).Read()
		expect.NoDiff(t, cmp.Diff(c.want, got, nearly), "%s (-want +got)", c.name)
	}
}

// TestPagesThatLie holds that what cannot be is not known, and that nothing
// else is lost over it.
func TestPagesThatLie(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, page string
		want       *Reading
	}{
		{"below zero", "vllm:num_requests_running -3\nvllm:prompt_tokens_total -1\nvllm:num_requests_waiting 2\n",
			&Reading{Engine: "vllm", Replicas: 1, Waiting: new(2.0)}},
		{"a share of more than the whole", "vllm:kv_cache_usage_perc 87\n", &Reading{Engine: "vllm", Replicas: 1}},
		{"a share a rounding above the whole", "vllm:kv_cache_usage_perc 1.0001\n", &Reading{Engine: "vllm", Replicas: 1, KVUsage: new(1.0)}},
		{"the same series twice: the last stands", "vllm:prompt_tokens_total{engine=\"0\"} 5\nvllm:prompt_tokens_total{engine=\"0\"} 7\n",
			&Reading{Engine: "vllm", Replicas: 1, PromptTokens: new(7.0)}},
		{"a sum beyond all numbers", "tgi_queue_size 1\ntgi_request_input_length_sum 1.7e308\ntgi_request_input_length_sum{a=\"b\"} 1.7e308\n",
			&Reading{Engine: "tgi", Replicas: 1, Waiting: new(1.0)}},
		{"nothing of nothing", `nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used"} 0` + "\n" +
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max"} 0` + "\n",
			&Reading{Engine: "triton", Replicas: 1, Config: map[string]string{"num_gpu_blocks": "0"}}},
		{"a web page", "<html><body>vllm:num_requests_running 3</body></html>\n", nil},
		{"json", `{"vllm:num_requests_running": 3}` + "\n", nil},
	} {
		got, _ := ParsePage([]byte(c.page)).Read()
		expect.NoDiff(t, cmp.Diff(c.want, got), "%s (-want +got)", c.name)
	}
}

// TestHugePage reads ten megabytes of one name's series, all of them different.
func TestHugePage(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	n := 0
	for ; b.Len() < 10<<20; n++ {
		fmt.Fprintf(&b, "vllm:num_requests_running{engine=\"%d\",model_name=\"%s\"} 1\n", n, strings.Repeat("m", 200))
	}
	got, _ := ParsePage(b.Bytes()).Read()
	if got.Replicas != n || *got.Running != float64(n) || got.Each != nil {
		t.Errorf("%d replicas, %v running, %d told apart; want %d, as many, and none", got.Replicas, *got.Running, len(got.Each), n)
	}
}
