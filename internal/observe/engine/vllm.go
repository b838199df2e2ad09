package engine

import (
	"regexp"
	"strings"
	"time"
)

// The simulated engine has vLLM's flags.
var _ = register(Engine{
	Name: "vllm", Place: 1, Words: []string{"vllm", "redline sim"},
	Pages: []Page{
		{Path: "/server_info", Read: readVLLM},
		{Path: "/server_info?config_format=json", Read: readVLLMSpeculation},
	},
	Metrics: Metrics{
		Prefix: "vllm:", Others: []string{"redline_kv_tokens", evictedBlocks}, Replica: "engine", Config: "vllm:cache_config_info",
		AdapterSlots:  LabeledSource{"vllm:lora_requests_info", "max_lora"},
		Running:       sourcesOf("vllm:num_requests_running"),
		Waiting:       sourcesOf("vllm:num_requests_waiting"),
		WaitingFor:    LabeledSource{"vllm:num_requests_waiting_by_reason", "reason"},
		KVUsage:       sourcesOf("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
		Connections:   sourcesOf("vllm:websocket_connections_active"),
		Adapters:      ListedSource{"vllm:lora_requests_info", []string{"running_lora_adapters", "waiting_lora_adapters"}},
		KVTokens:      sourcesOf("redline_kv_tokens"),
		PrefixRate:    sourcesOf("vllm:gpu_prefix_cache_hit_rate"),
		PrefixHits:    sourcesOf("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
		PrefixQueries: sourcesOf("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
		TierHits:      sourcesOf("vllm:external_prefix_cache_hits_total"),
		Preemptions:   sourcesOf("vllm:num_preemptions_total"),
		Recomputes:    sourcesOf("vllm:num_preemptions_total"),
		// With --kv-cache-metrics vLLM times evictions of a sample of its blocks.
		Evictions: []Source{{Name: evictedBlocks, Unit: "block"},
			{Name: "vllm:kv_block_idle_before_evict_seconds_count", Unit: "sampled block"}},
		HitsBy:           LabeledSource{"vllm:prompt_tokens_cached_by_source_total", "source"},
		SpecDrafts:       sourcesOf("vllm:spec_decode_num_drafts_total"),
		SpecAcceptedAt:   LabeledSource{"vllm:spec_decode_num_accepted_tokens_per_pos_total", "position"},
		SpecDrafted:      sourcesOf("vllm:spec_decode_num_draft_tokens_total"),
		SpecAccepted:     sourcesOf("vllm:spec_decode_num_accepted_tokens_total"),
		PromptTokens:     sourcesOf("vllm:prompt_tokens_total"),
		GenerationTokens: sourcesOf("vllm:generation_tokens_total"),
		Requests:         sourcesOf("vllm:request_success_total"),
		Steps:            sourcesOf("vllm:iteration_tokens_total_count"),
		StepTokens:       sourcesOf("vllm:iteration_tokens_total_sum"),
		TTFT:             sourcesOf("vllm:time_to_first_token_seconds"),
		ITL:              sourcesOf("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
		Queue:            sourcesOf("vllm:request_queue_time_seconds"),
		Prefill:          sourcesOf("vllm:request_prefill_time_seconds"),
		Decode:           sourcesOf("vllm:request_decode_time_seconds"),
		Inference:        sourcesOf("vllm:request_inference_time_seconds"),
		E2E:              sourcesOf("vllm:e2e_request_latency_seconds"),
		Transfer:         sourcesOf("vllm:nixl_xfer_time_seconds"),
		TransferBytes:    sourcesOf("vllm:nixl_bytes_transferred_sum"),
		TransferFailures: sourcesOf("vllm:nixl_num_failed_transfers_total", "vllm:nixl_num_failed_transfers"),
	},
	CountsDrafts: true,
	Forced:       []string{"synthetic_acceptance", "'synthetic'", `"synthetic"`, "rejection_sample_method=synthetic"},
	Reset:        Reset{Path: "/reset_prefix_cache", Note: "VLLM_SERVER_DEV_MODE=1 in its environment"},
	Front: &Front{Request: 4 * time.Millisecond, TokenUS: 3.3, EventUS: 78, StepUS: 395, Delay: 3 * time.Millisecond, Async: true,
		PromptLayer: 250 * time.Microsecond, GraphTokens: 512, EagerLayer: 600 * time.Microsecond, EagerExperts: 1500 * time.Microsecond, EagerSequence: 0.0007,
		Source: "vLLM 0.24.0 with one API process"},
	Tokenize: func(model, text string) any {
		return map[string]any{"model": model, "prompt": text, "add_special_tokens": false}
	},
	Startup: []LoggedPhase{
		loggedPhase("weights", `Loading weights took # s`),
		loggedPhase("model", `Model loading took [0-9.]+ GiB(?: memory)? and # s`),
		loggedPhase("compile", `torch\.compile (?:takes|took) # s`),
		loggedPhase("graphs", `Graph capturing finished in # s`),
		loggedPhase("engine", `init engine \(.*?\) took # s`),
	},
	Advice: map[string]string{
		"rate-limited":         "vLLM has no rate limit of its own: look at the gateway in front",
		"cold-start":           "--compilation-config and --enforce-eager decide what is compiled and captured at start",
		"session-cache":        "--kv-offloading-size (GiB of host memory), --kv-cache-dtype fp8, --gpu-memory-utilization up, --data-parallel-size up",
		"kv-pressure":          "--gpu-memory-utilization up, --kv-cache-dtype fp8, --max-num-seqs down, --max-model-len down",
		"scheduler-saturation": "--max-num-seqs up, --max-num-batched-tokens with it",
		"prefill-pool":         "more engines with --kv-transfer-config '{\"kv_role\":\"kv_producer\",…}'; on those --max-num-batched-tokens up, --tensor-parallel-size up, --enable-prefix-caching",
		"decode-pool":          "more engines with --kv-transfer-config '{\"kv_role\":\"kv_consumer\",…}'; on those --max-num-seqs, --gpu-memory-utilization up and --kv-cache-dtype fp8 if requests wait, --max-num-seqs down or --tensor-parallel-size up if tokens are slow",
		"prefix-cache":         "--enable-prefix-caching on, --gpu-memory-utilization up",
		"subagent-bursts":      "--max-num-batched-tokens up, --tensor-parallel-size up, --data-parallel-size up",
		"uncached-turns":       "--max-num-batched-tokens up, --tensor-parallel-size up, --quantization fp8; --long-prefill-token-threshold keeps short turns from waiting behind them",
		"grammar-compilation":  "--structured-outputs-config.backend guidance compiles as it goes, xgrammar ahead",
		"host-bound":           "--max-cudagraph-capture-size up (steps of more tokens run without a graph), --max-num-batched-tokens down to it, --async-scheduling on, leave --enforce-eager out, --data-parallel-size up",
		"front-end-bound":      "--api-server-count up, --stream-interval up (tokens an event)",
		"network-bound":        "--api-server-count up, if the front end is the one that is busy",
		"interference":         "--enable-chunked-prefill on and --max-num-batched-tokens down: smaller chunks, shorter stalls; --long-prefill-token-threshold bounds them",
		"queueing":             "--max-num-batched-tokens up if prompts wait, --max-num-seqs up if the batch is full",
		"prefill-bound":        "--enable-prefix-caching, --max-num-batched-tokens up, --tensor-parallel-size up, --quantization fp8",
		"device-full":          "--data-parallel-size up, --tensor-parallel-size up, --quantization fp8, --enable-prefix-caching; prefill apart (--kv-transfer-config)",
		"inefficient-decode":   "leave --enforce-eager out, --async-scheduling, VLLM_ATTENTION_BACKEND",
		"slow-decode":          "--quantization fp8 or awq, leave --enforce-eager out, VLLM_ATTENTION_BACKEND",
		"batching-trade-off":   "--max-num-seqs down",
		"decode-memory-bound":  "--quantization fp8 or awq, --kv-cache-dtype fp8, --speculative-config, --tensor-parallel-size up",
	},
	Log: map[string][]string{"preemption": {"preempt"}},
	Style: &Style{Name: "vllm", Owner: "redline", Pages: map[string]func(Sim) any{
		"/version": func(s Sim) any { return map[string]string{"version": s.Version} },
	}},
})

// readVLLM reads the page of a server in development mode, which has its
// configuration as one text.
func readVLLM(o object, f *Facts) {
	config, ok := o["vllm_config"]
	if !ok {
		return
	}
	f.Engine = "vllm"
	if text, ok := config.(string); ok {
		readVLLMConfig(text, f)
	}
}

// readVLLMSpeculation reads how drafts are accepted, which the configuration as text
// leaves out.
func readVLLMSpeculation(o object, f *Facts) {
	f.keep(o.in("vllm_config").in("speculative_config"), "rejection_sample_method", "synthetic_acceptance_length")
}

// setting finds name=value in the text of a configuration.
var setting = regexp.MustCompile(`(?:^|[\s,(])([a-z_]+)=('[^']*'|[^,\s()]+)`)

func readVLLMConfig(text string, f *Facts) {
	found := object{}
	for _, m := range setting.FindAllStringSubmatch(text, -1) {
		if _, known := found[m[1]]; !known {
			found[m[1]] = strings.Trim(m[2], "'")
		}
	}
	f.Model, f.Revision, f.Tokenizer = found.text("model"), found.text("revision"), found.text("tokenizer")
	f.Precision, f.Quantization = strings.TrimPrefix(found.text("dtype"), "torch."), found.text("quantization")
	if n := found.text("tensor_parallel_size"); n != "" {
		f.Parallelism = "tp " + n
		if n := found.text("pipeline_parallel_size"); n != "" && n != "1" {
			f.Parallelism += ", pp " + n
		}
		if n := found.text("data_parallel_size"); n != "" && n != "1" {
			f.Parallelism += ", dp " + n
		}
	}
	f.keep(found, "max_seq_len", "kv_cache_dtype", "enforce_eager", "enable_prefix_caching", "enable_chunked_prefill",
		"chunked_prefill_enabled", "scheduling_policy", "max_num_seqs", "max_num_batched_tokens", "load_format", "kv_cache_metrics_sample")
}
