package telemetry

import (
	"math"
	"testing"
)

// An engine that counts tokens is believed; of others each running sequence is
// taken to leave half of its last block empty.
func TestFragmentation(t *testing.T) {
	t.Parallel()
	const labels = `vllm:cache_config_info{block_size="16",num_gpu_blocks="1000"} 1` + "\n" + "vllm:kv_cache_usage_perc 0.5\n"
	for _, tt := range []struct {
		name, page, by string
		want           float64 // NaN: not known
	}{
		{"by the tokens that it counts", labels + "vllm:num_requests_running 10\nredline_kv_tokens 7600\n", "tokens", 0.05},
		{"by the blocks of running sequences", labels + "vllm:num_requests_running 10\n", "blocks", 10 * 7.5 / 8000},
		{"without sequences it is not known", labels, "", math.NaN()},
		{"nothing is in use", `vllm:cache_config_info{block_size="16",num_gpu_blocks="1000"} 1` + "\nvllm:kv_cache_usage_perc 0\nvllm:num_requests_running 0\n", "blocks", math.NaN()},
		{"pages of SGLang of 64 tokens", `sglang:cache_config_info{page_size="64",num_pages="100"} 1` + "\nsglang:token_usage 0.5\nsglang:num_running_reqs 4\n", "blocks", 4 * 31.5 / 3200},
		{"blocks of TensorRT-LLM", `nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per"} 64` + "\n" +
			`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max"} 100` + "\n" + `nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used"} 50` + "\n" +
			`nv_trt_llm_request_metrics{request_type="scheduled"} 4` + "\n", "blocks", 4 * 31.5 / 3200},
	} {
		r, known := ParsePage([]byte(tt.page)).Read()
		if !known {
			t.Fatalf("%s: no engine's page", tt.name)
		}
		got := math.NaN()
		if f := r.fragmentation(); f != nil {
			got = *f
		}
		if by := r.fragmentationBy(); by != tt.by || math.Abs(got-tt.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(tt.want) {
			t.Errorf("%s: %v by %q, want %v by %q", tt.name, got, by, tt.want, tt.by)
		}
	}
}

// Evictions are what engines call so, in their own units; preemptions are none.
func TestEvictions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		page, unit string
		want       float64
	}{
		{"vllm:num_requests_running 1\nvllm:num_preemptions_total 9\n", "", -1},
		{"vllm:num_requests_running 1\nvllm:kv_block_idle_before_evict_seconds_count 3\n", "sampled block", 3},
		{"sglang:num_running_reqs 1\nsglang:evicted_tokens_total 640\n", "token", 640},
	} {
		r, _ := ParsePage([]byte(tt.page)).Read()
		got := -1.0
		if r.Evictions != nil {
			got = *r.Evictions
		}
		if got != tt.want || r.EvictionUnit != tt.unit {
			t.Errorf("%q: %v of %q, want %v of %q", tt.page, got, r.EvictionUnit, tt.want, tt.unit)
		}
	}
}
