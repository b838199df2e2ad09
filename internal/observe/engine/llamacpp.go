package engine

import (
	"path"
	"regexp"
	"strings"

	"redline/internal/text"
)

// llama.cpp keeps counters of seconds and tokens, and no histograms. Its prompt
// tokens are those that it computed; those it had in its cache are apart.
var _ = register(Engine{
	Name: "llama.cpp", Place: 4, Words: []string{"llama"},
	Dialects: []string{"llamacpp-completion"},
	Pages: []Page{
		{Path: "/props", Read: readLlamaCpp},
	},
	Metrics: Metrics{
		Prefix:           "llamacpp:",
		Running:          sourcesOf("llamacpp:requests_processing"),
		Waiting:          sourcesOf("llamacpp:requests_deferred"),
		KVUsage:          sourcesOf("llamacpp:kv_cache_usage_ratio"),
		PrefixHits:       sourcesOf("llamacpp:prompt_tokens_cached_total"),
		PrefixQueries:    []Source{{Name: "llamacpp:prompt_tokens_total", Plus: "llamacpp:prompt_tokens_cached_total"}},
		PromptTokens:     []Source{{Name: "llamacpp:prompt_tokens_total", Plus: "llamacpp:prompt_tokens_cached_total"}},
		GenerationTokens: sourcesOf("llamacpp:tokens_predicted_total"),
		SpecDrafted:      sourcesOf("llamacpp:spec_decode_num_draft_tokens_total"),
		SpecAccepted:     sourcesOf("llamacpp:spec_decode_num_accepted_tokens_total"),
		PrefillSeconds:   sourcesOf("llamacpp:prompt_seconds_total"),
		Prefilled:        sourcesOf("llamacpp:prompt_tokens_total"),
		Steps:            sourcesOf("llamacpp:n_decode_total"),
		ITL:              []Source{{Name: "llamacpp:tokens_predicted_seconds_total", Count: "llamacpp:tokens_predicted_total"}},
	},
	Forced:   []string{"--spec-synth"},
	Reset:    Reset{Path: "/slots/%d?action=erase", Each: "total_slots", Note: "--slot-save-path and --slots"},
	Tokenize: func(_, text string) any { return map[string]any{"content": text} },
	Advice: map[string]string{
		"rate-limited":         "look at the gateway in front: llama.cpp's server queues what its slots (-np) cannot take",
		"cold-start":           "leave --no-warmup out; --mlock keeps the weights in memory",
		"session-cache":        "--cache-ram up (MiB of host memory), -c (context) up, --cache-type-k and --cache-type-v q8_0",
		"kv-pressure":          "-c (context) up, -np (slots) down, --cache-type-k and --cache-type-v q8_0",
		"scheduler-saturation": "-np (slots) up with -c (context), --cont-batching on",
		"prefix-cache":         "--cache-reuse 256, --slot-prompt-similarity; a prefix lives in one slot (-np)",
		"subagent-bursts":      "-np (slots) up with -c (context), -b and -ub up",
		"uncached-turns":       "-b and -ub up, -ngl 99 (all layers on the accelerator), --flash-attn",
		"grammar-compilation":  "-t up, schemas without large maxItems and maxLength; --json-schema at the start where all replies keep one",
		"host-bound":           "-t (threads) to the physical cores, -ngl 99, GGML_CUDA_DISABLE_GRAPHS unset, --prio 2",
		"front-end-bound":      "--threads-http up, several servers behind a balancer",
		"network-bound":        "--threads-http up, if the front end is the one that is busy",
		"interference":         "-b (batch) and -ub (micro-batch) down",
		"queueing":             "-np (slots) up, --cont-batching on",
		"prefill-bound":        "-b and -ub up, -ngl 99 (all layers on the accelerator), --flash-attn",
		"device-full":          "more servers, a smaller quantization, -np (slots) down",
		"inefficient-decode":   "-ngl 99 (all layers on the accelerator), --flash-attn, -t no larger than the physical cores",
		"slow-decode":          "-ngl 99 (all layers on the accelerator), a smaller quantization (Q4_K_M), --flash-attn",
		"batching-trade-off":   "-np (slots) down",
		"decode-memory-bound":  "a smaller quantization (Q4_K_M), --cache-type-k q8_0, --model-draft",
	},
	Log: map[string][]string{"out of memory": {"kv cache is full"}},
	Style: &Style{
		Name: "llamacpp", Owner: "llamacpp",
		Series: []Series{
			computedSeries(counter, "llamacpp:prompt_tokens_total", "", func(f Figures) float64 { return max(0, f.Value(prompts)-f.Value(prefixHits)) }),
			same(counter, "llamacpp:prompt_tokens_cached_total", "", prefixHits),
			computedSeries(counter, "llamacpp:prompt_seconds_total", "", func(f Figures) float64 { return f.Sum(prefillTimes) }),
			same(counter, "llamacpp:tokens_predicted_total", "", generations),
			computedSeries(counter, "llamacpp:tokens_predicted_seconds_total", "", func(f Figures) float64 { return f.Sum(interTokens) }),
			same(gauge, "llamacpp:requests_processing", "", running),
			same(gauge, "llamacpp:requests_deferred", "", waiting),
		},
		Pages: map[string]func(Sim) any{"/props": llamaCppProps},
	},
})

// ggufQuant finds the name of a quantization in that of a file.
var ggufQuant = regexp.MustCompile(`(?i)[-._]((?:UD-)?I?Q\d\w*|F16|BF16|F32|MXFP4)\.gguf$`)

func readLlamaCpp(o object, f *Facts) {
	if o.number("total_slots") == 0 && o.text("build_info") == "" {
		f.ChatTemplate, _ = o["chat_template"].(string)
		return
	}
	f.Engine, f.Version = "llama.cpp", o.text("build_info")
	// The directory of the file is nobody's business.
	file := path.Base(strings.ReplaceAll(o.whole("model_path"), `\`, "/"))
	if file != "." && file != "/" {
		f.Model = text.Cut(file, maxText)
	}
	if m := ggufQuant.FindStringSubmatch(file); m != nil {
		f.Quantization = text.Cut(m[1], maxText)
	}
	f.MaxLen = o.in("default_generation_settings").number("n_ctx")
	f.keep(o, "total_slots")
	f.ChatTemplate, _ = o["chat_template"].(string)
}

func llamaCppProps(s Sim) any {
	return map[string]any{
		"default_generation_settings": map[string]any{"n_ctx": s.MaxModelLen}, "total_slots": s.MaxNumSeqs,
		"model_alias": s.ServedModel, "model_path": "/models/" + s.Model + ".gguf", "build_info": s.Version,
		"chat_template": "",
	}
}
