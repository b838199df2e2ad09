package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/oracle"
)

// TestRequestsFitOfficialSDKs holds what is sent to the types of the makers' own
// SDKs, key by key: images, tools, a history with a call and its result, a schema.
// SGLang and llama.cpp publish no such types, and engines' extensions have none.
func TestRequestsFitOfficialSDKs(t *testing.T) {
	t.Parallel()
	python := oracle.Python(t, filepath.Join("..", "..", "twin", "simserver", "testdata", "sdk_requirements.txt"))
	image := llm.Part{Kind: llm.Image, Media: "image/png", Data: []byte("\x89PNG\r\n\x1a\n and more")}
	schema := llm.JSON(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)
	var lines bytes.Buffer
	withImages := map[string]bool{}
	judged := []string{"openai-chat", "openai-completions", "openai-responses", "anthropic-messages", "ollama-chat", "ollama-generate", "tgi-generate"}
	for _, d := range Dialects {
		if !slices.Contains(judged, d.Name) {
			continue
		}
		r := &llm.Request{Model: "m", MaxTokens: 9, Stream: true, Natural: true,
			Messages: []llm.Message{{Role: "system", Content: "S"}, {Role: "user", Content: "Q"}}}
		if d.Name != anthropicMessages.Name { // the servers that speak its API take a temperature, its SDK knows none
			r.Sampling.Temperature = new(0.5)
		}
		if d.Has(llm.NeedImages) {
			r.Messages[1].Parts, withImages[d.Name] = []llm.Part{image, image}, true
		}
		if d.Has(llm.NeedTools) {
			r.Tools = &llm.Toolset{Tools: []llm.Tool{{Name: "search", Description: "d", Parameters: schema}}, Choice: llm.ToolChoice{Mode: llm.ChoiceAuto}}
			call := llm.Part{Kind: llm.ToolCall, Call: "c1", Name: "search", Text: `{"q":"x"}`}
			result := llm.Part{Kind: llm.ToolResult, Call: "c1", Name: "search", Text: "found"}
			r.Messages = append(r.Messages, llm.Message{Role: "assistant", Content: "I look.", Parts: []llm.Part{call}}, llm.Message{Role: "tool", Parts: []llm.Part{result}})
		}
		if d.Has(llm.NeedFormat) {
			r.Format = &llm.Format{Schema: schema, Name: "reply", Strict: true}
		}
		must.Do(t, json.NewEncoder(&lines).Encode(map[string]any{"api": d.Name, "body": json.RawMessage(d.Encode(nil, r, Quirks{NoIgnoreEOS: true}))}))
	}
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "sdk_requests.py"))
	var complaint strings.Builder
	cmd.Stdin, cmd.Stderr = &lines, &complaint
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("the requests could not be judged: %v\n%s", err, complaint.String())
	}
	var verdicts map[string]struct{ Wrong, Images []string }
	must.Do(t, json.Unmarshal(said, &verdicts))
	for _, name := range judged {
		v, there := verdicts[name]
		if !there || len(v.Wrong) > 0 {
			t.Errorf("%s: %s", name, strings.Join(v.Wrong, "\n"))
		}
		var want []string
		if withImages[name] {
			encoded := base64.StdEncoding.EncodeToString(image.Data)
			want = []string{encoded, encoded}
		}
		if !slices.Equal(v.Images, want) {
			t.Errorf("%s: the SDK finds the images %q, want %q", name, v.Images, want)
		}
	}
}
