package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	chat, _ := ByName("openai-chat")
	expect.NoDiff(t, cmp.Diff([][2]string{{"Authorization", "Bearer k"}}, chat.Headers("k")), "openai (-want +got)")
	anthropic, _ := ByName("anthropic-messages")
	want := [][2]string{{"anthropic-version", "2023-06-01"}, {"x-api-key", "k"}}
	expect.NoDiff(t, cmp.Diff(want, anthropic.Headers("k")), "anthropic (-want +got)")
	expect.NoDiff(t, cmp.Diff(want[:1], anthropic.Headers("")), "anthropic without a key (-want +got)")
}

// everyKnob is a request that sets all that can be set.
func everyKnob() *llm.Request {
	return &llm.Request{Model: "m", MaxTokens: 16, Stream: true,
		Messages: []llm.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "u"}},
		Sampling: llm.Sampling{Temperature: ptr(0.5), TopP: ptr(1.0), Seed: ptr(int64(7)), Stop: []string{"x"}}}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	extra := must.Get(NewExtra(map[string]any{"temperature": nil, "top_k": 40, "lora": map[string]any{"name": "a\"b"}}))(t)
	larger := must.Get(NewExtra(map[string]any{"options": map[string]any{"num_ctx": 8192, "temperature": 1}, "keep_alive": -1}))(t)
	options := `"stream":true,"stream_options":{"include_usage":true},"ignore_eos":true,"temperature":0.5,"top_p":1,"seed":7,"stop":["x"]`
	for _, c := range []struct {
		name, dialect string
		quirks        Quirks
		want          string
	}{
		{"chat", "openai-chat", Quirks{},
			`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"max_tokens":16,` + options + `}`},
		{"chat of a server that knows little", "openai-chat", Quirks{NoStreamOptions: true, MaxCompletionTokens: true, NoIgnoreEOS: true},
			`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"max_completion_tokens":16,"stream":true,"temperature":0.5,"top_p":1,"seed":7,"stop":["x"]}`},
		{"completions", "openai-completions", Quirks{MaxCompletionTokens: true},
			`{"model":"m","prompt":"s\nu","max_tokens":16,` + options + `}`},
		{"responses", "openai-responses", Quirks{},
			`{"model":"m","input":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"max_output_tokens":16,"store":false,"stream":true,"ignore_eos":true,"temperature":0.5,"top_p":1}`},
		{"responses of OpenAI's own", "openai-responses", Quirks{NoIgnoreEOS: true},
			`{"model":"m","input":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"max_output_tokens":16,"store":false,"stream":true,"temperature":0.5,"top_p":1}`},
		{"tgi", "tgi-generate", Quirks{},
			`{"inputs":"s\nu","parameters":{"max_new_tokens":16,"do_sample":true,"temperature":0.5,"seed":7,"stop":["x"],"details":true},"stream":true}`},
		{"ollama chat", "ollama-chat", Quirks{},
			`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"stream":true,"options":{"num_predict":16,"temperature":0.5,"top_p":1,"seed":7,"stop":["x"]}}`},
		{"ollama generate with a larger context", "ollama-generate", Quirks{Extra: larger},
			`{"model":"m","prompt":"s\nu","stream":true,"options":{"num_predict":16,"top_p":1,"seed":7,"stop":["x"],"num_ctx":8192,"temperature":1},"keep_alive":-1}`},
		{"sglang", "sglang-generate", Quirks{},
			`{"text":"s\nu","sampling_params":{"max_new_tokens":16,"ignore_eos":true,"temperature":0.5,"top_p":1,"sampling_seed":7,"stop":["x"]},"stream":true}`},
		{"llama.cpp", "llamacpp-completion", Quirks{},
			`{"prompt":"s\nu","n_predict":16,"stream":true,"ignore_eos":true,"temperature":0.5,"top_p":1,"seed":7,"stop":["x"]}`},
		{"embeddings", "embeddings", Quirks{}, `{"model":"m","input":["s","u"],"encoding_format":"float"}`},
		{"rerank", "rerank", Quirks{}, `{"model":"m","query":"s","documents":["u"]}`},
		{"rerank of texts", "rerank", Quirks{Texts: true}, `{"query":"s","texts":["u"]}`},
		{"anthropic", "anthropic-messages", Quirks{},
			`{"model":"m","system":"s","messages":[{"role":"user","content":"u"}],"max_tokens":16,"stream":true,"temperature":0.5,"top_p":1,"stop_sequences":["x"]}`},
		{"chat with extra keys", "openai-chat", Quirks{Extra: extra},
			`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"max_tokens":16,"stream":true,"stream_options":{"include_usage":true},"ignore_eos":true,"top_p":1,"seed":7,"stop":["x"],"lora":{"name":"a\"b"},"temperature":null,"top_k":40}`},
		{"anthropic with extra keys", "anthropic-messages", Quirks{Extra: extra},
			`{"model":"m","system":"s","messages":[{"role":"user","content":"u"}],"max_tokens":16,"stream":true,"top_p":1,"stop_sequences":["x"],"lora":{"name":"a\"b"},"temperature":null,"top_k":40}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, _ := ByName(c.dialect)
			expect.Same(t, c.want, string(d.Encode(nil, everyKnob(), c.quirks)))
		})
	}
}

// TestNaturalEnd: a reply that may end by itself is asked for without the words
// that forbid it.
func TestNaturalEnd(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, d *Dialect) {
		forced := map[string]bool{"openai-chat": true, "openai-completions": true, "openai-responses": true,
			"sglang-generate": true, "llamacpp-completion": true}[d.Name]
		for natural, want := range map[bool]bool{false: forced, true: false} {
			r := everyKnob()
			r.Natural = natural
			_, options, err := d.ParseRequest(d.Encode(nil, r, Quirks{}))
			if err != nil || options.IgnoreEOS != want {
				t.Errorf("natural: %v: the server is told to ignore the end: %v, %v; want %v", natural, options.IgnoreEOS, err, want)
			}
		}
	})
}

func TestExtraOverridesEveryKey(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, d *Dialect) {
		all := map[string]any{}
		for _, k := range []string{"model", "messages", "system", "prompt", "max_tokens", "stream_options",
			"ignore_eos", "temperature", "top_p", "seed", "stop", "stop_sequences", "input", "max_output_tokens", "store",
			"inputs", "parameters", "options", "text", "sampling_params", "n_predict"} {
			all[k] = "mine"
		}
		extra := must.Get(newExtra(all))(t)
		r := everyKnob()
		r.Stream = false
		var got map[string]any
		body := d.Encode(nil, r, Quirks{Extra: extra})
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		delete(got, "stream")
		if diff := cmp.Diff(all, got); diff != "" || strings.Count(string(body), "mine") != len(all) {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	})
}

func TestNewExtraRefuses(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]any{"stream": false, "messages": nil, "max_completion_tokens": 5, "model": "m", "callback": func() {}} {
		_, err := NewExtra(map[string]any{key: value})
		if err == nil || !strings.HasPrefix(err.Error(), "extra_body."+key+":") {
			t.Errorf("%s: got error %v, want one that names the key", key, err)
		}
	}
}

func TestAdapt(t *testing.T) {
	t.Parallel()
	held := must.Get(NewExtra(map[string]any{"stream_options": nil}))(t)
	const renamed = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`
	for _, c := range []struct {
		name, dialect, body string
		have, want          Quirks
	}{
		{"stream_options", "openai-chat", `{"error":"Extra inputs are not permitted: stream_options"}`, Quirks{}, Quirks{NoStreamOptions: true}},
		{"both at once", "openai-completions", `stream_options, ignore_eos: unknown`, Quirks{}, Quirks{NoStreamOptions: true, NoIgnoreEOS: true}},
		{"ignore_eos", "openai-chat", `{"detail":[{"loc":["body","ignore_eos"]}]}`, Quirks{NoStreamOptions: true}, Quirks{NoStreamOptions: true, NoIgnoreEOS: true}},
		{"a new name for the limit", "openai-chat", renamed, Quirks{}, Quirks{MaxCompletionTokens: true}},
		{"no new name in completions", "openai-completions", renamed, Quirks{}, Quirks{}},
		{"a limit beyond the context", "openai-chat", `'max_tokens' or 'max_completion_tokens' is too large: 9000`, Quirks{}, Quirks{}},
		{"a limit that is wrong by itself", "openai-chat", `max_tokens must be at least 1`, Quirks{}, Quirks{}},
		{"already left out", "openai-chat", `stream_options`, Quirks{NoStreamOptions: true}, Quirks{NoStreamOptions: true}},
		{"the user's own", "openai-chat", `stream_options`, Quirks{Extra: held}, Quirks{Extra: held}},
		{"something else", "openai-chat", `{"error":"no such model"}`, Quirks{}, Quirks{}},
		{"ignore_eos in responses", "openai-responses", `Unknown parameter: 'ignore_eos'.`, Quirks{}, Quirks{NoIgnoreEOS: true}},
		{"a reranker that wants texts", "rerank", "Failed to deserialize the JSON body into the target type: missing field `texts` at line 1 column 30", Quirks{}, Quirks{Texts: true}},
		{"a reranker that wants something else", "rerank", "missing field `query`", Quirks{}, Quirks{}},
		{"anthropic has nothing to leave out", "anthropic-messages", `stream_options`, Quirks{}, Quirks{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, _ := ByName(c.dialect)
			got, again := d.Adapt([]byte(c.body), c.have)
			if got != c.want || again != (c.want != c.have) {
				t.Errorf("got %+v and %v, want %+v", got, again, c.want)
			}
		})
	}
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	user := func(text string) []llm.Message { return []llm.Message{{Role: "user", Content: text}} }
	for _, c := range []struct {
		name, dialect, body string
		want                llm.Request
		options             ServerOptions
	}{
		{"text parts", "openai-chat", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`,
			llm.Request{Messages: user("ab")}, ServerOptions{}},
		{"null content", "openai-chat", `{"messages":[{"role":"assistant","content":null,"tool_calls":[]}]}`,
			llm.Request{Messages: []llm.Message{{Role: "assistant"}}}, ServerOptions{}},
		{"the new name of the limit", "openai-chat", `{"messages":[{"role":"user","content":"a"}],"max_tokens":3,"max_completion_tokens":5}`,
			llm.Request{Messages: user("a"), MaxTokens: 5}, ServerOptions{}},
		{"options", "openai-chat", `{"messages":[{"role":"user","content":"a"}],"n":1,"stop":"x","stream":true,"ignore_eos":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
			llm.Request{Messages: user("a"), Stream: true, Sampling: llm.Sampling{Stop: []string{"x"}}},
			ServerOptions{IncludeUsage: true, ContinuousUsage: true, IgnoreEOS: true}},
		{"nulls", "openai-chat", `{"messages":[{"role":"user","content":"a"}],"stop":null,"stream":null,"stream_options":null,"temperature":null}`,
			llm.Request{Messages: user("a")}, ServerOptions{}},
		{"a list of one prompt", "openai-completions", `{"prompt":["a"]}`, llm.Request{Messages: user("a")}, ServerOptions{}},
		{"a bare input", "openai-responses", `{"input":"a","instructions":"s"}`,
			llm.Request{Messages: append([]llm.Message{{Role: "system", Content: "s"}}, user("a")...)}, ServerOptions{IncludeUsage: true}},
		{"input parts", "openai-responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]}`,
			llm.Request{Messages: user("ab")}, ServerOptions{IncludeUsage: true}},
		{"ollama streams unless told not to", "ollama-chat", `{"messages":[{"role":"user","content":"a"}],"options":{"num_predict":-1}}`,
			llm.Request{Messages: user("a"), Stream: true}, ServerOptions{IncludeUsage: true}},
		{"ollama's system", "ollama-generate", `{"prompt":"a","system":"s","stream":false}`,
			llm.Request{Messages: append([]llm.Message{{Role: "system", Content: "s"}}, user("a")...)}, ServerOptions{IncludeUsage: true}},
		{"no end in llama.cpp", "llamacpp-completion", `{"prompt":["a"],"n_predict":-1}`, llm.Request{Messages: user("a")}, ServerOptions{IncludeUsage: true}},
		{"one input", "embeddings", `{"input":"a","encoding_format":"base64","dimensions":3}`, llm.Request{Messages: user("a")}, ServerOptions{Base64: true, Dimensions: 3}},
		{"texts to rank", "rerank", `{"query":"q","texts":["a"]}`,
			llm.Request{Messages: []llm.Message{{Role: "query", Content: "q"}, {Role: "document", Content: "a"}}}, ServerOptions{Texts: true}},
		{"system as blocks", "anthropic-messages", `{"max_tokens":1,"system":[{"type":"text","text":"s","cache_control":{}}],"messages":[{"role":"user","content":"a"}]}`,
			llm.Request{MaxTokens: 1, Messages: append([]llm.Message{{Role: "system", Content: "s"}}, user("a")...)}, ServerOptions{IncludeUsage: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, _ := ByName(c.dialect)
			got, options := must.Get2(d.ParseRequest([]byte(c.body)))(t)
			expect.Same(t, c.want, *got)
			if options != c.options {
				t.Errorf("options: got %+v, want %+v", options, c.options)
			}
		})
	}
}

func TestParseRequestNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	const messages = `"messages":[{"role":"user","content":"a"}]`
	for _, c := range []struct{ dialect, body, want string }{
		{"openai-chat", `{"messages":[`, "body is not valid JSON"},
		{"openai-chat", ``, "body is not valid JSON"},
		{"openai-chat", `{}`, "messages:"},
		{"openai-chat", `[]`, "body:"},
		{"openai-chat", `{"messages":[]}`, "messages:"},
		{"openai-chat", `{"messages":"a"}`, "messages:"},
		{"openai-chat", `{"messages":[{"content":"a"}]}`, "messages[0].role:"},
		{"openai-chat", `{"messages":[{"role":"user","content":5}]}`, "messages[0].content:"},
		{"openai-chat", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "messages[0].content[0]:"},
		{"openai-chat", `{"max_tokens":-1,` + messages + `}`, "max_tokens:"},
		{"openai-chat", `{"max_tokens":"many",` + messages + `}`, "max_tokens:"},
		{"openai-chat", `{"max_completion_tokens":0,` + messages + `}`, "max_tokens:"},
		{"openai-chat", `{"temperature":-0.1,` + messages + `}`, "temperature:"},
		{"openai-chat", `{"top_p":1.1,` + messages + `}`, "top_p:"},
		{"openai-chat", `{"n":2,` + messages + `}`, "n:"},
		{"openai-chat", `{"stop":7,` + messages + `}`, "stop:"},
		{"openai-completions", `{"model":"m"}`, "prompt:"},
		{"openai-completions", `{"prompt":["a","b"]}`, "prompt:"},
		{"openai-completions", `{"prompt":[1,"a"]}`, "prompt:"},
		{"openai-completions", `{"prompt":"a","max_tokens":0}`, "max_tokens:"},
		{"openai-completions", `not json`, "body is not valid JSON"},
		{"anthropic-messages", `{` + messages + `}`, "max_tokens:"},
		{"anthropic-messages", `{"max_tokens":0,` + messages + `}`, "max_tokens:"},
		{"anthropic-messages", `{"max_tokens":1}`, "messages:"},
		{"anthropic-messages", `{"max_tokens":1,"system":5,` + messages + `}`, "system:"},
		{"anthropic-messages", `{`, "body is not valid JSON"},
		{"openai-responses", `{}`, "input:"},
		{"openai-responses", `{"input":[]}`, "input:"},
		{"openai-responses", `{"input":[{"role":"user","content":[{"type":"input_image"}]}]}`, "input[0].content[0]:"},
		{"openai-responses", `{"input":"a","max_output_tokens":0}`, "max_tokens:"},
		{"tgi-generate", `{}`, "inputs:"},
		{"tgi-generate", `{"inputs":"a","parameters":{"temperature":0}}`, "parameters.temperature:"},
		{"tgi-generate", `{"inputs":"a","parameters":{"top_p":1.0}}`, "parameters.top_p:"},
		{"tgi-generate", `{"inputs":"a","parameters":{"max_new_tokens":0}}`, "parameters.max_tokens:"},
		{"ollama-chat", `{}`, "messages:"},
		{"ollama-chat", `{` + messages + `,"options":{"top_p":2}}`, "options.top_p:"},
		{"ollama-generate", `{"model":"m"}`, "prompt:"},
		{"ollama-generate", `{"prompt":1}`, "prompt:"},
		{"sglang-generate", `{"input_ids":[]}`, "text:"},
		{"sglang-generate", `{"text":"a","sampling_params":{"temperature":-1}}`, "sampling_params.temperature:"},
		{"llamacpp-completion", `{"prompt":[{}]}`, "prompt:"},
		{"llamacpp-completion", `{}`, "prompt:"},
		{"embeddings", `{}`, "input:"},
		{"embeddings", `{"input":[]}`, "input:"},
		{"embeddings", `{"input":"a","encoding_format":"int8"}`, "encoding_format:"},
		{"embeddings", `{"input":"a","dimensions":-1}`, "dimensions:"},
		{"rerank", `{"documents":["a"]}`, "query:"},
		{"rerank", `{"query":"a"}`, "documents:"},
		{"rerank", `{"query":"a","texts":[1]}`, "texts:"},
	} {
		d, _ := ByName(c.dialect)
		_, _, err := d.ParseRequest([]byte(c.body))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %s: got error %v, want one that begins with %q", c.dialect, c.body, err, c.want)
		}
	}
}

func TestMergeUsage(t *testing.T) {
	t.Parallel()
	got := llm.Usage{PromptTokens: 10, CachedTokens: 4, OutputTokens: 1}
	MergeUsage(&got, llm.Usage{OutputTokens: 15, ReasoningTokens: 2})
	want := llm.Usage{PromptTokens: 10, CachedTokens: 4, OutputTokens: 15, ReasoningTokens: 2}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range []struct {
		name  string
		bytes int
	}{{"500 tokens", 2_000}, {"128k tokens", 600_000}} {
		b.Run(c.name, func(b *testing.B) {
			d, _ := ByName("openai-chat")
			prompt := strings.Repeat("the quick brown fox said \"yes\" and left\n", c.bytes/40)
			r := &llm.Request{Model: "m", MaxTokens: 100, Stream: true, Messages: []llm.Message{{Role: "user", Content: prompt}}}
			var dst []byte
			b.ReportAllocs()
			b.SetBytes(int64(len(prompt)))
			for b.Loop() {
				dst = d.Encode(dst[:0], r, Quirks{})
			}
		})
	}
}

func BenchmarkOutput(b *testing.B) {
	for _, d := range Dialects {
		b.Run(d.Name, func(b *testing.B) {
			r := newReply("stop")
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = d.Output(dst[:0], r, llm.Text, " load")
			}
		})
	}
}

// TestWrongBodiesAreNamedInWordsOfJSON: no type of the program's own is shown to
// whoever asks the simulator, or is asked by it.
func TestWrongBodiesAreNamedInWordsOfJSON(t *testing.T) {
	t.Parallel()
	for _, d := range All() {
		for _, body := range []string{`[]`, `"x"`, `7`, `[{}]`, `{"model":[]}`, `{"stream":"yes"}`} {
			_, _, err := d.ParseRequest([]byte(body))
			if err == nil {
				continue // an API that does not look at that field
			}
			for _, word := range []string{"Go ", "wire.", "json:", "struct", "float64", "*", "[]"} {
				if strings.Contains(err.Error(), word) {
					t.Errorf("%s says of %s: %v", d.Name, body, err)
				}
			}
		}
	}
}
