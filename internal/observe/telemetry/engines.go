package telemetry

// Engines lists the engines whose pages can be read. An engine whose series
// have no prefix of their own stands last.
var Engines = []Engine{vllm, sglang, tgi, llamaCpp, trtllm, triton, nim}

// named gives a source for each of the names.
func named(names ...string) []Source {
	all := make([]Source, len(names))
	for i, n := range names {
		all[i].Name = n
	}
	return all
}

var vllm = Engine{
	Name: "vllm", Prefix: "vllm:", Replica: "engine", Config: "vllm:cache_config_info",
	Running:          named("vllm:num_requests_running"),
	Waiting:          named("vllm:num_requests_waiting"),
	KVUsage:          named("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
	PrefixRate:       named("vllm:gpu_prefix_cache_hit_rate"),
	PrefixHits:       named("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
	PrefixQueries:    named("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
	Preemptions:      named("vllm:num_preemptions_total"),
	Recomputes:       named("vllm:num_preemptions_total"),
	SpecDrafted:      named("vllm:spec_decode_num_draft_tokens_total"),
	SpecAccepted:     named("vllm:spec_decode_num_accepted_tokens_total"),
	PromptTokens:     named("vllm:prompt_tokens_total"),
	GenerationTokens: named("vllm:generation_tokens_total"),
	Requests:         named("vllm:request_success_total"),
	TTFT:             named("vllm:time_to_first_token_seconds"),
	ITL:              named("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
	Queue:            named("vllm:request_queue_time_seconds"),
	Prefill:          named("vllm:request_prefill_time_seconds"),
	Decode:           named("vllm:request_decode_time_seconds"),
	E2E:              named("vllm:e2e_request_latency_seconds"),
}

// stage is one step of a request's way through SGLang.
func stage(name string) Source {
	return Source{Name: "sglang:per_stage_req_latency_seconds", Label: "stage", Value: name}
}

var sglang = Engine{
	Name: "sglang", Prefix: "sglang:", Replica: "dp_rank", Shards: []string{"tp_rank", "pp_rank", "moe_ep_rank"},
	Config:   "sglang:cache_config_info",
	Renamed:  map[string]string{"page_size": "block_size", "num_pages": "num_gpu_blocks"},
	Settings: map[string][]Source{"kv_tokens": named("sglang:max_total_num_tokens"), "context_len": named("sglang:context_len")},
	Running:  named("sglang:num_running_reqs"),
	Waiting:  named("sglang:num_queue_reqs"),
	KVUsage:  named("sglang:token_usage"),

	PrefixRate: named("sglang:cache_hit_rate"),
	PrefixHits: []Source{{Name: "sglang:cached_tokens_total", Label: "cache_source", Value: "total"},
		{Name: "sglang:cached_tokens_total"}},
	PrefixQueries:    named("sglang:prompt_tokens_total"),
	Preemptions:      named("sglang:num_retracted_requests_total"),
	Recomputes:       named("sglang:num_retracted_requests_total"),
	Evictions:        named("sglang:evicted_tokens_total"),
	Swaps:            named("sglang:load_back_tokens_total"),
	SpecRate:         named("sglang:spec_accept_rate"),
	PromptTokens:     named("sglang:prompt_tokens_total"),
	GenerationTokens: named("sglang:generation_tokens_total"),
	Requests:         named("sglang:num_requests_total"),
	TTFT:             named("sglang:time_to_first_token_seconds"),
	ITL:              named("sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"),
	Queue:            []Source{{Name: "sglang:queue_time_seconds"}, stage("prefill_waiting")},
	Prefill:          []Source{stage("prefill_forward"), stage("prefill")},
	Decode:           []Source{stage("decode_forward"), stage("decode")},
	E2E:              named("sglang:e2e_request_latency_seconds"),
}

// tgi has no time to the first token, and its time per token is that of the
// whole inference over its tokens, prompt included; the time of a batch's step
// stands nearer to what others call inter-token latency.
var tgi = Engine{
	Name: "tgi", Prefix: "tgi_",
	Running:          named("tgi_batch_current_size"),
	Waiting:          named("tgi_queue_size"),
	PromptTokens:     named("tgi_request_input_length_sum"),
	GenerationTokens: named("tgi_request_generated_tokens_sum"),
	Requests:         []Source{{Name: "tgi_request_success", Plus: "tgi_request_failure"}},
	SpecAccepted:     named("tgi_request_skipped_tokens_sum"),
	ITL: []Source{{Name: "tgi_batch_inference_duration", Label: "method", Value: "decode"},
		{Name: "tgi_request_mean_time_per_token_duration"}},
	Queue:   named("tgi_request_queue_duration"),
	Prefill: []Source{{Name: "tgi_batch_inference_duration", Label: "method", Value: "prefill"}},
	E2E:     named("tgi_request_duration"),
}

// llamaCpp keeps counters of seconds and tokens, and no histograms. Its prompt
// tokens are those that it computed; those it had in its cache are apart.
var llamaCpp = Engine{
	Name: "llama.cpp", Prefix: "llamacpp:",
	Running:          named("llamacpp:requests_processing"),
	Waiting:          named("llamacpp:requests_deferred"),
	KVUsage:          named("llamacpp:kv_cache_usage_ratio"),
	PrefixHits:       named("llamacpp:prompt_tokens_cached_total"),
	PrefixQueries:    []Source{{Name: "llamacpp:prompt_tokens_total", Plus: "llamacpp:prompt_tokens_cached_total"}},
	PromptTokens:     []Source{{Name: "llamacpp:prompt_tokens_total", Plus: "llamacpp:prompt_tokens_cached_total"}},
	GenerationTokens: named("llamacpp:tokens_predicted_total"),
	SpecDrafted:      named("llamacpp:spec_decode_num_draft_tokens_total"),
	SpecAccepted:     named("llamacpp:spec_decode_num_accepted_tokens_total"),
	PrefillSeconds:   named("llamacpp:prompt_seconds_total"),
	Prefilled:        named("llamacpp:prompt_tokens_total"),
	ITL:              []Source{{Name: "llamacpp:tokens_predicted_seconds_total", Count: "llamacpp:tokens_predicted_total"}},
}

var trtllm = Engine{
	Name: "tensorrt-llm", Prefix: "trtllm_",
	Running:      named("trtllm_num_requests_running", "trtllm_num_active_requests"),
	Waiting:      named("trtllm_num_requests_waiting", "trtllm_server_queue_length"),
	KVUsage:      named("trtllm_kv_cache_utilization"),
	PrefixRate:   named("trtllm_kv_cache_hit_rate"),
	PrefixHits:   named("trtllm_prompt_cached_tokens_total"),
	PromptTokens: named("trtllm_prompt_tokens_total"), PrefixQueries: named("trtllm_prompt_tokens_total"),
	SpecDrafted:  named("trtllm_spec_decode_drafted_tokens_total"),
	SpecAccepted: named("trtllm_spec_decode_accepted_tokens_total"),
	Requests:     named("trtllm_request_success_total"),
	TTFT:         named("trtllm_time_to_first_token_seconds"),
	ITL:          named("trtllm_time_per_output_token_seconds"),
	Queue:        named("trtllm_request_queue_time_seconds"),
	E2E:          named("trtllm_e2e_request_latency_seconds"),
	Settings: map[string][]Source{"num_gpu_blocks": named("trtllm_kv_cache_max_blocks"),
		"block_size": named("trtllm_kv_cache_tokens_per_block")},
}

// tritonRequests and tritonBlocks are figures of Triton's TensorRT-LLM backend.
func tritonRequests(kind string) Source {
	return Source{Name: "nv_trt_llm_request_metrics", Label: "request_type", Value: kind}
}

func tritonBlocks(kind string) Source {
	return Source{Name: "nv_trt_llm_kv_cache_block_metrics", Label: "kv_cache_block_type", Value: kind}
}

// tritonCounter is a counter of Triton itself: that of the whole pipeline, of
// the model in it, or of the only model that there is.
func tritonCounter(name, count string, scale float64) []Source {
	all := []Source{{Single: "model"}}
	for _, model := range []string{"tensorrt_llm", "tensorrt_llm_bls", "ensemble"} {
		all = append([]Source{{Label: "model", Value: model}}, all...)
	}
	for i := range all {
		all[i].Name, all[i].Count, all[i].Scale = name, count, scale
	}
	return all
}

const (
	microsecond = 1e-6
	millisecond = 1e-3
)

// tritonUsed is the share of blocks in use, for versions that do not tell it.
func tritonUsed() Source {
	used, of := tritonBlocks("used"), tritonBlocks("max")
	used.Per = &of
	return used
}

var triton = Engine{
	Name: "triton", Prefix: "nv_",
	Running:          []Source{tritonRequests("scheduled"), tritonRequests("active")},
	Waiting:          append([]Source{tritonRequests("waiting")}, tritonCounter("nv_inference_pending_request_count", "", 0)...),
	KVUsage:          []Source{tritonBlocks("fraction"), tritonUsed()},
	PromptTokens:     named("nv_llm_input_token_len_sum"),
	GenerationTokens: named("nv_llm_output_token_len_sum"),
	Requests:         tritonCounter("nv_inference_request_success", "", 0),
	TTFT:             tritonCounter("nv_inference_first_response_histogram_ms", "", millisecond),
	Queue:            tritonCounter("nv_inference_queue_duration_us", "nv_inference_request_success", microsecond),
	E2E:              tritonCounter("nv_inference_request_duration_us", "nv_inference_request_success", microsecond),
	Settings: map[string][]Source{"num_gpu_blocks": {tritonBlocks("max")}, "block_size": {tritonBlocks("tokens_per")},
		"max_num_seqs": {tritonRequests("max")}},
}

// nim has vLLM's older names without their prefix.
var nim = Engine{
	Name: "nim", Marks: []string{"num_requests_running", "num_request_max", "gpu_cache_usage_perc"},
	Running:          named("num_requests_running"),
	Waiting:          named("num_requests_waiting"),
	KVUsage:          named("gpu_cache_usage_perc", "kv_cache_usage_perc"),
	Preemptions:      named("num_preemptions_total"),
	PromptTokens:     named("prompt_tokens_total"),
	GenerationTokens: named("generation_tokens_total"),
	Requests:         named("request_finish_total", "request_success_total"),
	TTFT:             named("time_to_first_token_seconds"),
	ITL:              named("time_per_output_token_seconds"),
	Queue:            named("request_queue_time_seconds"),
	Prefill:          named("request_prefill_time_seconds"),
	Decode:           named("request_decode_time_seconds"),
	E2E:              named("e2e_request_latency_seconds"),
	Settings:         map[string][]Source{"max_num_seqs": named("num_request_max")},
}
