package engine

import "strings"

var _ = register(Engine{
	Name: "triton", Place: 7, Words: []string{"triton"},
	Pages: []Page{
		{Path: "/v2", Read: readTriton},
	},
	Metrics: Metrics{
		Prefix:           "nv_",
		Running:          []Source{tritonRequests("scheduled"), tritonRequests("active")},
		Waiting:          append([]Source{tritonRequests("waiting")}, tritonCounter("nv_inference_pending_request_count", "", 0)...),
		KVUsage:          []Source{tritonBlocks("fraction"), {Name: tritonKV, Label: tritonKVType, Value: "used", Per: new(tritonBlocks("max"))}},
		PromptTokens:     sourcesOf("nv_llm_input_token_len_sum"),
		GenerationTokens: sourcesOf("nv_llm_output_token_len_sum"),
		Requests:         tritonCounter("nv_inference_request_success", "", 0),
		TTFT:             tritonCounter("nv_inference_first_response_histogram_ms", "", millisecond),
		Queue:            tritonCounter("nv_inference_queue_duration_us", "nv_inference_request_success", microsecond),
		E2E:              tritonCounter("nv_inference_request_duration_us", "nv_inference_request_success", microsecond),
		Settings: map[string][]Source{"num_gpu_blocks": {tritonBlocks("max")}, "block_size": {tritonBlocks("tokens_per")},
			"max_num_seqs": {tritonRequests("max")}},
	},
	CountsAtEnd: true,
	Style: &Style{
		Name: "triton", Owner: "Triton",
		Series: []Series{
			same(counter, "nv_inference_request_success", tritonLabels, successes),
			same(counter, "nv_inference_request_success", tritonBackend, successes),
			computedSeries(counter, "nv_inference_request_duration_us", tritonLabels, func(f Figures) float64 { return f.Sum(endToEnds) * 1e6 }),
			computedSeries(counter, "nv_inference_queue_duration_us", tritonLabels, func(f Figures) float64 { return f.Sum(queueTimes) * 1e6 }),
			timing("nv_inference_first_response_histogram_ms", tritonLabels, firstTokens, 1e3),
			tritonRequest("waiting", func(f Figures) float64 { return f.Value(waiting) }),
			tritonRequest("scheduled", func(f Figures) float64 { return f.Value(running) }),
			tritonRequest("active", func(f Figures) float64 { return f.Value(running) }),
			tritonRequest("max", func(f Figures) float64 { return float64(f.MaxNumSeqs) }),
			tritonBlock("fraction", func(f Figures) float64 { return f.Value(kvUsage) }),
			tritonBlock("used", func(f Figures) float64 { return f.Value(kvUsage) * float64(f.KVBlocks) }),
			tritonBlock("max", func(f Figures) float64 { return float64(f.KVBlocks) }),
			tritonBlock("tokens_per", func(f Figures) float64 { return float64(f.BlockSize) }),
			timing("nv_llm_input_token_len", tritonBackend, promptLengths, 1),
			timing("nv_llm_output_token_len", tritonBackend, outputLengths, 1),
		},
		Pages: map[string]func(Sim) any{"/v2": func(s Sim) any {
			return map[string]any{"name": "triton", "version": s.Version, "extensions": []string{"classification", "statistics"}}
		}},
	},
})

// tritonRequests and tritonBlocks are figures of Triton's TensorRT-LLM backend.
func tritonRequests(kind string) Source {
	return Source{Name: "nv_trt_llm_request_metrics", Label: "request_type", Value: kind}
}

func tritonBlocks(kind string) Source {
	return Source{Name: tritonKV, Label: tritonKVType, Value: kind}
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

const (
	tritonKV      = "nv_trt_llm_kv_cache_block_metrics"
	tritonKVType  = "kv_cache_block_type"
	tritonLabels  = `model="ensemble",version="1"`
	tritonBackend = `model="tensorrt_llm",version="1"`
)

func tritonRequest(kind string, value func(Figures) float64) Series {
	return computedSeries(gauge, "nv_trt_llm_request_metrics", tritonBackend+`,request_type="`+kind+`"`, value)
}

func tritonBlock(kind string, value func(Figures) float64) Series {
	return computedSeries(gauge, "nv_trt_llm_kv_cache_block_metrics", tritonBackend+`,kv_cache_block_type="`+kind+`"`, value)
}

func readTriton(o object, f *Facts) {
	if name := o.text("name"); strings.EqualFold(name, "triton") {
		f.Engine, f.Version = "triton", o.text("version")
	}
}
