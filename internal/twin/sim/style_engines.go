package sim

import "strconv"

// Names of vLLM's that most of the styles translate.
const (
	running   = "num_requests_running"
	waiting   = "num_requests_waiting"
	kvUsage   = "kv_cache_usage_perc"
	hits      = "prefix_cache_hits_total"
	queries   = "prefix_cache_queries_total"
	preempted = "num_preemptions_total"
	prompts   = "prompt_tokens_total"
	generated = "generation_tokens_total"
	succeeded = "request_success_total"

	firstTokens = "time_to_first_token_seconds"
	interTokens = "inter_token_latency_seconds"
	endToEnds   = "e2e_request_latency_seconds"
	queueTimes  = "request_queue_time_seconds"
	prefillTime = "request_prefill_time_seconds"
	decodeTime  = "request_decode_time_seconds"
)

const (
	sglangLabels = `model_name="MODEL",engine_type="unified",tp_rank="0",pp_rank="0"`
	modelLabel   = `model_name="MODEL"`
)

var sglangStyle = style{
	name: "sglang", owner: "sglang", at: "/metrics",
	figures: []figure{
		copied(gauge, "sglang:num_running_reqs", sglangLabels, running),
		copied(gauge, "sglang:num_queue_reqs", sglangLabels, waiting),
		copied(gauge, "sglang:token_usage", sglangLabels, kvUsage),
		made(gauge, "sglang:cache_hit_rate", sglangLabels, func(p vllmPage) float64 { return p.of(hits) / max(1, p.of(queries)) }),
		made(gauge, "sglang:max_total_num_tokens", sglangLabels, func(p vllmPage) float64 { return p.blocks * blockSize }),
		copied(counter, "sglang:num_retracted_requests_total", sglangLabels, preempted),
		copied(counter, "sglang:prompt_tokens_total", modelLabel, prompts),
		copied(counter, "sglang:cached_tokens_total", modelLabel+`,cache_source="device"`, hits),
		copied(counter, "sglang:generation_tokens_total", modelLabel, generated),
		copied(counter, "sglang:num_requests_total", modelLabel, succeeded),
		timed("sglang:time_to_first_token_seconds", modelLabel+`,is_streaming="true"`, firstTokens, 1),
		timed("sglang:inter_token_latency_seconds", modelLabel, interTokens, 1),
		timed("sglang:e2e_request_latency_seconds", modelLabel, endToEnds, 1),
		timed("sglang:queue_time_seconds", sglangLabels, queueTimes, 1),
		timed("sglang:per_stage_req_latency_seconds", sglangLabels+`,stage="prefill_forward"`, prefillTime, 1),
		timed("sglang:per_stage_req_latency_seconds", sglangLabels+`,stage="decode_forward"`, decodeTime, 1),
	},
	told: map[string]func(*Server) any{"/server_info": toldSGLang, "/get_server_info": toldSGLang, "/get_model_info": toldSGLangModel},
}

var tgiStyle = style{
	name: "tgi", at: "/metrics",
	figures: []figure{
		copied(gauge, "tgi_batch_current_size", "", running),
		copied(gauge, "tgi_queue_size", "", waiting),
		copied(counter, "tgi_request_count", "", succeeded),
		copied(counter, "tgi_request_success", "", succeeded),
		timed("tgi_request_input_length", "", "request_prompt_tokens", 1),
		timed("tgi_request_generated_tokens", "", "request_generation_tokens", 1),
		timed("tgi_request_duration", "", endToEnds, 1),
		timed("tgi_request_queue_duration", "", queueTimes, 1),
		timed("tgi_request_inference_duration", "", "request_inference_time_seconds", 1),
		timed("tgi_batch_inference_duration", `method="prefill"`, prefillTime, 1),
		timed("tgi_batch_inference_duration", `method="decode"`, interTokens, 1),
	},
	told: map[string]func(*Server) any{"/info": toldTGI},
}

var llamaCppStyle = style{
	name: "llamacpp", owner: "llamacpp", at: "/metrics",
	figures: []figure{
		made(counter, "llamacpp:prompt_tokens_total", "", func(p vllmPage) float64 { return max(0, p.of(prompts)-p.of(hits)) }),
		copied(counter, "llamacpp:prompt_tokens_cached_total", "", hits),
		made(counter, "llamacpp:prompt_seconds_total", "", func(p vllmPage) float64 { return p.sum(prefillTime) }),
		copied(counter, "llamacpp:tokens_predicted_total", "", generated),
		made(counter, "llamacpp:tokens_predicted_seconds_total", "", func(p vllmPage) float64 { return p.sum(interTokens) }),
		copied(gauge, "llamacpp:requests_processing", "", running),
		copied(gauge, "llamacpp:requests_deferred", "", waiting),
	},
	told: map[string]func(*Server) any{"/props": toldLlamaCpp},
}

const (
	tritonLabels  = `model="ensemble",version="1"`
	tritonBackend = `model="tensorrt_llm",version="1"`
)

func tritonRequest(kind string, value func(vllmPage) float64) figure {
	return made(gauge, "nv_trt_llm_request_metrics", tritonBackend+`,request_type="`+kind+`"`, value)
}

func tritonBlock(kind string, value func(vllmPage) float64) figure {
	return made(gauge, "nv_trt_llm_kv_cache_block_metrics", tritonBackend+`,kv_cache_block_type="`+kind+`"`, value)
}

var tritonStyle = style{
	name: "triton", owner: "Triton", at: "/metrics",
	figures: []figure{
		copied(counter, "nv_inference_request_success", tritonLabels, succeeded),
		copied(counter, "nv_inference_request_success", tritonBackend, succeeded),
		made(counter, "nv_inference_request_duration_us", tritonLabels, func(p vllmPage) float64 { return p.sum(endToEnds) * 1e6 }),
		made(counter, "nv_inference_queue_duration_us", tritonLabels, func(p vllmPage) float64 { return p.sum(queueTimes) * 1e6 }),
		timed("nv_inference_first_response_histogram_ms", tritonLabels, firstTokens, 1e3),
		tritonRequest("waiting", func(p vllmPage) float64 { return p.of(waiting) }),
		tritonRequest("scheduled", func(p vllmPage) float64 { return p.of(running) }),
		tritonRequest("active", func(p vllmPage) float64 { return p.of(running) }),
		tritonRequest("max", func(p vllmPage) float64 { return float64(p.spec.MaxNumSeqs) }),
		tritonBlock("fraction", func(p vllmPage) float64 { return p.of(kvUsage) }),
		tritonBlock("used", func(p vllmPage) float64 { return p.of(kvUsage) * p.blocks }),
		tritonBlock("max", func(p vllmPage) float64 { return p.blocks }),
		tritonBlock("tokens_per", func(vllmPage) float64 { return blockSize }),
		timed("nv_llm_input_token_len", tritonBackend, "request_prompt_tokens", 1),
		timed("nv_llm_output_token_len", tritonBackend, "request_generation_tokens", 1),
	},
	told: map[string]func(*Server) any{"/v2": toldTriton},
}

var nimStyle = style{
	name: "nim", owner: "system", at: "/v1/metrics",
	figures: []figure{
		copied(gauge, running, modelLabel, running),
		copied(gauge, waiting, modelLabel, waiting),
		made(gauge, "num_request_max", modelLabel, func(p vllmPage) float64 { return float64(p.spec.MaxNumSeqs) }),
		copied(gauge, "gpu_cache_usage_perc", modelLabel, kvUsage),
		copied(counter, prompts, modelLabel, prompts),
		copied(counter, generated, modelLabel, generated),
		copied(counter, "request_finish_total", modelLabel+`,finished_reason="stop"`, succeeded),
		timed(firstTokens, modelLabel, firstTokens, 1),
		timed("time_per_output_token_seconds", modelLabel, interTokens, 1),
		timed(endToEnds, modelLabel, endToEnds, 1),
	},
	told: map[string]func(*Server) any{"/v1/metadata": toldNIM},
}

// What engines tell of themselves, as far as the simulated one has it.

func toldVersion(s *Server) any { return map[string]string{"version": s.version} }

func (s *Server) precision() string { return orDefault(s.spec.Dtype, "auto") }

func toldSGLang(s *Server) any {
	return map[string]any{
		"version": s.version, "model_path": s.spec.Model, "served_model_name": s.spec.ServedModelName,
		"tokenizer_path": s.spec.Model, "tp_size": s.spec.TP, "dp_size": 1, "pp_size": 1,
		"dtype": s.precision(), "quantization": s.spec.Quantization, "kv_cache_dtype": orDefault(s.spec.KVCacheDtype, "auto"),
		"context_length": s.spec.MaxModelLen, "mem_fraction_static": s.spec.GPUMemoryUtilization,
		"max_running_requests": s.spec.MaxNumSeqs, "chunked_prefill_size": s.spec.MaxNumBatchedTokens,
		"schedule_policy": "fcfs", "attention_backend": "simulated",
	}
}

func toldSGLangModel(s *Server) any {
	return map[string]any{"model_path": s.spec.Model, "tokenizer_path": s.spec.Model, "is_generation": true}
}

func toldTGI(s *Server) any {
	return map[string]any{
		"model_id": s.spec.Model, "model_dtype": s.precision(), "model_device_type": "cuda",
		"max_concurrent_requests": s.spec.MaxNumSeqs, "max_total_tokens": s.spec.MaxModelLen,
		"max_input_tokens": s.spec.MaxModelLen - 1, "version": s.version, "router": "text-generation-router",
	}
}

func toldLlamaCpp(s *Server) any {
	return map[string]any{
		"default_generation_settings": map[string]any{"n_ctx": s.spec.MaxModelLen}, "total_slots": s.spec.MaxNumSeqs,
		"model_alias": s.spec.ServedModelName, "model_path": "/models/" + s.spec.Model + ".gguf", "build_info": s.version,
		"chat_template": "",
	}
}

func toldTriton(s *Server) any {
	return map[string]any{"name": "triton", "version": s.version, "extensions": []string{"classification", "statistics"}}
}

func toldNIM(s *Server) any {
	return map[string]any{"version": s.version, "modelInfo": []map[string]string{
		{"shortName": s.spec.ServedModelName + ":tp" + strconv.Itoa(s.spec.TP), "modelUrl": "ngc://nim/" + s.spec.Model}}}
}
