package engine

var _ = register(Engine{
	Name: "tensorrt-llm", Place: 5, Words: []string{"tensorrt", "trtllm"},
	Metrics: Metrics{
		Path: "/prometheus/metrics", Prefix: "trtllm_",
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
	},
})
