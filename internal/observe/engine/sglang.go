package engine

var _ = register(Engine{
	Name: "sglang", Place: 2, Words: []string{"sglang"},
	Dialects: []string{"sglang-generate"},
	Pages: []Page{
		{Path: "/server_info", Read: readSGLang},
		{Path: "/get_server_info", Read: readSGLang},
		{Path: "/get_model_info", Read: readSGLangModel},
	},
	Metrics: Metrics{
		Prefix: "sglang:", Replica: "dp_rank", Shards: []string{"tp_rank", "pp_rank", "moe_ep_rank"},
		Config:   "sglang:cache_config_info",
		Renamed:  map[string]string{"page_size": "block_size", "num_pages": "num_gpu_blocks"},
		Settings: map[string][]Source{"kv_tokens": sourcesOf("sglang:max_total_num_tokens"), "context_len": sourcesOf("sglang:context_len")},
		Running:  sourcesOf("sglang:num_running_reqs"),
		Waiting:  sourcesOf("sglang:num_queue_reqs"),
		KVUsage:  sourcesOf("sglang:token_usage"),

		PrefixRate: sourcesOf("sglang:cache_hit_rate"),
		PrefixHits: []Source{{Name: "sglang:cached_tokens_total", Label: "cache_source", Value: "total"},
			{Name: "sglang:cached_tokens_total"}},
		PrefixQueries:    sourcesOf("sglang:prompt_tokens_total"),
		Preemptions:      sourcesOf("sglang:num_retracted_requests_total"),
		Recomputes:       sourcesOf("sglang:num_retracted_requests_total"),
		Evictions:        []Source{{Name: "sglang:evicted_tokens_total", Unit: "token"}},
		Swaps:            sourcesOf("sglang:load_back_tokens_total"),
		HitsBy:           LabeledSource{"sglang:cached_tokens_total", "cache_source"},
		SpecLength:       sourcesOf("sglang:spec_accept_length"),
		SpecRate:         sourcesOf("sglang:spec_accept_rate"),
		PromptTokens:     sourcesOf("sglang:prompt_tokens_total"),
		GenerationTokens: sourcesOf("sglang:generation_tokens_total"),
		Requests:         sourcesOf("sglang:num_requests_total"),
		TTFT:             sourcesOf("sglang:time_to_first_token_seconds"),
		ITL:              sourcesOf("sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"),
		Queue:            []Source{{Name: "sglang:queue_time_seconds"}, sglangStage("prefill_waiting")},
		Prefill:          []Source{sglangStage("prefill_forward"), sglangStage("prefill")},
		Decode:           []Source{sglangStage("decode_forward"), sglangStage("decode")},
		E2E:              sourcesOf("sglang:e2e_request_latency_seconds"),
		Transfer:         []Source{{Name: "sglang:kv_transfer_latency_ms", Scale: 1e-3}},
		TransferBytes:    []Source{{Name: "sglang:kv_transfer_total_mb_sum", Scale: 1e6}},
		TransferFailures: sourcesOf("sglang:num_transfer_failed_reqs_total"),
	},
	CountsAtEnd: true,
	Startup: []LoggedPhase{
		loggedPhase("weights", `Load weight end\. elapsed=# s`),
		loggedPhase("graphs", `Capture .*?(?:cuda|CUDA) graph end\. (?:Time elapsed: |elapsed=)# s`),
	},
	Forced: []string{"SGLANG_SIMULATE_ACC_LEN"},
	Reset:  Reset{Path: "/flush_cache", Note: "a version that has it"},
	Advice: map[string]string{
		"rate-limited":         "--max-queued-requests bounds SGLang's queue",
		"cold-start":           "leave --skip-server-warmup out; --cuda-graph-max-bs decides what is captured at start",
		"session-cache":        "--enable-hierarchical-cache with --hicache-ratio or --hicache-size, --mem-fraction-static up, --kv-cache-dtype fp8_e5m2, --dp-size up",
		"kv-pressure":          "--mem-fraction-static up, --kv-cache-dtype fp8_e5m2, --max-running-requests down, --schedule-conservativeness up",
		"scheduler-saturation": "--max-running-requests up",
		"prefill-pool":         "more servers with --disaggregation-mode prefill; on those --chunked-prefill-size and --max-prefill-tokens up, --tp up",
		"decode-pool":          "more servers with --disaggregation-mode decode; on those --mem-fraction-static and --num-reserved-decode-tokens if requests wait, --max-running-requests down or --tp up if tokens are slow",
		"prefix-cache":         "leave --disable-radix-cache out, --mem-fraction-static up",
		"subagent-bursts":      "--max-prefill-tokens up, --tp up, --dp-size up, --schedule-policy lpm",
		"uncached-turns":       "--chunked-prefill-size up, --tp up, --quantization fp8, or prefill apart (--disaggregation-mode)",
		"grammar-compilation":  "--grammar-backend llguidance compiles as it goes, xgrammar ahead",
		"host-bound":           "--cuda-graph-max-bs up, --enable-torch-compile, leave --disable-overlap-schedule and --disable-cuda-graph out, --dp-size up",
		"front-end-bound":      "--tokenizer-worker-num up, --stream-interval up (tokens an event), --skip-tokenizer-init where the client has token ids",
		"network-bound":        "--tokenizer-worker-num up, if the front end is the one that is busy",
		"interference":         "--chunked-prefill-size down, --enable-mixed-chunk, or prefill apart (--disaggregation-mode)",
		"queueing":             "--max-prefill-tokens up if prompts wait, --max-running-requests up, --schedule-policy lpm",
		"prefill-bound":        "--chunked-prefill-size and --max-prefill-tokens up, --tp up, --quantization fp8",
		"device-full":          "--dp-size up, --tp up, --quantization fp8; prefill apart (--disaggregation-mode)",
		"inefficient-decode":   "leave --disable-cuda-graph out, --attention-backend, --enable-torch-compile",
		"slow-decode":          "--quantization fp8, --attention-backend, leave --disable-cuda-graph out",
		"batching-trade-off":   "--max-running-requests down",
		"decode-memory-bound":  "--quantization fp8, --kv-cache-dtype fp8_e5m2, --speculative-algorithm EAGLE, --tp up",
	},
	Log: map[string][]string{"preemption": {"retract"}},
	Style: &Style{
		Name: "sglang", Owner: "sglang",
		Series: []Series{
			same(gauge, "sglang:num_running_reqs", sglangLabels, running),
			same(gauge, "sglang:num_queue_reqs", sglangLabels, waiting),
			same(gauge, "sglang:token_usage", sglangLabels, kvUsage),
			computedSeries(gauge, "sglang:cache_hit_rate", sglangLabels, func(f Figures) float64 { return f.Value(prefixHits) / max(1, f.Value(prefixAsked)) }),
			computedSeries(gauge, "sglang:max_total_num_tokens", sglangLabels, func(f Figures) float64 { return float64(f.KVBlocks) * float64(f.BlockSize) }),
			same(counter, "sglang:num_retracted_requests_total", sglangLabels, preemptions),
			computedSeries(counter, "sglang:evicted_tokens_total", sglangLabels, func(f Figures) float64 { return f.Value(evictedBlocks) * float64(f.BlockSize) }),
			same(counter, "sglang:prompt_tokens_total", modelLabel, prompts),
			same(counter, "sglang:cached_tokens_total", modelLabel+`,cache_source="device"`, prefixHits),
			same(counter, "sglang:generation_tokens_total", modelLabel, generations),
			same(counter, "sglang:num_requests_total", modelLabel, successes),
			timing("sglang:time_to_first_token_seconds", modelLabel+`,is_streaming="true"`, firstTokens, 1),
			timing("sglang:inter_token_latency_seconds", modelLabel, interTokens, 1),
			timing("sglang:e2e_request_latency_seconds", modelLabel, endToEnds, 1),
			timing("sglang:queue_time_seconds", sglangLabels, queueTimes, 1),
			timing("sglang:per_stage_req_latency_seconds", sglangLabels+`,stage="prefill_forward"`, prefillTimes, 1),
			timing("sglang:per_stage_req_latency_seconds", sglangLabels+`,stage="decode_forward"`, decodeTimes, 1),
		},
		Pages: map[string]func(Sim) any{"/server_info": sglangServer, "/get_server_info": sglangServer, "/get_model_info": sglangModel},
	},
})

const sglangLabels = `model_name="MODEL",engine_type="unified",tp_rank="0",pp_rank="0"`

// sglangStage is one step of a request's way through SGLang.
func sglangStage(name string) Source {
	return Source{Name: "sglang:per_stage_req_latency_seconds", Label: "stage", Value: name}
}

func readSGLang(o object, f *Facts) {
	if _, vllm := o["vllm_config"]; vllm || o.text("model_path") == "" {
		return
	}
	f.Engine, f.Version = "sglang", o.text("version")
	f.Model, f.Revision, f.Tokenizer = o.text("model_path"), o.text("revision"), o.text("tokenizer_path")
	f.Precision, f.Quantization = o.text("dtype"), o.text("quantization")
	f.MaxLen = o.number("context_length", "max_req_input_len")
	f.Parallelism = parallelism(o, [][2]string{{"tp", "tp_size"}, {"pp", "pp_size"}, {"dp", "dp_size"}, {"ep", "ep_size"}})
	f.keep(o, "attention_backend", "schedule_policy", "schedule_conservativeness", "mem_fraction_static", "max_running_requests",
		"chunked_prefill_size", "max_prefill_tokens", "page_size", "kv_cache_dtype", "disable_radix_cache", "speculative_algorithm",
		"speculative_num_draft_tokens", "cuda_graph_max_bs", "disable_cuda_graph", "enable_torch_compile", "enable_mixed_chunk",
		"sampling_backend", "disaggregation_mode", "enable_hierarchical_cache", "device")
}

func readSGLangModel(o object, f *Facts) {
	f.Model, f.Tokenizer = o.text("model_path"), o.text("tokenizer_path")
	if f.Model != "" {
		f.Engine = "sglang"
	}
}

func sglangServer(s Sim) any {
	return map[string]any{
		"version": s.Version, "model_path": s.Model, "served_model_name": s.ServedModel,
		"tokenizer_path": s.Model, "tp_size": s.TP, "dp_size": 1, "pp_size": 1,
		"dtype": s.Dtype, "quantization": s.Quantization, "kv_cache_dtype": s.KVCacheDtype,
		"context_length": s.MaxModelLen, "mem_fraction_static": s.MemoryUtilization,
		"max_running_requests": s.MaxNumSeqs, "chunked_prefill_size": s.MaxNumBatchedTokens,
		"schedule_policy": "fcfs", "attention_backend": "simulated",
	}
}

func sglangModel(s Sim) any {
	return map[string]any{"model_path": s.Model, "tokenizer_path": s.Model, "is_generation": true}
}
