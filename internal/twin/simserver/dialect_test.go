package simserver

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/wire"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/token"
	"redline/internal/twin/sim"
)

// TestPooling asks for vectors and scores: there is one for each text, and the
// usage counts all of them.
func TestPooling(t *testing.T) {
	t.Parallel()
	url, client := start(t, sim.Spec{}, ServeOptions{}).URL(), caller(t)
	asked := question(0)
	asked.Messages = []llm.Message{{Role: "query", Content: "what is red"}, {Role: "document", Content: "a line"}, {Role: "document", Content: "a rose"}}
	prompt := 0
	for _, m := range asked.Messages {
		prompt += token.O200k().Count(m.Content)
	}
	for _, c := range []struct {
		name, api, path string
		quirks          wire.Quirks
		items, prompt   int
	}{
		{"vectors", "embeddings", "/v1/embeddings", wire.Quirks{}, 3, prompt},
		{"scores", "rerank", "/v1/rerank", wire.Quirks{}, 2, prompt},
		{"Cohere's path", "rerank", "/v2/rerank", wire.Quirks{}, 2, prompt},
		{"texts", "rerank", "/rerank", wire.Quirks{Texts: true}, 2, 0},
	} {
		d := dialect(t, c.api)
		resp := post(t, client, url+c.path, d.Encode(nil, asked, c.quirks))
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		var got wire.Delta
		if err := d.DecodeWhole(body, &got); err != nil || got.Items != c.items || got.Usage != (llm.Usage{PromptTokens: c.prompt}) {
			t.Errorf("%s: %d items, %+v, %v in %.200s", c.name, got.Items, got.Usage, err, body)
		}
	}
}

func TestPoolingRefusals(t *testing.T) {
	t.Parallel()
	url, client := start(t, sim.Spec{MaxModelLen: 20}, ServeOptions{}).URL(), caller(t)
	for body, says := range map[string]string{
		`{"input":[""]}`: "empty",
		fmt.Sprintf(`{"input":%q}`, strings.Repeat("red ", 30)): "longer than",
		`{"input":"a","model":"other"}`:                         "does not exist",
	} {
		resp := post(t, client, url+"/v1/embeddings", []byte(body))
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode/100 != 4 || !strings.Contains(string(said), says) {
			t.Errorf("%s: status %d, %s; want %q", body, resp.StatusCode, said, says)
		}
	}
}

// TestSharedPath: what is asked at /generate is answered in the manner of the
// engine that is asked in that way.
func TestSharedPath(t *testing.T) {
	t.Parallel()
	url, client := start(t, sim.Spec{}, ServeOptions{}).URL(), caller(t)
	for _, c := range []struct{ path, body, kind, has string }{
		{"/generate", `{"inputs":"a","parameters":{"max_new_tokens":2}}`, "application/json", `"generated_text":`},
		{"/generate", `{"inputs":"a","stream":true,"parameters":{"max_new_tokens":2}}`, "application/json", `"generated_text":`},
		{"/generate_stream", `{"inputs":"a","parameters":{"max_new_tokens":2}}`, "text/event-stream; charset=utf-8", `"generated_text":null`},
		{"/generate", `{"text":"a","sampling_params":{"max_new_tokens":2}}`, "application/json", `"meta_info":`},
		{"/generate", `{"text":"a","stream":true,"sampling_params":{"max_new_tokens":2}}`, "text/event-stream; charset=utf-8", "data: [DONE]"},
		{"/api/chat", `{"messages":[{"role":"user","content":"a"}],"options":{"num_predict":2}}`, "application/x-ndjson; charset=utf-8", `"eval_duration":`},
	} {
		resp := post(t, client, url+c.path, []byte(c.body))
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if diff := cmp.Diff(c.kind, resp.Header.Get("Content-Type")); diff != "" || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), c.has) {
			t.Errorf("%s %s: status %d, %s %s", c.path, c.body, resp.StatusCode, diff, body)
		}
	}
}

// TestRequestsWithParts: every dialect that has tools takes them, with calls,
// results and images, and counts what a tokenizer sees of them.
func TestRequestsWithParts(t *testing.T) {
	t.Parallel()
	url, client := start(t, sim.Spec{}, ServeOptions{}).URL(), caller(t)
	asked := question(3)
	var picture bytes.Buffer
	must.Do(t, png.Encode(&picture, image.NewNRGBA(image.Rect(0, 0, 84, 56))))
	asked.Messages[0].Parts = []llm.Part{{Kind: llm.Image, Data: picture.Bytes(), Media: "image/png"}}
	asked.Messages = append(asked.Messages, llm.Message{Role: "assistant", Parts: []llm.Part{{Kind: llm.ToolCall, Call: "c1", Name: "find", Text: `{"q":1}`}}},
		llm.Message{Role: "tool", Parts: []llm.Part{{Kind: llm.ToolResult, Call: "c1", Name: "find", Text: "as hard as you like"}}})
	asked.Tools = &llm.Toolset{Tools: []llm.Tool{{Name: "find", Description: "looks it up", Parameters: llm.JSON(`{"type":"object"}`)}}}
	prompt := 3 * 2 // squares of 28 pixels
	for _, text := range []string{"find", "looks it up", `{"type":"object"}`, question(0).Messages[0].Content, "find", `{"q":1}`, "as hard as you like"} {
		prompt += token.O200k().Count(text)
	}
	for _, name := range []string{"openai-chat", "openai-responses", "anthropic-messages", "ollama-chat"} {
		if got := ask(t, client, url, dialect(t, name), asked); got.Usage.PromptTokens != prompt || got.Usage.OutputTokens < 1 {
			t.Errorf("%s: usage %+v, want a prompt of %d", name, got.Usage, prompt)
		}
	}
}
