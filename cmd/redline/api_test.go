package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"redline/internal/must"
	"redline/internal/traffic/token"
)

// A server that nobody has heard of, described in the plan.
func TestTemplateEndToEnd(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var body map[string]any
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		body = nil
		if r.URL.Path != "/v2/infer" || r.Header.Get("X-Api-Key") != "sk-template-key" || json.Unmarshal(content, &body) != nil {
			http.Error(w, `{"failure":{"message":"not what was agreed"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		for i := range 3 {
			fmt.Fprintf(w, `{"outputs":[{"text":"word %d "}]}`+"\n", i)
		}
		fmt.Fprintln(w, `{"final":true,"outputs":[{"reason":"length"}],"stats":{"in":12,"out":3}}`)
	})
	plan := must.File(t, "plan.yaml", `
provider:
  api: template
  api_endpoint: `+url+`/v2/infer
  model: m
  api_key: ${KEY}
  template:
    body: '{"model": "{{model}}", "text": "{{prompt}}", "limit": {{max_tokens}}}'
    framing: ndjson
    text: outputs[0].text
    finish: outputs[0].reason
    error: failure.message
    done: final
    usage: {prompt_tokens: stats.in, output_tokens: stats.out}
    key_header: X-Api-Key
workload: fixed(12,3)
load_profile: {max_concurrency: 2, total_requests: 20, warmup: 0s}
`)
	env := map[string]string{"KEY": "sk-template-key"}
	res, dir := runJSON(t, env, "--plan", plan)
	point := res.Points[0]
	if n := point.Requests; n.OK != 20 || point.Tokens.Output != 60 || point.Tokens.Prompt != 240 {
		t.Errorf("%d of %d requests with %d prompt and %d output tokens; want 20 of 12 and 3 each: %v",
			n.OK, n.Due, point.Tokens.Prompt, point.Tokens.Output, n.Faults)
	}
	if body["model"] != "m" || body["limit"] != 3.0 || token.O200k().Count(fmt.Sprint(body["text"])) != 12 {
		t.Errorf("the last request was %v", body)
	}
	noSecret(t, dir, env)
}

// Vectors and scores: nothing streams, and their figures are of whole requests.
func TestEmbeddingsAndRerankEndToEnd(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	inputs := map[int]int{}
	note := func(n int) {
		mu.Lock()
		inputs[n]++
		mu.Unlock()
	}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input     json.RawMessage
			Query     string
			Documents []string
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		var rows []string
		if r.URL.Path == "/v1/rerank" {
			note(-len(body.Documents))
			for i := range body.Documents {
				rows = append(rows, fmt.Sprintf(`{"index":%d,"relevance_score":0.5}`, i))
			}
			fmt.Fprintf(w, `{"results":[%s],"usage":{"total_tokens":7}}`, strings.Join(rows, ","))
			return
		}
		var texts []string
		if json.Unmarshal(body.Input, &texts) != nil {
			texts = []string{string(body.Input)}
		}
		note(len(texts))
		for i := range texts {
			rows = append(rows, fmt.Sprintf(`{"index":%d,"embedding":[0.1,0.2]}`, i))
		}
		fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":9}}`, strings.Join(rows, ","))
	})
	for _, tt := range []struct {
		api, block string
		want       int
	}{
		{"embeddings", "{prompt: 30, inputs: 4}", 4},
		{"rerank", "{prompt: 30}", -10},
	} {
		plan := must.File(t, tt.api+".yaml", "workload: "+tt.block+"\nload_profile: {max_concurrency: 2, total_requests: 20, warmup: 0s}\n")
		res, _ := runJSON(t, nil, "--plan", plan, "--url", url, "--api", tt.api, "--model", "m")
		point := res.Points[0]
		if n := point.Requests; n.OK != n.Due || n.Due < 5 {
			t.Errorf("%s: %d of %d requests: %v", tt.api, n.OK, n.Due, n.Faults)
		}
		if point.Latency.E2E == nil || point.Latency.TTFT != nil || point.Latency.ITL != nil {
			t.Errorf("%s: e2e %v, ttft %v, itl %v; want the whole request's time alone", tt.api, point.Latency.E2E, point.Latency.TTFT, point.Latency.ITL)
		}
		if inputs[tt.want] < 5 {
			t.Errorf("%s: requests by their number of texts: %v, want %d", tt.api, inputs, tt.want)
		}
	}
}

// A server that adds to prompts and ends replies early is reported for both, with
// the cure that its API has.
func TestTemplateAndLengthsAreTold(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.URL.Path == "/generate_stream" {
			fmt.Fprint(w, `data:{"token":{"text":"Yes"},"generated_text":"Yes","details":{"finish_reason":"eos_token","generated_tokens":1,"input_length":25}}`+"\n\n")
			return
		}
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"Yes"},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":25,"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n")
	})
	natural := must.File(t, "natural.yaml", "workload: {prompt: 16, output: 20, natural: true}\n")
	for _, tt := range []struct {
		name, api string
		args      []string
		want, not string
	}{
		{"a word that is not heeded", "openai-chat", []string{"--workload", "fixed(16,20)"}, "ignore_eos", "no word"},
		{"no word for it", "tgi-generate", []string{"--workload", "fixed(16,20)"}, "cannot force a reply to a length", "ignore_eos"},
		{"left to the model", "openai-chat", []string{"--plan", natural}, "", "output lengths (mean"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		code, stdout, stderr := redline(t, nil, append([]string{"run", "--url", url, "--api", tt.api, "--model", "m", "--concurrency", "1",
			"--requests", "10", "--warmup", "0s", "--quiet", "--out", dir}, tt.args...)...)
		if code == exitError || code == exitUsage {
			t.Fatalf("%s: exit %d, %s", tt.name, code, stderr)
		}
		text := strings.Join(strings.Fields(stdout), " ")
		if !strings.Contains(text, "+9 tokens of chat template by the server's count") {
			t.Errorf("%s: the template is not told of:\n%s", tt.name, stdout)
		}
		if !strings.Contains(text, tt.want) || strings.Contains(text, tt.not) {
			t.Errorf("%s: want %q and not %q:\n%s", tt.name, tt.want, tt.not, stdout)
		}
	}
}
