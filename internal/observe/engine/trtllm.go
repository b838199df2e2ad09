package engine

var _ = register(Engine{
	Name: "tensorrt-llm", Place: 5, Words: []string{"tensorrt", "trtllm"},
	Startup: []LoggedPhase{loggedPhase("model", `Model init total -- #s`)},
	Forced:  []string{"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"},
	Metrics: Metrics{
		Path: "/prometheus/metrics", Prefix: "trtllm_",
		Running:      sourcesOf("trtllm_num_requests_running", "trtllm_num_active_requests"),
		Waiting:      sourcesOf("trtllm_num_requests_waiting", "trtllm_server_queue_length"),
		KVUsage:      sourcesOf("trtllm_kv_cache_utilization"),
		PrefixRate:   sourcesOf("trtllm_kv_cache_hit_rate"),
		PrefixHits:   sourcesOf("trtllm_prompt_cached_tokens_total"),
		PromptTokens: sourcesOf("trtllm_prompt_tokens_total"), PrefixQueries: sourcesOf("trtllm_prompt_tokens_total"),
		SpecDrafted:  sourcesOf("trtllm_spec_decode_drafted_tokens_total"),
		SpecAccepted: sourcesOf("trtllm_spec_decode_accepted_tokens_total"),
		Requests:     sourcesOf("trtllm_request_success_total"),
		TTFT:         sourcesOf("trtllm_time_to_first_token_seconds"),
		ITL:          sourcesOf("trtllm_time_per_output_token_seconds"),
		Queue:        sourcesOf("trtllm_request_queue_time_seconds"),
		E2E:          sourcesOf("trtllm_e2e_request_latency_seconds"),
		Settings: map[string][]Source{"num_gpu_blocks": sourcesOf("trtllm_kv_cache_max_blocks"),
			"block_size": sourcesOf("trtllm_kv_cache_tokens_per_block")},
	},
})
