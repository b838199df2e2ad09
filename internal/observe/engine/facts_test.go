package engine

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/expect"
)

// over asks a real server over a socket.
func over(base string) Caller {
	return func(ctx context.Context, path string, body []byte) ([]byte, error) {
		method := http.MethodGet
		if body != nil {
			method = http.MethodPost
		}
		req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(string(body)))
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, errors.New(resp.Status)
		}
		return io.ReadAll(resp.Body)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		pages map[string]string
		want  Facts
	}{
		{"a server that tells nothing", nil, Facts{}},
		{"vllm", map[string]string{"/version": `{"version":"0.11.0"}`}, Facts{Version: "0.11.0"}},
		{"vllm in development mode", map[string]string{
			"/version": `{"version":"0.11.0"}`,
			"/server_info": `{"vllm_config":"model='meta-llama/Llama-3.1-8B', speculative_config=None, tokenizer='meta-llama/Llama-3.1-8B', revision=None, ` +
				`dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=4, pipeline_parallel_size=2, data_parallel_size=1, quantization=None, ` +
				`kv_cache_dtype=auto, api_key='sk-very-secret', enable_prefix_caching=True"}`},
			Facts{Engine: "vllm", Version: "0.11.0", Model: "meta-llama/Llama-3.1-8B", Tokenizer: "meta-llama/Llama-3.1-8B", Precision: "bfloat16",
				Parallelism: "tp 4, pp 2", Flags: map[string]string{"max_seq_len": "131072", "kv_cache_dtype": "auto", "enable_prefix_caching": "True"}}},
		{"vllm that accepts drafts at a given length", map[string]string{
			"/server_info?config_format=json": `{"vllm_config":{"model_config":{"model":"m"},"speculative_config":{"method":"eagle3","rejection_sample_method":"synthetic",` +
				`"synthetic_acceptance_rates":null,"synthetic_acceptance_length":2.5}}}`,
			"/server_info": `{"vllm_config":"model='m', speculative_config=SpeculativeConfig(method='eagle3', model='d', num_spec_tokens=3), max_seq_len=4096"}`},
			Facts{Engine: "vllm", Model: "m", Flags: map[string]string{"max_seq_len": "4096", "rejection_sample_method": "synthetic", "synthetic_acceptance_length": "2.5"}}},
		{"sglang, which shows its key among its settings", map[string]string{
			"/get_server_info": `{"version":"0.5.3","model_path":"Qwen/Qwen3-8B","tokenizer_path":"Qwen/Qwen3-8B","revision":"abc123","dtype":"auto",` +
				`"quantization":"fp8","tp_size":2,"dp_size":4,"pp_size":1,"context_length":null,"max_total_num_tokens":400000,"max_req_input_len":32762,"api_key":"sk-very-secret",` +
				`"attention_backend":"fa3","schedule_policy":"fcfs","mem_fraction_static":0.88,"disable_radix_cache":false,"internal_states":[{}]}`,
			"/get_model_info": `{"model_path":"Qwen/Qwen3-8B","is_generation":true}`},
			Facts{Engine: "sglang", Version: "0.5.3", Model: "Qwen/Qwen3-8B", Revision: "abc123", Tokenizer: "Qwen/Qwen3-8B",
				Quantization: "fp8", MaxLen: 32762, Parallelism: "tp 2, dp 4", Flags: map[string]string{"attention_backend": "fa3",
					"schedule_policy": "fcfs", "mem_fraction_static": "0.88", "disable_radix_cache": "false"}}},
		{"tgi", map[string]string{"/info": `{"model_id":"bigscience/bloom","model_sha":"e985a63","model_dtype":"torch.float16","model_device_type":"cuda",` +
			`"max_concurrent_requests":128,"max_total_tokens":4096,"version":"3.3.0","router":"text-generation-router"}`},
			Facts{Engine: "tgi", Version: "3.3.0", Model: "bigscience/bloom", Revision: "e985a63", Precision: "float16", MaxLen: 4096,
				Flags: map[string]string{"model_device_type": "cuda", "max_concurrent_requests": "128", "max_total_tokens": "4096"}}},
		{"llama.cpp", map[string]string{"/props": `{"default_generation_settings":{"n_ctx":8192},"total_slots":4,"chat_template":"{{x}}",` +
			`"model_path":"/home/somebody/models/Qwen3-8B-Q4_K_M.gguf","build_info":"b6500-abc"}`},
			Facts{Engine: "llama.cpp", Version: "b6500-abc", Model: "Qwen3-8B-Q4_K_M.gguf", Quantization: "Q4_K_M", MaxLen: 8192,
				Flags: map[string]string{"total_slots": "4"}, ChatTemplate: "{{x}}"}},
		{"llama.cpp, deep in a cache", map[string]string{"/props": `{"total_slots":1,"model_path":"/cache/` + strings.Repeat("snapshots/", 30) + `Qwen3-8B-Q4_K_M.gguf"}`},
			Facts{Engine: "llama.cpp", Model: "Qwen3-8B-Q4_K_M.gguf", Quantization: "Q4_K_M", Flags: map[string]string{"total_slots": "1"}}},
		{"ollama", map[string]string{"/api/version": `{"version":"0.12.1"}`,
			"/api/show": `{"details":{"family":"llama","format":"gguf","parameter_size":"8.0B","quantization_level":"Q4_0"},` +
				`"model_info":{"general.architecture":"llama","llama.context_length":131072},"template":"{{ .Prompt }}","license":"long"}`},
			Facts{Engine: "ollama", Version: "0.12.1", Quantization: "Q4_0", MaxLen: 131072, ChatTemplate: "{{ .Prompt }}",
				Flags: map[string]string{"family": "llama", "format": "gguf", "parameter_size": "8.0B"}}},
		{"nim", map[string]string{"/v1/metadata": `{"version":"1.8.0","modelInfo":[{"modelUrl":"ngc://nim/meta/llama","shortName":"llama:tp2-fp8"}]}`},
			Facts{Engine: "nim", Version: "1.8.0", Model: "llama:tp2-fp8", Flags: map[string]string{"modelUrl": "ngc://nim/meta/llama"}}},
		{"triton", map[string]string{"/v2": `{"name":"triton","version":"2.56.0","extensions":["statistics"]}`},
			Facts{Engine: "triton", Version: "2.56.0"}},
		{"a server that answers everything with its front page", map[string]string{"*": "<html>welcome</html>"}, Facts{}},
		{"a server that answers everything with a list", map[string]string{"*": "[1,2]"}, Facts{}},
		{"a server that answers everything with the wrong types", map[string]string{
			"*": `{"version":{},"model_path":[],"model_id":[],"total_slots":"x","modelInfo":[3],"details":4,"name":1}`}, Facts{}},
		{"an endless text is cut", map[string]string{"/version": `{"version":"` + strings.Repeat("ü", 5000) + `"}`},
			Facts{Version: strings.Repeat("ü", 100) + "…"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, ok := c.pages[r.URL.RequestURI()]
				if !ok {
					page, ok = c.pages[r.URL.Path]
				}
				if !ok {
					page, ok = c.pages["*"]
				}
				if !ok || (r.URL.Path == "/api/show") != (r.Method == http.MethodPost) {
					http.NotFound(w, r)
					return
				}
				io.WriteString(w, page)
			}))
			t.Cleanup(s.Close)
			got := Ask(t.Context(), over(s.URL), "m")
			expect.Same(t, c.want, got)
		})
	}
}

// TestAskIsBounded has a server that answers one question and is silent on all
// others.
func TestAskIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got := Ask(t.Context(), func(ctx context.Context, path string, _ []byte) ([]byte, error) {
			if path == "/version" {
				return []byte(`{"version":"1"}`), nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}, "m")
		if took := time.Since(start); took != Limit {
			t.Errorf("took %v, want %v", took, Limit)
		}
		expect.Same(t, Facts{Version: "1"}, got)
	})
}

// FuzzAnswers holds that no answer breaks anything, and that texts stay short.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"model_path":"x","vllm_config":"a=b, c='d"}`))
	f.Add([]byte(`{"modelInfo":[{}],"details":{"a":1},"model_info":{"general.architecture":1}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		facts := Ask(t.Context(), func(context.Context, string, []byte) ([]byte, error) { return content, nil }, "m")
		for name, value := range facts.Flags {
			if len(value) > maxText+len("…") {
				t.Errorf("%s has %d bytes", name, len(value))
			}
		}
	})
}
