package engine

import "strings"

// TGI has no time to the first token, and its time per token is that of the
// whole inference over its tokens, prompt included; the time of a batch's step
// stands nearer to what others call inter-token latency.
var _ = register(Engine{
	Name: "tgi", Place: 3, Words: []string{"text-generation", "tgi"},
	Dialects: []string{"tgi-generate"},
	Pages: []Page{
		{Path: "/info", Read: readTGI},
	},
	Metrics: Metrics{
		Prefix:           "tgi_",
		Running:          sourcesOf("tgi_batch_current_size"),
		Waiting:          sourcesOf("tgi_queue_size"),
		PromptTokens:     sourcesOf("tgi_request_input_length_sum"),
		GenerationTokens: sourcesOf("tgi_request_generated_tokens_sum"),
		Requests:         []Source{{Name: "tgi_request_success", Plus: "tgi_request_failure"}},
		SpecAccepted:     sourcesOf("tgi_request_skipped_tokens_sum"),
		ITL: []Source{{Name: "tgi_batch_inference_duration", Label: "method", Value: "decode"},
			{Name: "tgi_request_mean_time_per_token_duration"}},
		Queue:   sourcesOf("tgi_request_queue_duration"),
		Prefill: []Source{{Name: "tgi_batch_inference_duration", Label: "method", Value: "prefill"}},
		E2E:     sourcesOf("tgi_request_duration"),
		Steps:   sourcesOf("tgi_batch_inference_duration_count"),
	},
	CountsAtEnd: true,
	Tokenize:    func(_, text string) any { return map[string]any{"inputs": text} },
	Advice: map[string]string{
		"rate-limited":         "--max-concurrent-requests is the number above which TGI answers 429",
		"cold-start":           "--cuda-graphs names the batch sizes that are captured at start",
		"session-cache":        "--max-batch-total-tokens and --cuda-memory-fraction up, --kv-cache-dtype fp8_e5m2",
		"kv-pressure":          "--max-batch-total-tokens and --cuda-memory-fraction up, --kv-cache-dtype fp8_e5m2",
		"scheduler-saturation": "--max-batch-size and --max-batch-prefill-tokens up",
		"prefix-cache":         "PREFIX_CACHING=1, --max-batch-total-tokens up",
		"subagent-bursts":      "--max-batch-prefill-tokens up, --num-shard up, more servers",
		"uncached-turns":       "--max-batch-prefill-tokens up, --num-shard up, --quantize fp8",
		"grammar-compilation":  "fewer different schemas: it compiles each in Python and keeps it; --disable-grammar-support refuses them",
		"host-bound":           "--cuda-graphs with larger batch sizes, fewer requests a replica (--max-concurrent-requests down)",
		"front-end-bound":      "--validation-workers up, several servers behind a balancer",
		"network-bound":        "--validation-workers up, if the router is the one that is busy",
		"interference":         "--max-batch-prefill-tokens down, --waiting-served-ratio up",
		"queueing":             "--max-batch-prefill-tokens up if prompts wait, --max-concurrent-requests down to refuse instead",
		"prefill-bound":        "--max-batch-prefill-tokens up, --num-shard up, --quantize fp8",
		"device-full":          "more servers, --num-shard up, --quantize fp8, PREFIX_CACHING=1",
		"inefficient-decode":   "--cuda-graphs, and a --quantize whose kernels suit the accelerator",
		"slow-decode":          "--quantize fp8 or awq, --cuda-graphs",
		"batching-trade-off":   "--max-batch-size down",
		"decode-memory-bound":  "--quantize fp8 or awq, --kv-cache-dtype fp8_e5m2, --speculate 2, --num-shard up",
	},
	Style: &Style{
		Name: "tgi",
		Series: []Series{
			same(gauge, "tgi_batch_current_size", "", running),
			same(gauge, "tgi_queue_size", "", waiting),
			same(counter, "tgi_request_count", "", successes),
			same(counter, "tgi_request_success", "", successes),
			timing("tgi_request_input_length", "", promptLengths, 1),
			timing("tgi_request_generated_tokens", "", outputLengths, 1),
			timing("tgi_request_duration", "", endToEnds, 1),
			timing("tgi_request_queue_duration", "", queueTimes, 1),
			timing("tgi_request_inference_duration", "", inferenceTimes, 1),
			timing("tgi_batch_inference_duration", `method="prefill"`, prefillTimes, 1),
			timing("tgi_batch_inference_duration", `method="decode"`, interTokens, 1),
		},
		Pages: map[string]func(Sim) any{"/info": tgiInfo},
	},
})

func readTGI(o object, f *Facts) {
	if o.text("model_id") == "" {
		return
	}
	f.Engine, f.Version = "tgi", o.text("version")
	f.Model, f.Revision = o.text("model_id"), o.text("model_sha")
	f.Precision, f.Quantization = strings.TrimPrefix(o.text("model_dtype"), "torch."), o.text("quantize")
	f.MaxLen = o.number("max_total_tokens")
	f.keep(o, "model_device_type", "max_concurrent_requests", "max_input_tokens", "max_input_length", "max_total_tokens",
		"max_batch_total_tokens", "max_batch_size", "waiting_served_ratio", "max_waiting_tokens", "max_client_batch_size",
		"validation_workers", "docker_label")
}

func tgiInfo(s Sim) any {
	return map[string]any{
		"model_id": s.Model, "model_dtype": s.Dtype, "model_device_type": "cuda",
		"max_concurrent_requests": s.MaxNumSeqs, "max_total_tokens": s.MaxModelLen,
		"max_input_tokens": s.MaxModelLen - 1, "version": s.Version, "router": "text-generation-router",
	}
}
