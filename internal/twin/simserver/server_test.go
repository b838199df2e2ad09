package simserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"redline/internal/clock"
	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/token"
	"redline/internal/twin/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnswersOfEveryDialect(t *testing.T) {
	t.Parallel()
	prompt := token.O200k().Count(question(0).Messages[0].Content)
	usage := func(output, reasoning int) llm.Usage {
		return llm.Usage{PromptTokens: prompt, OutputTokens: output, ReasoningTokens: reasoning}
	}
	for _, c := range []struct {
		name   string
		spec   sim.Spec
		output int
		want   parts // of a dialect with parts
		plain  parts // of one without
	}{
		{"words", sim.Spec{}, 12,
			parts{Text: 12, Outputs: 12, Usage: usage(12, 0), Finish: "length"},
			parts{Text: 12, Outputs: 12, Usage: usage(12, 0), Finish: "length"}},
		{"one token", sim.Spec{}, 1,
			parts{Text: 1, Outputs: 1, Usage: usage(1, 0), Finish: "length"},
			parts{Text: 1, Outputs: 1, Usage: usage(1, 0), Finish: "length"}},
		{"reasoning first", sim.Spec{ReasoningTokens: 5}, 12,
			parts{Text: 7, Reasoning: 5, Outputs: 12, Usage: usage(12, 5), Finish: "length"},
			parts{Text: 12, Outputs: 12, Usage: usage(12, 0), Finish: "length"}},
		{"nothing but reasoning", sim.Spec{ReasoningTokens: 50, ToolCalls: true}, 12,
			parts{Reasoning: 12, Outputs: 12, Usage: usage(12, 12), Finish: "length"},
			parts{Text: 12, Outputs: 12, Usage: usage(12, 0), Finish: "length"}},
		{"tool call", sim.Spec{ToolCalls: true}, 12,
			parts{Tool: 12, Outputs: 12, Usage: usage(12, 0), Finish: "tool_calls"},
			parts{Text: 12, Outputs: 12, Usage: usage(12, 0), Finish: "length"}},
		{"several tokens to an event", sim.Spec{TokensPerChunk: 4, ReasoningTokens: 5}, 12,
			parts{Text: 7, Reasoning: 5, Outputs: 4, Usage: usage(12, 5), Finish: "length"},
			parts{Text: 12, Outputs: 3, Usage: usage(12, 0), Finish: "length"}},
		{"several tokens of a tool call to an event", sim.Spec{TokensPerChunk: 4, ToolCalls: true}, 12,
			parts{Tool: 12, Outputs: 4, Usage: usage(12, 0), Finish: "tool_calls"},
			parts{Text: 12, Outputs: 3, Usage: usage(12, 0), Finish: "length"}},
	} {
		url, client := start(t, c.spec, ServeOptions{}).URL(), caller(t)
		for _, d := range wire.Dialects {
			t.Run(c.name+"/"+d.Name, func(t *testing.T) {
				want := c.want
				if !d.Reasoning || !d.Tools && want.Tool > 0 {
					want = c.plain
				}
				if d.WholeCalls && want.Tool > 0 {
					want.Outputs, want.Finish = 1, "stop"
				}
				want.Usage = usageOf(d, want.Usage)
				streamed := ask(t, client, url, d, question(c.output))
				expect.NoDiff(t, cmp.Diff(want, shape(streamed)), "streamed (-want +got)")
				if !streamed.Done {
					t.Error("the stream was not closed in order")
				}
				asked := question(c.output)
				asked.Stream = false
				whole := ask(t, client, url, d, asked)
				whole.Outputs = streamed.Outputs
				expect.NoDiff(t, cmp.Diff(streamed, whole), "not streamed (-streamed +whole)")
			})
		}
	}
}

func TestDefaultLengths(t *testing.T) {
	t.Parallel()
	long := start(t, sim.Spec{}, ServeOptions{Pace: time.Microsecond}).URL()
	short := start(t, sim.Spec{MaxModelLen: 100}, ServeOptions{}).URL()
	client := caller(t)
	prompt := token.O200k().Count(question(0).Messages[0].Content)
	for _, c := range []struct {
		name, url, dialect string
		output             int
		finish             string
	}{
		{"a completion is short", long, "openai-completions", 16, "length"},
		{"a chat ends by itself", long, "openai-chat", 1024, "stop"},
		{"a chat fills a small context", short, "openai-chat", 100 - prompt, "length"},
	} {
		got := post(t, client, c.url+dialect(t, c.dialect).Path, fmt.Appendf(nil,
			`{"prompt":%[1]q,"messages":[{"role":"user","content":%[1]q}]}`, question(0).Messages[0].Content))
		body, _ := io.ReadAll(got.Body)
		got.Body.Close()
		a, err := read(dialect(t, c.dialect), false, body)
		if err != nil || a.Usage.OutputTokens != c.output || a.Finish != c.finish {
			t.Errorf("%s: %d tokens, %q, %v; want %d, %q", c.name, a.Usage.OutputTokens, a.Finish, err, c.output, c.finish)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	url := start(t, sim.Spec{MaxModelLen: 64}, ServeOptions{}).URL()
	client := caller(t)
	chat := func(model string, words, output int) string {
		return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}],"max_tokens":%d}`,
			model, strings.Repeat(" word", words), output)
	}
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		says                     string
	}{
		{"unknown model", "POST", "/v1/chat/completions", chat("gpt-9", 3, 4), 404, "gpt-9"},
		{"unknown model to tokenize", "POST", "/tokenize", `{"model":"gpt-9","prompt":"a"}`, 404, "gpt-9"},
		{"bad JSON", "POST", "/v1/chat/completions", `{"model":`, 400, ""},
		{"an array", "POST", "/v1/chat/completions", `[]`, 400, "body: expected an object, got an array"},
		{"an array to complete", "POST", "/v1/completions", ` [1]`, 400, "body: expected an object, got an array"},
		{"an array to tokenize", "POST", "/tokenize", `[]`, 400, "body: expected an object, got an array"},
		{"a word for a number", "POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"u"}],"max_tokens":"x"}`, 400,
			"max_tokens: expected a whole number, got a string"},
		{"a message of numbers", "POST", "/v1/chat/completions", `{"messages":[7]}`, 400, "messages[0]: expected a JSON object, got a number"},
		{"bad JSON to tokenize", "POST", "/tokenize", `{"prompt":`, 400, ""},
		{"prompt too long", "POST", "/v1/chat/completions", chat("", 65, 1), 400, "maximum context length is 64"},
		{"output too long", "POST", "/v1/chat/completions", chat("", 60, 5), 400, "maximum context length is 64"},
		{"no room for one token", "POST", "/v1/chat/completions",
			strings.Replace(chat("", 64, 0), `,"max_tokens":0`, "", 1), 400, "maximum context length is 64"},
		{"empty prompt", "POST", "/v1/chat/completions", chat("", 0, 1), 400, "empty"},
		{"negative length", "POST", "/v1/chat/completions", chat("", 1, -1), 400, "-1"},
		{"wrong method", "GET", "/v1/chat/completions", "", 405, "Method Not Allowed"},
		{"wrong method for a page", "POST", "/metrics", "", 405, "Method Not Allowed"},
		{"unknown path", "GET", "/v1/audio/speech", "", 404, "Not Found"},
	} {
		req := must.Get(http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body)))(t)
		resp := must.Get(client.Do(req))(t)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || !strings.Contains(string(body), c.says) || !json.Valid(body) {
			t.Errorf("%s: status %d, body %s; want %d and %q", c.name, resp.StatusCode, body, c.status, c.says)
		}
	}
}

// TestCoreRefuses has the core turn a job down that the server let through.
func TestCoreRefuses(t *testing.T) {
	t.Parallel()
	r := must.Get(Start(t.Context(), sim.Spec{NumGPUBlocksOverride: 2}, ServeOptions{}))(t)
	defer r.Close()
	d := dialect(t, "anthropic-messages")
	resp := post(t, caller(t), r.URL()+d.Path, d.Encode(nil, question(100), wire.Quirks{}))
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 400 || !strings.Contains(d.DecodeError(body), "KV blocks") {
		t.Errorf("status %d, body %s; want 400 and the core's reason", resp.StatusCode, body)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	url := start(t, sim.Spec{Model: "qwen3-32b", GPU: "H200", MaxModelLen: 4096}, ServeOptions{Version: "1.2.3"}).URL()
	client := caller(t)
	type page struct {
		Version     string
		Count       int
		MaxModelLen int `json:"max_model_len"`
		Tokens      []int32
		Data        []modelCard
	}
	for _, c := range []struct {
		method, path, body string
		want               page
	}{
		{"GET", "/version", "", page{Version: "1.2.3"}},
		{"GET", "/v1/models", "", page{Data: []modelCard{{
			ID: "qwen3-32b", Object: "model", OwnedBy: "redline", Root: "qwen3-32b", MaxModelLen: 4096}}}},
		// Token ids as OpenAI's own tiktoken gives them for o200k_base.
		{"POST", "/tokenize", `{"model":"qwen3-32b","prompt":"hello world"}`,
			page{Count: 2, MaxModelLen: 4096, Tokens: []int32{24912, 2375}}},
		{"POST", "/tokenize", `{"messages":[{"role":"system","content":"hello"},{"role":"user","content":" world"}]}`,
			page{Count: 2, MaxModelLen: 4096, Tokens: []int32{24912, 2375}}},
	} {
		req := must.Get(http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body)))(t)
		resp := must.Get(client.Do(req))(t)
		var got page
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != 200 {
			t.Errorf("%s %s: status %d, %v", c.path, c.body, resp.StatusCode, err)
		}
		resp.Body.Close()
		for i := range got.Data {
			got.Data[i].Created = 0
		}
		expect.NoDiff(t, cmp.Diff(c.want, got), "%s %s (-want +got)", c.path, c.body)
	}
	resp := must.Get(client.Get(url + "/health"))(t)
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("/health: status %d", resp.StatusCode)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	r := must.Get(Start(t.Context(), sim.Spec{}, ServeOptions{}))(t)
	defer r.Close()
	client := caller(t)
	const streams, output = 200, 20
	answers := make([]answer, streams)
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			asked := question(output)
			asked.Messages[0].Content = fmt.Sprintf("Question %d of many.", i)
			answers[i] = ask(t, client, r.URL(), wire.Dialects[i%len(wire.Dialects)], asked)
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for i, a := range answers {
		if n := token.O200k().Count(a.Text); n != output || a.Usage.OutputTokens != output || !a.Done {
			t.Errorf("stream %d: %d tokens of text, usage %+v, done %v", i, n, a.Usage, a.Done)
		}
		seen[a.Text] = true
	}
	if len(seen) != streams {
		t.Errorf("%d different answers to %d questions", len(seen), streams)
	}
	if late := r.Lateness(); late.Steps == 0 || late.P99 > late.Max {
		t.Errorf("lateness %+v after %d streams", late, streams)
	}
}

func TestStartNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	for _, c := range []struct {
		name string
		spec sim.Spec
		o    ServeOptions
		says string
	}{
		{"unknown model", sim.Spec{Model: "no-such-model"}, ServeOptions{}, "no-such-model"},
		{"negative pace", sim.Spec{}, ServeOptions{Pace: -1}, "pace"},
		{"address in use", sim.Spec{}, ServeOptions{Listen: taken.Addr().String()}, taken.Addr().String()},
		{"no room for an answer", sim.Spec{MaxModelLen: 1}, ServeOptions{}, "max-model-len"},
	} {
		r, err := Start(t.Context(), c.spec, c.o)
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v; want one line with %q", c.name, err, c.says)
		}
	}
	if _, err := NewServer(Options{Spec: sim.Spec{ServedModelName: "m", MaxModelLen: 2}, Clock: clock.New()}); err == nil {
		t.Error("a server without a core was made")
	}
}

func TestContextEndsServing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := must.Get(Start(ctx, sim.Spec{}, ServeOptions{Pace: time.Hour}))(t)
	d := dialect(t, "openai-chat")
	resp := post(t, caller(t), r.URL()+d.Path, d.Encode(nil, question(3), wire.Quirks{}))
	defer resp.Body.Close()
	cancel()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stream ended in order though its server was stopped")
	}
	if err := r.Wait(); err != nil {
		t.Errorf("serving ended with %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closing gave %v", err)
	}
}
