package engine

import "strconv"

// NIM has vLLM's older names without their prefix.
var _ = register(Engine{
	Name: "nim", Place: 6, Words: []string{"nim"}, Wraps: "vllm",
	Pages: []Page{
		{Path: "/v1/metadata", Read: readNIM},
	},
	Metrics: Metrics{
		Path: "/v1/metrics", Marks: []string{"num_requests_running", "num_request_max", "gpu_cache_usage_perc"},
		Running:          sourcesOf("num_requests_running"),
		Waiting:          sourcesOf("num_requests_waiting"),
		KVUsage:          sourcesOf("gpu_cache_usage_perc", "kv_cache_usage_perc"),
		Preemptions:      sourcesOf("num_preemptions_total"),
		PromptTokens:     sourcesOf("prompt_tokens_total"),
		GenerationTokens: sourcesOf("generation_tokens_total"),
		Requests:         sourcesOf("request_finish_total", "request_success_total"),
		TTFT:             sourcesOf("time_to_first_token_seconds"),
		ITL:              sourcesOf("time_per_output_token_seconds"),
		Queue:            sourcesOf("request_queue_time_seconds"),
		Prefill:          sourcesOf("request_prefill_time_seconds"),
		Decode:           sourcesOf("request_decode_time_seconds"),
		E2E:              sourcesOf("e2e_request_latency_seconds"),
		Settings:         map[string][]Source{"max_num_seqs": sourcesOf("num_request_max")},
	},
	Style: &Style{
		Name: "nim", Owner: "system",
		Series: []Series{
			same(gauge, running, modelLabel, running),
			same(gauge, waiting, modelLabel, waiting),
			computedSeries(gauge, "num_request_max", modelLabel, func(f Figures) float64 { return float64(f.MaxNumSeqs) }),
			same(gauge, "gpu_cache_usage_perc", modelLabel, kvUsage),
			same(counter, prompts, modelLabel, prompts),
			same(counter, generations, modelLabel, generations),
			same(counter, "request_finish_total", modelLabel+`,finished_reason="stop"`, successes),
			timing(firstTokens, modelLabel, firstTokens, 1),
			timing("time_per_output_token_seconds", modelLabel, interTokens, 1),
			timing(endToEnds, modelLabel, endToEnds, 1),
		},
		Pages: map[string]func(Sim) any{"/v1/metadata": nimMetadata},
	},
})

func readNIM(o object, f *Facts) {
	models, _ := o["modelInfo"].([]any)
	if len(models) == 0 {
		return
	}
	first, ok := models[0].(map[string]any)
	if !ok {
		return
	}
	f.Engine, f.Version = "nim", o.text("version")
	f.Model = object(first).text("shortName")
	f.keep(object(first), "modelUrl")
}

func nimMetadata(s Sim) any {
	return map[string]any{"version": s.Version, "modelInfo": []map[string]string{
		{"shortName": s.ServedModel + ":tp" + strconv.Itoa(s.TP), "modelUrl": "ngc://nim/" + s.Model}}}
}
