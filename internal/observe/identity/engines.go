package identity

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// serverInfo reads SGLang's page of that name, or that of a vLLM in
// development mode, which has its configuration as one text.
func serverInfo(o object, f *Facts) {
	if config, ok := o["vllm_config"]; ok {
		f.Engine = "vllm"
		if text, ok := config.(string); ok {
			vllmConfig(text, f)
		}
		return
	}
	if o.text("model_path") == "" {
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

func modelInfo(o object, f *Facts) {
	f.Model, f.Tokenizer = o.text("model_path"), o.text("tokenizer_path")
	if f.Model != "" {
		f.Engine = "sglang"
	}
}

// setting finds name=value in the text of a configuration.
var setting = regexp.MustCompile(`(?:^|[\s,(])([a-z_]+)=('[^']*'|[^,\s()]+)`)

func vllmConfig(text string, f *Facts) {
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
		"chunked_prefill_enabled", "scheduling_policy", "max_num_seqs", "max_num_batched_tokens", "load_format")
}

func tgiInfo(o object, f *Facts) {
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

// quantized finds the name of a quantization in that of a file.
var quantized = regexp.MustCompile(`(?i)[-._]((?:UD-)?I?Q\d\w*|F16|BF16|F32|MXFP4)\.gguf$`)

func llamaProps(o object, f *Facts) {
	if o.number("total_slots") == 0 && o.text("build_info") == "" {
		f.ChatTemplate, _ = o["chat_template"].(string)
		return
	}
	f.Engine, f.Version = "llama.cpp", o.text("build_info")
	// The directory of the file is nobody's business.
	f.Model = path.Base(strings.ReplaceAll(o.text("model_path"), `\`, "/"))
	if f.Model == "." || f.Model == "/" {
		f.Model = ""
	}
	if m := quantized.FindStringSubmatch(f.Model); m != nil {
		f.Quantization = m[1]
	}
	f.MaxLen = o.in("default_generation_settings").number("n_ctx")
	f.keep(o, "total_slots")
	f.ChatTemplate, _ = o["chat_template"].(string)
}

func nimMetadata(o object, f *Facts) {
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

func tritonServer(o object, f *Facts) {
	if name := o.text("name"); strings.EqualFold(name, "triton") {
		f.Engine, f.Version = "triton", o.text("version")
	}
}

// ollamaVersion gives the version alone: others have a page of that name too,
// and only the model's makes it an Ollama.
func ollamaVersion(o object, f *Facts) { f.Version = o.text("version") }

func ollamaAsk(model string) []byte {
	body, err := json.Marshal(map[string]string{"model": model})
	if err != nil {
		return nil
	}
	return body
}

func ollamaModel(o object, f *Facts) {
	details := o.in("details")
	if len(details) == 0 {
		return
	}
	f.Engine, f.Quantization = "ollama", details.text("quantization_level")
	f.keep(details, "family", "format", "parameter_size")
	info := o.in("model_info")
	f.MaxLen = info.number(info.text("general.architecture") + ".context_length")
	f.ChatTemplate, _ = o["template"].(string)
}

func plainVersion(o object, f *Facts) { f.Version = o.text("version") }
