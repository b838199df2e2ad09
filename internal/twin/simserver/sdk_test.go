package simserver

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/oracle"
	"redline/internal/traffic/token"
	"redline/internal/twin/sim"
)

// judged is what an SDK made of one answer.
type judged struct {
	Text, Reasoning, Tool string
	Arguments             any
	Finish                string
	Outputs               int
	Usage                 map[string]int
}

// verdict is what the SDKs made of one server.
type verdict struct {
	Models   []string
	Answers  map[string]judged
	Refusals map[string]string
	// Images is how many tokens two images of 84 pixels add to a prompt, and Calls
	// what is called, by API.
	Images map[string]int
	Calls  map[string]string
	// Embeddings is what came of two inputs, with and without a length.
	Embeddings struct {
		Vectors, Length, Short int
		Same                   bool
		PromptTokens           int `json:"prompt_tokens"`
	}
}

// TestOfficialSDKs has the makers' own SDKs for Python read the server's
// answers: OpenAI's, Anthropic's, Ollama's and Hugging Face's. They share no code with this program, so a mistake that
// both halves of a dialect make together shows here.
func TestOfficialSDKs(t *testing.T) {
	t.Parallel()
	python := oracle.Python(t, filepath.Join("testdata", "sdk_requirements.txt"))
	const output = 14
	prompt := string(token.O200k().Compose(nil, rand.New(rand.NewPCG(1, 2)), 40))
	specs := []sim.Spec{{}, {ReasoningTokens: 7}, {ReasoningTokens: 7, ToolCalls: true, TokensPerChunk: 5}}
	args := []string{filepath.Join("testdata", "sdk_judge.py"), sim.DefaultModel, prompt, fmt.Sprint(output)}
	for _, spec := range specs {
		r := must.Get(Start(t.Context(), spec, ServeOptions{}))(t)
		defer r.Close()
		args = append(args, r.URL())
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("the SDKs could not read an answer: %v\n%s", err, complaint.String())
	}
	lines := json.NewDecoder(strings.NewReader(string(said)))
	for _, spec := range specs {
		var got verdict
		must.Do(t, lines.Decode(&got))
		expect.NoDiff(t, cmp.Diff(expectedAnswers(t, spec, prompt, output), got), "%+v (-served +read by the SDK)", spec)
	}
}

// expectedAnswers composes the answers that a server gives to the judge.
func expectedAnswers(t *testing.T, spec sim.Spec, prompt string, output int) verdict {
	t.Helper()
	vocab := token.O200k()
	ids := vocab.Encode(nil, prompt)
	want := verdict{
		Models:   []string{sim.DefaultModel},
		Answers:  map[string]judged{},
		Refusals: map[string]string{"openai-chat": "NotFoundError 404", "anthropic-messages": "NotFoundError 404", "ollama-chat": "ResponseError 404"},
	}
	want.Images, want.Calls = map[string]int{}, map[string]string{}
	for _, api := range []string{"openai-chat", "openai-responses", "anthropic-messages", "ollama-chat", "ollama-generate"} {
		if want.Images[api] = 2 * spec.Vision.ImageTokens(84, 84); dialect(t, api).Tools {
			want.Calls[api] = "forecast [('city', 'str'), ('days', 'int')]"
		}
	}
	want.Embeddings.Vectors, want.Embeddings.Length, want.Embeddings.Short = 2, 384, 8
	want.Embeddings.Same, want.Embeddings.PromptTokens = true, 2*len(ids)
	cached := 0 // the first answer finds an empty cache
	for _, api := range []string{"openai-chat", "openai-completions", "anthropic-messages", "openai-responses", "tgi-generate", "ollama-chat", "ollama-generate"} {
		parts, d := spec, dialect(t, api)
		if !d.Reasoning {
			parts.ReasoningTokens = 0
		}
		if !d.Tools {
			parts.ToolCalls = false
		}
		s := newScript(vocab, rand.New(rand.NewPCG(spec.Seed, promptSeed(ids))), output, parts.ReasoningTokens, parts.ToolCalls)
		s.perChunk = max(1, spec.TokensPerChunk)
		var a judged
		var call string
		a.Text, a.Reasoning, call = s.split()
		if arguments, ok := strings.CutPrefix(call, toolName); ok {
			a.Tool = toolName
			if err := json.Unmarshal([]byte(arguments), &a.Arguments); err != nil {
				t.Fatalf("arguments %q: %v", arguments, err)
			}
		}
		a.Finish = finishWord(api, parts.ToolCalls)
		for _, way := range []string{" streamed", " whole"} {
			a.Outputs = 0
			before := llm.Text
			for spoken := s; way == " streamed" && !spoken.isDone(); {
				part, _ := spoken.next()
				if !d.WholeCalls || part != llm.ToolCall || before != llm.ToolCall {
					a.Outputs++
				}
				before = part
			}
			a.Usage = map[string]int{"prompt_tokens": len(ids), "output_tokens": output, "cached_tokens": cached}
			if usageOf(d, llm.Usage{CachedTokens: 1}).CachedTokens == 0 {
				delete(a.Usage, "cached_tokens")
			}
			if strings.HasPrefix(api, "openai") {
				a.Usage["total_tokens"] = len(ids) + output
				a.Usage["reasoning_tokens"] = parts.ReasoningTokens
			}
			want.Answers[api+way] = a
			cached = (len(ids) - 1) / sim.BlockSize * sim.BlockSize
		}
	}
	return want
}

// finishWord is how an API says why an answer ended.
func finishWord(api string, tool bool) string {
	switch {
	case api == "anthropic-messages" && tool:
		return "tool_use"
	case api == "anthropic-messages":
		return "max_tokens"
	case api == "openai-responses" && tool:
		return "completed"
	case api == "openai-responses":
		return "max_output_tokens"
	case strings.HasPrefix(api, "ollama") && tool:
		return "stop"
	case tool:
		return "tool_calls"
	}
	return "length"
}
