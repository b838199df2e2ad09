package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/text"
)

// configName is the file in which models are published with their shape.
const configName = "config.json"

// published configurations leave out what their class has as its default. These
// are the defaults of the classes that are known to be published so.
var configDefaults = map[string]map[string]any{
	"gemma3_text": {"num_attention_heads": 8.0, "num_key_value_heads": 4.0, "head_dim": 256.0, "vocab_size": 262208.0,
		"sliding_window": 4096.0, "sliding_window_pattern": 6.0, "tie_word_embeddings": true, "max_position_embeddings": 131072.0},
	"gemma2": {"head_dim": 256.0, "sliding_window": 4096.0, "sliding_window_pattern": 2.0, "tie_word_embeddings": true},
	"gemma":  {"head_dim": 256.0, "tie_word_embeddings": true},
	// Every layer of experts has a shared one, and every fourth layer looks back over all chunks.
	"llama4_text": {"n_shared_experts": 1.0, "sliding_window_pattern": 4.0, "attention_chunk_size": 8192.0},
}

// config is a published configuration while it is read.
type config struct {
	file   string
	values map[string]any
	outer  map[string]any // of a model of several parts, whose text part values is
	err    error
}

// readConfig gives the shape of the model that a config.json in the form of
// Hugging Face describes. name is the file's path: it stands in errors, and
// where the file does not say how the model is called, its directory does.
func readConfig(name string, data []byte) (Model, error) {
	c := config{file: name}
	if err := json.Unmarshal(data, &c.values); err != nil || c.values == nil {
		return Model{}, fmt.Errorf("%s: is not a JSON object, expected the %s of a model", name, configName)
	}
	c.outer = c.values
	for _, part := range []string{"text_config", "llm_config", "language_config"} {
		if text, ok := c.values[part].(map[string]any); ok {
			c.values = text
			break
		}
	}
	m := c.shape()
	c.attention(&m)
	c.mixture(&m)
	c.windows(&m)
	m.Precision = c.precision()
	if c.err != nil {
		return Model{}, c.err
	}
	if err := m.check(); err != nil {
		return Model{}, fmt.Errorf("%s: the model it describes %v", name, err)
	}
	return m, nil
}

func (c *config) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: %s", c.file, fmt.Sprintf(format, args...))
	}
}

// kind is the model's class.
func (c *config) kind() string {
	for _, values := range []map[string]any{c.values, c.outer} {
		if s, ok := values["model_type"].(string); ok {
			return s
		}
	}
	return ""
}

// get is the value of the first of the keys that is given.
func (c *config) get(keys ...string) (any, string) {
	for _, k := range keys {
		if v := c.values[k]; v != nil {
			return v, k
		}
	}
	for _, k := range keys {
		if v, ok := configDefaults[c.kind()][k]; ok {
			return v, k
		}
	}
	return nil, keys[0]
}

// whole is a count that may be absent: 0 then.
func (c *config) whole(limit int, keys ...string) int {
	v, key := c.get(keys...)
	if v == nil {
		return 0
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < 0 || n > float64(limit) {
		c.fail("%s: expected a whole number from 0 to %d, got %s", key, limit, inJSON(v))
		return 0
	}
	return int(n)
}

// requiredCount is a count that nothing can be computed without.
func (c *config) requiredCount(limit int, keys ...string) int {
	if v, _ := c.get(keys...); v == nil {
		c.fail("has no %s: expected the %s of a transformer that generates text", keys[0], configName)
		return 0
	}
	n := c.whole(limit, keys...)
	if n == 0 {
		c.fail("%s: must be more than 0", keys[0])
	}
	return n
}

func (c *config) yes(key string) bool {
	v, _ := c.get(key)
	if v == nil {
		v = c.outer[key]
	}
	b, ok := v.(bool)
	if !ok && v != nil {
		c.fail("%s: expected true or false, got %s", key, inJSON(v))
	}
	return b
}

func (c *config) words(key string) []string {
	v, _ := c.get(key)
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	out := make([]string, len(list))
	for i := range list {
		var isText bool
		out[i], isText = list[i].(string)
		ok = ok && isText
	}
	if !ok {
		c.fail("%s: expected a list of words, got %s", key, inJSON(v))
		return nil
	}
	return out
}

func inJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "something else"
	}
	const limit = 40
	if r := []rune(string(text)); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return string(text)
}

// shape reads what all transformers have.
func (c *config) shape() Model {
	m := Model{
		Layers: c.requiredCount(maxLayers, "num_hidden_layers", "n_layer"),
		Hidden: c.requiredCount(maxWide, "hidden_size", "n_embd"),
		Heads:  c.requiredCount(maxHeads, "num_attention_heads", "n_head"),
		FFN:    c.whole(maxFFN, "intermediate_size", "n_inner", "ffn_dim"),
		Vocab:  c.requiredCount(maxVocab, "vocab_size"),
		Tied:   c.yes("tie_word_embeddings"),
		MaxLen: c.whole(maxTokens, "max_position_embeddings", "n_positions", "max_sequence_length"),
		Name:   c.name(), Confidence: "high", Source: c.file,
	}
	m.MaxLen = cmp.Or(m.MaxLen, 1<<15)
	return m
}

// name is how the model is called: as it was published, or as its directory.
func (c *config) name() string {
	if s, ok := c.outer["_name_or_path"].(string); ok {
		if i := strings.LastIndexByte(s, '/'); fold(s[i+1:]) != "" {
			return s[i+1:]
		}
	}
	if path, err := filepath.Abs(c.file); err == nil {
		if dir := filepath.Base(filepath.Dir(path)); fold(dir) != "" && filepath.Base(path) == configName {
			return dir
		}
	}
	name := strings.TrimSuffix(filepath.Base(c.file), ".json")
	if fold(name) == "" {
		name = "model"
	}
	return name
}

// attention reads the heads, or the ranks of latent attention.
func (c *config) attention(m *Model) {
	m.KVHeads = c.whole(maxHeads, "num_key_value_heads", "num_kv_heads")
	if m.KVHeads == 0 {
		m.KVHeads = m.Heads
		if c.values["multi_query"] == true {
			m.KVHeads = 1
		}
	}
	if m.KVLora = c.whole(maxWide, "kv_lora_rank"); m.KVLora > 0 {
		m.QLora = c.whole(maxWide, "q_lora_rank")
		m.RopeDim = c.requiredCount(maxWide, "qk_rope_head_dim")
		m.NopeDim = c.requiredCount(maxWide, "qk_nope_head_dim")
		m.ValueDim = c.requiredCount(maxWide, "v_head_dim")
		m.KVHeads = m.Heads
		return
	}
	m.HeadDim = c.whole(maxWide, "head_dim")
	if m.HeadDim == 0 && m.Heads > 0 {
		m.HeadDim = m.Hidden / m.Heads
	}
}

// mixture reads the experts. The FFN of a model that has some is that of one.
func (c *config) mixture(m *Model) {
	m.Experts = c.whole(maxHeads, "num_local_experts", "n_routed_experts", "num_experts")
	if m.Experts == 0 {
		if m.FFN == 0 {
			c.requiredCount(maxFFN, "intermediate_size")
		}
		return
	}
	m.TopK = c.requiredCount(maxHeads, "num_experts_per_tok", "experts_per_token", "num_experts_per_token", "moe_topk")
	dense := m.FFN
	if ffn := c.whole(maxFFN, "moe_intermediate_size"); ffn > 0 {
		m.FFN = ffn
	}
	if ffn := c.whole(maxFFN, "intermediate_size_mlp"); ffn > 0 {
		dense = ffn
	}
	if m.FFN == 0 {
		c.fail("has no moe_intermediate_size, the width of an expert")
		return
	}
	m.DenseLayers = c.denseLayers(m.Layers)
	if m.DenseLayers > 0 && dense != m.FFN {
		m.DenseFFN = dense
	}
	m.SharedExperts = c.whole(maxHeads, "n_shared_experts")
	if shared := c.whole(maxFFN, "shared_expert_intermediate_size"); shared > 0 {
		m.SharedExperts = (shared + m.FFN - 1) / m.FFN
	}
}

// denseLayers counts the layers without experts.
func (c *config) denseLayers(layers int) int {
	first := c.whole(maxLayers, "first_k_dense_replace")
	if list, ok := c.values["mlp_only_layers"].([]any); ok {
		first = max(first, len(list))
	}
	if every := c.whole(maxLayers, "moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step"); every > 1 {
		behind := max(0, layers-first)
		return first + behind - behind/every
	}
	return first
}

// windows counts the layers that look back only so far.
func (c *config) windows(m *Model) {
	m.Window = c.whole(maxTokens, "sliding_window", "attention_chunk_size")
	types := c.words("layer_types")
	switch {
	case c.values["full_attention_interval"] != nil:
		c.fail("full_attention_interval: the layers between are linear attention, which is not known here: describe the model in a catalog file")
	case types != nil:
		m.WindowLayers = c.countWindowLayers(types, m.Layers)
	case m.Window == 0 || c.values["use_sliding_window"] == false:
	default:
		m.WindowLayers = m.Layers
		if every := c.whole(maxLayers, "sliding_window_pattern", "_sliding_window_pattern"); every > 0 {
			m.WindowLayers = m.Layers - m.Layers/every
		}
		if from := c.whole(maxLayers, "max_window_layers"); from > 0 {
			m.WindowLayers = max(0, m.Layers-from)
		}
	}
	if m.WindowLayers == 0 || m.Window >= m.MaxLen {
		m.Window, m.WindowLayers = 0, 0
	}
}

// countWindowLayers counts the layers of a list that have a window.
func (c *config) countWindowLayers(types []string, layers int) int {
	if len(types) != layers {
		c.fail("layer_types: lists %d layers, but num_hidden_layers is %d", len(types), layers)
	}
	n := 0
	for _, t := range types {
		switch t {
		case "full_attention":
		case "sliding_attention":
			n++
		default:
			c.fail("layer_types: %s is not known here, only full_attention and sliding_attention: describe the model in a catalog file", text.Quote(t))
		}
	}
	return n
}

// precision is how the weights are stored.
func (c *config) precision() Precision {
	for _, values := range []map[string]any{c.values, c.outer} {
		if q, ok := values["quantization_config"].(map[string]any); ok {
			if p, ok := readQuantization(q); ok {
				return p
			}
		}
	}
	for _, values := range []map[string]any{c.values, c.outer} {
		for _, key := range []string{"dtype", "torch_dtype"} {
			if s, ok := values[key].(string); ok {
				if p, err := ParsePrecision(s); err == nil {
					return p
				}
			}
		}
	}
	return BF16
}

// readQuantization reads a quantization_config: a method that says how many bits, or
// the bits of its weights.
func readQuantization(q map[string]any) (Precision, bool) {
	method, _ := q["quant_method"].(string)
	bits, _ := q["bits"].(float64)
	if slices.Contains([]string{"fp8", "mxfp4"}, method) {
		return Precision(method), true
	}
	if groups, ok := q["config_groups"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			group, _ := groups[name].(map[string]any)
			weights, _ := group["weights"].(map[string]any)
			if n, ok := weights["num_bits"].(float64); ok {
				return precisionOf(n, weights["type"] == "float"), true
			}
		}
	}
	switch {
	case bits > 0:
		return precisionOf(bits, false), true
	case q["load_in_8bit"] == true:
		return INT8, true
	case q["load_in_4bit"] == true, strings.Contains(method, "awq"):
		return INT4, true
	}
	return "", false
}

// precisionOf is the precision of so many bits.
func precisionOf(bits float64, float bool) Precision {
	switch {
	case bits > 8:
		return BF16
	case bits > 4 && float:
		return FP8
	case bits > 4:
		return INT8
	case float:
		return FP4
	}
	return INT4
}
