package catalog

import (
	"math"
	"strings"
	"testing"

	"redline/internal/must"
)

// TestModelTable holds the arithmetic against what the makers and the common
// tables say: parameters in billions, cache bytes per token at 16 bits, and
// the bytes that each further token adds once every window is full.
func TestModelTable(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name          string
		total, active float64
		// lookup says that the maker counts the embedding table as active.
		lookup     bool
		kv, growth int64
	}{
		{"llama-2-70b", 69, 69, true, 327680, 327680},
		{"Llama-3.1-8B", 8.03, 8.03, true, 131072, 131072},
		{"Llama-3.1-70B", 70.55, 70.55, true, 327680, 327680},
		{"Llama-3.1-405B", 405.9, 405.9, true, 516096, 516096},
		{"Qwen2.5-7B", 7.62, 7.62, true, 57344, 57344},
		{"Qwen2.5-32B", 32.8, 32.8, true, 262144, 262144},
		{"Qwen2.5-72B", 72.7, 72.7, true, 327680, 327680},
		{"Qwen3-8B", 8.19, 8.19, true, 147456, 147456},
		{"Qwen3-32B", 32.8, 32.8, true, 262144, 262144},
		{"Qwen3-30B-A3B", 30.5, 3.3, true, 98304, 98304},
		{"Qwen3-235B-A22B", 235.1, 22.2, true, 192512, 192512},
		{"Mistral-7B", 7.25, 7.25, true, 131072, 131072},
		{"Mixtral-8x7B", 46.7, 12.9, true, 131072, 131072},
		{"DeepSeek-V3", 671, 37, true, 70272, 70272},
		{"gpt-oss-20b", 20.9, 3.6, false, 49152, 24576},
		{"gpt-oss-120b", 116.8, 5.1, false, 73728, 36864},
		{"Llama-4-Scout-17B-16E-Instruct", 107.8, 17.2, true, 196608, 49152},
		{"Llama-4-Maverick-17B-128E-Instruct-FP8", 400, 17.2, true, 196608, 49152},
		{"DeepSeek-V3.2-Exp", 671, 37, true, 70272, 70272},
		{"Kimi-K2-Instruct", 1030, 32.6, true, 70272, 70272},
		{"Kimi-K2-Thinking", 1030, 32.6, true, 70272, 70272},
		{"GLM-4.5", 355, 32 + 5.120*0.151552, false, 376832, 376832},
		{"GLM-4.5-Air", 106, 12 + 4.096*0.151552, false, 188416, 188416}, // its maker counts no head as active
		{"zai-org/GLM-4.6", 355, 32 + 5.120*0.151552, false, 376832, 376832},
		{"phi-4", 14.7, 14.7, true, 204800, 204800},
		{"Gemma-3-27B", 27.0, 27.0, true, 507904, 81920},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := must.Get(FindModel(row.name))(t)
			active := m.MatmulParams()
			if row.lookup {
				active = m.ActiveParams()
			}
			within(t, "total parameters", float64(m.TotalParams())/1e9, row.total, 0.01)
			within(t, "active parameters", float64(active)/1e9, row.active, 0.02)
			if got := m.KVBytesPerToken(BF16); got != row.kv {
				t.Errorf("cache per token %d, want %d", got, row.kv)
			}
			if got := m.KVBytes(10001, BF16) - m.KVBytes(10000, BF16); got != row.growth {
				t.Errorf("a further token adds %d, want %d", got, row.growth)
			}
		})
	}
}

func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got/want-1) > share {
		t.Errorf("%s: got %.4g, want %.4g", what, got, want)
	}
}

// TestWeightBytes: shipped sizes in GiB, rounded as download pages do.
func TestWeightBytes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		precision Precision
		gigabytes float64
	}{
		{"llama-3.1-8b", BF16, 16.1},
		{"llama-3.1-8b", FP32, 32.1},
		{"llama-2-70b", BF16, 138},
		{"llama-2-70b", FP8, 69.5},   // two outer matrices of 0.26 G at two bytes
		{"gpt-oss-120b", MXFP4, 65},  // 114.7 G experts at 4.25 bits, 2.1 G at 16
		{"gpt-oss-20b", MXFP4, 13.8}, // 19.1 G at 4.25 bits, 1.8 G at 16
		{"deepseek-v3", FP8, 673},
		{"llama-3.1-70b", INT4, 40.7},
	} {
		m := must.Get(FindModel(row.name))(t)
		within(t, row.name+" at "+string(row.precision), float64(m.WeightBytes(row.precision))/1e9, row.gigabytes, 0.01)
	}
}

// TestKVBytesOnRanks: heads divide until one is left, a latent cache never.
func TestKVBytesOnRanks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		model  string
		kv     Precision
		tp     int
		tokens int
		want   int64
	}{
		{"llama-3.1-70b", BF16, 1, 1, 327680},
		{"llama-3.1-70b", BF16, 4, 1, 81920},
		{"llama-3.1-70b", BF16, 16, 1, 40960}, // eight heads on sixteen ranks
		{"llama-3.1-70b", FP8, 1, 1000, 163840000},
		{"deepseek-v3", BF16, 8, 1, 70272},
		{"gpt-oss-20b", BF16, 1, 100, 4915200},
		{"gpt-oss-20b", BF16, 1, 1128, 24576*1128 + 24576*128},
	} {
		m := must.Get(FindModel(row.model))(t)
		if got := m.rankKVBytes(row.tokens, row.kv, row.tp); got != row.want {
			t.Errorf("%s, %d tokens at %s on %d ranks: got %d, want %d", row.model, row.tokens, row.kv, row.tp, got, row.want)
		}
	}
}

// TestAttentionFLOPs: four per head dimension, or the latent form's own.
func TestAttentionFLOPs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]float64{"llama-3.1-8b": 4 * 32 * 128, "deepseek-v3": 2 * 128 * (128 + 64 + 128)} {
		m := must.Get(FindModel(name))(t)
		if got := m.attentionFLOPs(); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestParsePrecision(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Precision{"bfloat16": BF16, "FP8_E4M3": FP8, "awq": INT4, "fp16": FP16, "MXFP4": MXFP4} {
		if got, err := ParsePrecision(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, want)
		}
	}
	if _, err := ParsePrecision("fp9"); err == nil || !strings.Contains(err.Error(), `"fp9": expected one of bf16, `) {
		t.Errorf("got %v, want an error that lists what is known", err)
	}
}
