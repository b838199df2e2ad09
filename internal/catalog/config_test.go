package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// configs are published configurations, cut to what is read and to what must
// not disturb.
var configs = map[string]string{
	"Llama-3.1-8B": `{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,"intermediate_size":14336,
		"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false,
		"max_position_embeddings":131072,"torch_dtype":"bfloat16","rope_scaling":{"factor":8.0}}`,
	"Qwen2.5-7B": `{"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_attention_heads":28,"num_hidden_layers":28,
		"num_key_value_heads":4,"vocab_size":152064,"max_position_embeddings":32768,"sliding_window":131072,"use_sliding_window":false,
		"max_window_layers":28,"torch_dtype":"bfloat16","tie_word_embeddings":false}`,
	"Mistral-7B": `{"model_type":"mistral","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,
		"num_key_value_heads":8,"vocab_size":32768,"max_position_embeddings":32768,"sliding_window":null,"torch_dtype":"bfloat16"}`,
	"Mixtral-8x7B": `{"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,
		"num_key_value_heads":8,"num_local_experts":8,"num_experts_per_tok":2,"vocab_size":32000,"max_position_embeddings":32768,
		"sliding_window":null,"torch_dtype":"bfloat16"}`,
	"Qwen3-30B-A3B": `{"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,
		"num_experts_per_tok":8,"decoder_sparse_step":1,"mlp_only_layers":[],"num_attention_heads":32,"num_hidden_layers":48,
		"num_key_value_heads":4,"head_dim":128,"vocab_size":151936,"max_position_embeddings":40960,"use_sliding_window":false,
		"sliding_window":null,"torch_dtype":"bfloat16","tie_word_embeddings":false}`,
	"DeepSeek-V3": `{"model_type":"deepseek_v3","hidden_size":7168,"intermediate_size":18432,"moe_intermediate_size":2048,
		"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":3,"moe_layer_freq":1,
		"num_attention_heads":128,"num_key_value_heads":128,"num_hidden_layers":61,"q_lora_rank":1536,"kv_lora_rank":512,
		"qk_rope_head_dim":64,"qk_nope_head_dim":128,"v_head_dim":128,"vocab_size":129280,"max_position_embeddings":163840,
		"torch_dtype":"bfloat16","quantization_config":{"quant_method":"fp8","fmt":"e4m3"},"tie_word_embeddings":false}`,
	"gpt-oss-20b": `{"model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,"num_local_experts":32,"num_experts_per_tok":4,
		"experts_per_token":4,"num_attention_heads":64,"num_hidden_layers":24,"num_key_value_heads":8,"head_dim":64,
		"layer_types":[` + layers(24, "sliding_attention", "full_attention") + `],"sliding_window":128,"vocab_size":201088,
		"max_position_embeddings":131072,"quantization_config":{"quant_method":"mxfp4"},"tie_word_embeddings":false}`,
	"Llama-4-Scout": `{"model_type":"llama4","text_config":{"model_type":"llama4_text","attention_chunk_size":8192,"head_dim":128,"hidden_size":5120,
		"interleave_moe_layer_step":1,"intermediate_size":8192,"intermediate_size_mlp":16384,"max_position_embeddings":10485760,
		"num_attention_heads":40,"num_experts_per_tok":1,"num_hidden_layers":48,"num_key_value_heads":8,"num_local_experts":16,
		"torch_dtype":"bfloat16","vocab_size":202048},"vision_config":{"hidden_size":1408,"num_hidden_layers":34}}`,
	"Llama-4-Maverick": `{"model_type":"llama4","text_config":{"model_type":"llama4_text","attention_chunk_size":8192,"head_dim":128,"hidden_size":5120,
		"interleave_moe_layer_step":2,"intermediate_size":8192,"intermediate_size_mlp":16384,"max_position_embeddings":1048576,
		"num_attention_heads":40,"num_experts_per_tok":1,"num_hidden_layers":48,"num_key_value_heads":8,"num_local_experts":128,
		"torch_dtype":"bfloat16","vocab_size":202048}}`,
	"Kimi-K2": `{"model_type":"kimi_k2","num_hidden_layers":61,"hidden_size":7168,"num_attention_heads":64,"num_key_value_heads":64,
		"intermediate_size":18432,"vocab_size":163840,"max_position_embeddings":131072,"n_routed_experts":384,"n_shared_experts":1,
		"num_experts_per_tok":8,"moe_intermediate_size":2048,"moe_layer_freq":1,"first_k_dense_replace":1,"kv_lora_rank":512,"q_lora_rank":1536,
		"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"torch_dtype":"bfloat16","quantization_config":{"quant_method":"fp8"}}`,
	"GLM-4.6": `{"model_type":"glm4_moe","num_hidden_layers":92,"hidden_size":5120,"num_attention_heads":96,"num_key_value_heads":8,"head_dim":128,
		"intermediate_size":12288,"vocab_size":151552,"max_position_embeddings":202752,"n_routed_experts":160,"n_shared_experts":1,
		"num_experts_per_tok":8,"moe_intermediate_size":1536,"first_k_dense_replace":3,"torch_dtype":"bfloat16","tie_word_embeddings":false}`,
	"phi-4": `{"model_type":"phi3","hidden_size":5120,"intermediate_size":17920,"max_position_embeddings":16384,"num_attention_heads":40,
		"num_hidden_layers":40,"num_key_value_heads":10,"sliding_window":null,"tie_word_embeddings":false,"torch_dtype":"bfloat16","vocab_size":100352}`,
	"gemma-3-27b": `{"model_type":"gemma3","architectures":["Gemma3ForConditionalGeneration"],"torch_dtype":"bfloat16",
		"text_config":{"model_type":"gemma3_text","hidden_size":5376,"intermediate_size":21504,"num_attention_heads":32,
		"num_key_value_heads":16,"head_dim":128,"num_hidden_layers":62,"sliding_window":1024},
		"vision_config":{"hidden_size":1152,"num_hidden_layers":27}}`,
}

// layers repeats a pattern of layer types.
func layers(n int, pattern ...string) string {
	quoted := make([]string, n)
	for i := range quoted {
		quoted[i] = `"` + pattern[i%len(pattern)] + `"`
	}
	return strings.Join(quoted, ",")
}

// The built-in entries were typed in from tables; the configurations of the same
// models say the same.
func TestConfigsAgreeWithBuiltin(t *testing.T) {
	t.Parallel()
	for name, text := range configs {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			must.Do(t, os.Mkdir(dir, 0o755))
			must.Write(t, filepath.Join(dir, "config.json"), text)
			c := must.Get(Open(dir))(t)
			got, ok := c.GivenModel()
			if !ok || got.Name != name {
				t.Errorf("given %q, %v; want the directory's name", got.Name, ok)
			}
			want := must.Get(FindModel(name))(t)
			for _, m := range []*Model{&got, &want} {
				m.Name, m.Aliases, m.Dated, m.Source, m.Confidence = "", nil, "", "", ""
			}
			expect.Same(t, want, got)
		})
	}
}

// TestConfigKinds: what the table above does not reach, by hand.
func TestConfigKinds(t *testing.T) {
	t.Parallel()
	const base = `"hidden_size":64,"intermediate_size":256,"num_attention_heads":8,"num_hidden_layers":12,"vocab_size":1000,"max_position_embeddings":8192`
	for _, row := range []struct {
		name, more string
		want       func(m Model) any
		is         any
	}{
		{"heads of their own keys", ``, func(m Model) any { return [3]int{m.KVHeads, m.HeadDim, m.WindowLayers} }, [3]int{8, 8, 0}},
		{"phi-3 with a window beyond its context", `,"model_type":"phi3","sliding_window":262144`, func(m Model) any { return m.WindowLayers }, 0},
		{"mistral 0.1, a window in all layers", `,"model_type":"mistral","sliding_window":4096`, func(m Model) any { return [2]int{m.Window, m.WindowLayers} }, [2]int{4096, 12}},
		{"every sixth layer looks all the way back", `,"sliding_window":512,"_sliding_window_pattern":6`, func(m Model) any { return m.WindowLayers }, 10},
		{"qwen with a window in the upper layers", `,"sliding_window":4096,"use_sliding_window":true,"max_window_layers":8`, func(m Model) any { return m.WindowLayers }, 4},
		{"experts in every second layer", `,"num_local_experts":4,"num_experts_per_tok":1,"interleave_moe_layer_step":2,"intermediate_size_mlp":512`,
			func(m Model) any { return [3]int{m.DenseLayers, m.FFN, m.DenseFFN} }, [3]int{6, 256, 512}},
		{"a shared expert of its own width", `,"num_experts":4,"num_experts_per_tok":1,"moe_intermediate_size":128,"shared_expert_intermediate_size":512`,
			func(m Model) any { return m.SharedExperts }, 4},
		{"awq", `,"quantization_config":{"quant_method":"awq","bits":4}`, func(m Model) any { return m.Precision }, INT4},
		{"gptq of eight bits", `,"quantization_config":{"quant_method":"gptq","bits":8}`, func(m Model) any { return m.Precision }, INT8},
		{"compressed tensors", `,"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"float"}}}}`,
			func(m Model) any { return m.Precision }, FP8},
		{"single precision", `,"torch_dtype":"float32"`, func(m Model) any { return m.Precision }, FP32},
		{"its published name", `,"_name_or_path":"someone/Small-1B"`, func(m Model) any { return m.Name }, "Small-1B"},
	} {
		m, err := readConfig("x/config.json", []byte("{"+base+row.more+"}"))
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(row.is, row.want(m)), "%s", row.name)
	}
}

func TestBadConfigs(t *testing.T) {
	t.Parallel()
	const base = `"hidden_size":64,"intermediate_size":256,"num_attention_heads":8,"num_hidden_layers":2,"vocab_size":1000`
	for text, want := range map[string]string{
		`not JSON`:                               "m/config.json: is not a JSON object",
		`null`:                                   "m/config.json: is not a JSON object",
		`{}`:                                     "m/config.json: has no num_hidden_layers: expected the config.json of a transformer that generates text",
		`{` + base + `,"num_key_value_heads":3}`: "3 kv_heads do not divide 8 heads",
		`{` + base + `,"num_key_value_heads":-1}`:                            "num_key_value_heads: expected a whole number from 0 to 4096, got -1",
		`{` + base + `,"head_dim":"wide"}`:                                   `head_dim: expected a whole number from 0 to 131072, got "wide"`,
		`{` + base + `,"vocab_size":1e30}`:                                   "vocab_size: expected a whole number from 0 to",
		`{` + base + `,"num_hidden_layers":1.5}`:                             "num_hidden_layers: expected a whole number",
		`{` + base + `,"kv_lora_rank":512}`:                                  "has no qk_rope_head_dim",
		`{` + base + `,"num_local_experts":8}`:                               "has no num_experts_per_tok",
		`{` + base + `,"num_local_experts":8,"num_experts_per_tok":9}`:       "top_k: must be from 1 to the 8 experts, got 9",
		`{` + base + `,"sliding_window":8,"layer_types":["full_attention"]}`: "layer_types: lists 1 layers, but num_hidden_layers is 2",
		`{` + base + `,"layer_types":["linear_attention","full_attention"]}`: `layer_types: "linear_attention" is not known here`,
		`{` + base + `,"full_attention_interval":4}`:                         "full_attention_interval: the layers between are linear attention",
		`{` + base + `,"layer_types":7}`:                                     "layer_types: expected a list of words, got 7",
		`{` + base + `,"tie_word_embeddings":"yes"}`:                         `tie_word_embeddings: expected true or false, got "yes"`,
	} {
		_, err := readConfig("m/config.json", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

// FuzzReadConfig: any bytes give a shape that arithmetic bears, or one line.
func FuzzReadConfig(f *testing.F) {
	for _, text := range configs {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readConfig("config.json", data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("more than a line: %q", err)
			}
			return
		}
		usable(t, m)
	})
}

// usable computes everything with a model.
func usable(t *testing.T, m Model) {
	t.Helper()
	a := must.Get(FindAccelerator("H100"))(t)
	f := Deploy(m, a, 1).Forecast(Traffic{Prompt: 1000, Output: 100, Concurrency: 8})
	if !(f.Weights > 0) || !(f.KVPerToken > 0) || !(f.TPOT > 0) || !(f.TTFT > 0) || !(f.FullAt >= 0) {
		t.Errorf("%+v gives %+v", m, f)
	}
}
