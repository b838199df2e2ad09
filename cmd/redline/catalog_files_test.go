package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/catalog"
	"redline/internal/must"
)

const mineYAML = `dated: 2026-11-01
source: here
models:
  - {name: tiny, layers: 2, hidden: 64, heads: 8, kv_heads: 2, head_dim: 8, ffn: 256, vocab: 1000, max_len: 4096, precision: bf16}
accelerators:
  - {name: brick, bf16_tflops: 10, memory_gib: 8, bandwidth_gbs: 100}
`

// publishedModel is a model's config.json.
const publishedModel = `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,` +
	`"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":8192,"torch_dtype":"bfloat16"}`

// catalogFiles are a catalog, a published model and a broken one.
func catalogFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mine.yaml":             mineYAML,
		"published/config.json": publishedModel,
		"broken/config.json":    `{"model_type":"llama","num_hidden_layers":32,"hidden_size":"wide"}`,
		"wrong.yaml":            "models:\n  - {name: tiny, layers: many}\n",
	} {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Write(t, path, text)
	}
	return dir
}

// By hand: two layers of two heads of eight numbers, keys and values of two
// bytes each, are 128 bytes a token. One step reads 2 × (2·64·64 + 2·64·16 +
// 3·64·256) + 1000·64 weights of two bytes and, for each of ten requests, 128
// bytes for the prompt and half of the reply.
func TestCatalogComputes(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := redline(t, nil, "catalog", "--catalog", catalogFiles(t)+"/mine.yaml", "tiny", "--gpu", "brick",
		"--prompt", "100", "--output", "20", "--concurrency", "10", "--json")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var sheet catalog.Sheet
	must.Do(t, json.Unmarshal([]byte(stdout), &sheet))
	f := sheet.Forecast
	if f.KVPerToken != 128 || f.KVPerRequest != 128*120 || f.Batch != 10 || !sheet.Fits {
		t.Errorf("%+v", f)
	}
	if want := 2*float64(2*(2*64*64+2*64*16+3*64*256)+1000*64) + 10*128*110; f.StepBytesRead != want {
		t.Errorf("a step reads %g bytes, want %g", f.StepBytesRead, want)
	}
	if want := f.Room / (128 * 110); math.Abs(f.FullAt-want) > 1e-6*want {
		t.Errorf("full at %g requests, want %g", f.FullAt, want)
	}
}

func TestCatalogFiles(t *testing.T) {
	t.Parallel()
	dir := catalogFiles(t)
	for _, row := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"a user's entries", []string{"--catalog", dir + "/mine.yaml"}, exitOK, "brick"},
		{"a published model", []string{dir + "/published/config.json", "--gpu", "L40S", "--precision", "fp8"}, exitOK, "published at fp8 on 1 × L40S"},
		{"its directory", []string{dir + "/published", "--gpu", "H100"}, exitOK, "published at bf16 on 1 × H100-SXM"},
		{"no file", []string{"--catalog", dir + "/none.yaml"}, exitUsage, "--catalog: " + dir + "/none.yaml: no such file"},
		{"a wrong file", []string{"--catalog", dir + "/wrong.yaml"}, exitUsage, "wrong.yaml:2"},
		{"a broken model", []string{dir + "/broken/config.json"}, exitUsage, "hidden_size: expected a whole number"},
		{"a catalog for a model", []string{dir + "/mine.yaml"}, exitUsage, "is a catalog, expected the config.json of a model"},
		{"an unknown precision", []string{"llama-3.1-8b", "--gpu", "H100", "--precision", "fp7"}, exitUsage, `--precision: unknown precision "fp7"`},
		{"heads that cannot be shared", []string{"llama-3.1-8b", "--gpu", "H100", "--tp", "3"}, exitUsage, "--tp: 3 does not divide the 32 attention heads"},
		{"absurd", []string{"llama-3.1-8b", "--gpu", "H100", "--prompt", "NaN"}, exitUsage, "--prompt: expected a number from 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := redline(t, nil, append([]string{"catalog"}, row.args...)...)
			if code != row.code || !strings.Contains(stdout+stderr, row.says) {
				t.Errorf("exit %d, printed %q, said %q; want %q", code, stdout, stderr, row.says)
			}
		})
	}
}
