package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/llm"
)

type piece struct {
	part llm.PartKind
	text string
}

// answer is what the server says in every dialect.
var answer = []piece{
	{llm.Reasoning, "Hm."}, {llm.Reasoning, " So:"},
	{llm.Text, "Hello"}, {llm.Text, " \"world\"\n"},
	{llm.ToolCall, "lookup"}, {llm.ToolCall, `{"city":"Rome"}`},
}

var counted = llm.Usage{PromptTokens: 11, CachedTokens: 3, OutputTokens: 9, ReasoningTokens: 2}

// engine answers in d. Each output is a write of its own that waits until the
// one before it was seen.
func engine(d *wire.Dialect, seen <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		asked, options, badRequest := d.ParseRequest(content)
		if err != nil || badRequest != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(d.EncodeError(nil, 400, fmt.Sprint(err, badRequest)))
			return
		}
		reply := &wire.Reply{ID: "1", Model: asked.Model, Usage: counted, Finish: "stop", IncludeUsage: options.IncludeUsage}
		if d.WholePath != "" {
			asked.Stream = r.URL.Path == d.Path
		}
		if !asked.Stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(d.Whole(nil, reply, "Hello \"world\"\n", "Hm. So:", `lookup{"city":"Rome"}`))
			return
		}
		w.Header().Set("Content-Type", d.Framing.ContentType())
		flush := func(b []byte) {
			_, _ = w.Write(b)
			_ = http.NewResponseController(w).Flush()
		}
		flush(d.Open(nil, reply))
		for _, p := range answer {
			if b := d.Output(nil, reply, p.part, p.text); len(b) > 0 { // a call that comes whole has no parts
				flush(b)
				<-seen
			}
		}
		flush(d.Close(nil, reply))
	}
}

// usageOf is the part of the usage that a dialect has words for.
func usageOf(d *wire.Dialect) llm.Usage {
	u := counted
	switch d.Name {
	case "tgi-generate", "ollama-chat", "ollama-generate":
		u.CachedTokens, u.ReasoningTokens = 0, 0
	case "sglang-generate", "llamacpp-completion":
		u.ReasoningTokens = 0
	}
	return u
}

// callsOf are the calls that a reader of a dialect puts together.
func callsOf(d *wire.Dialect) []llm.Part {
	id := map[string]string{"openai-chat": "call_0", "openai-responses": "call_2", "anthropic-messages": "toolu_0"}[d.Name]
	if id == "" && !d.WholeCalls {
		return nil
	}
	return []llm.Part{{Kind: llm.ToolCall, Call: id, Name: "lookup", Text: `{"city":"Rome"}`}}
}

// TestDialectsStream drives the client against the server's half of every
// dialect, output by output.
func TestDialectsStream(t *testing.T) {
	for _, d := range wire.Dialects {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan struct{})
			c := newClient(t, Spec{API: d.Name}, serve(t, engine(d, seen)))
			want := []llm.Event{{Kind: llm.Dialed}, {Kind: llm.Ready}, {Kind: llm.Sent}, {Kind: llm.Written}, {Kind: llm.Head, Status: 200}}
			if d.Name == "anthropic-messages" { // it tells the prompt's usage first
				want = append(want, llm.Event{Kind: llm.UsageSeen, Usage: counted})
			}
			for _, p := range answer {
				if !d.Reasoning || !d.Tools && p.part == llm.ToolCall {
					p.part = llm.Text
				}
				if d.WholeCalls && p.part == llm.ToolCall && want[len(want)-1].Part == llm.ToolCall {
					want[len(want)-1].Text = append(want[len(want)-1].Text, p.text...)
					continue
				}
				want = append(want, llm.Event{Kind: llm.Output, Part: p.part, Text: []byte(p.text)})
			}
			want = append(want, llm.Event{Kind: llm.UsageSeen, Usage: usageOf(d)}, llm.Event{Kind: llm.End, Calls: callsOf(d)})
			got, fault := plainly(t, c, requestOf(true), func(ev llm.Event) {
				if ev.Kind == llm.Output {
					seen <- struct{}{}
				}
			})
			equal(t, "fault", fault, (*llm.Fault)(nil))
			equal(t, "events", got, want)
		})
	}
}

func TestDialectsWhole(t *testing.T) {
	for _, d := range wire.Dialects {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, Spec{API: d.Name}, serve(t, engine(d, nil)))
			got, fault := plainly(t, c, requestOf(false), nil)
			equal(t, "fault", fault, (*llm.Fault)(nil))
			equal(t, "events", got, []llm.Event{
				{Kind: llm.Dialed}, {Kind: llm.Ready}, {Kind: llm.Sent}, {Kind: llm.Written}, {Kind: llm.Head, Status: 200},
				{Kind: llm.Output, Text: []byte("Hm. So:Hello \"world\"\nlookup{\"city\":\"Rome\"}")},
				{Kind: llm.UsageSeen, Usage: usageOf(d)}, {Kind: llm.End, Calls: callsOf(d)}})
		})
	}
}

// TestPooling: a reply of vectors or scores succeeds where there is one for
// each text, and there is no output to speak of.
func TestPooling(t *testing.T) {
	prompt := llm.Usage{PromptTokens: 11}
	texts := []llm.Message{{Role: "query", Content: "q"}, {Role: "document", Content: "a"}, {Role: "document", Content: "b"}}
	for _, tc := range []struct {
		name, api, body string
		usage           llm.Usage
		outcome         llm.Outcome
	}{
		{"vectors", "embeddings", `{"data":[{"embedding":[0.1]},{"embedding":[1e-3,2]},{"embedding":"AAAA"}],"usage":{"prompt_tokens":11,"total_tokens":11}}`, prompt, llm.OK},
		{"a vector too few", "embeddings", `{"data":[{"embedding":[0.1]},{"embedding":[]}]}`, llm.Usage{}, llm.Malformed},
		{"no vector", "embeddings", `{"data":[]}`, llm.Usage{}, llm.Empty},
		{"scores", "rerank", `{"results":[{"index":1,"relevance_score":0.5},{"index":0,"relevance_score":0}],"usage":{"total_tokens":11}}`, prompt, llm.OK},
		{"bare scores", "rerank", `[{"index":0,"score":0.9},{"index":1,"score":0.1}]`, llm.Usage{}, llm.OK},
		{"a score too many", "rerank", `[{"score":1},{"score":1},{"score":1}]`, llm.Usage{}, llm.Malformed},
		{"an error", "rerank", `{"error":"no such model"}`, llm.Usage{}, llm.ErrorEvent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, tc.body)
			})
			request := requestOf(true) // what streams elsewhere does not here
			request.Messages = texts
			events, fault := plainly(t, newClient(t, Spec{API: tc.api}, url), request, nil)
			outcome := llm.OK
			if fault != nil {
				outcome = fault.Outcome
			}
			equal(t, "outcome", outcome, tc.outcome)
			var usage llm.Usage
			for _, ev := range events {
				if ev.Kind == llm.Output {
					t.Errorf("output %q", ev.Text)
				}
				wire.MergeUsage(&usage, ev.Usage)
			}
			equal(t, "usage", usage, tc.usage)
		})
	}
}

// TestTemplate: an API of nobody's making is asked and read as described.
func TestTemplate(t *testing.T) {
	bodies := make(chan string, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		bodies <- r.URL.Path + " " + r.Header.Get("X-Key") + " " + string(content)
		w.Header().Set("Content-Type", "application/jsonl")
		_, _ = io.WriteString(w, `{"out":{"t":"Hel"}}`+"\n"+`{"out":{"t":"lo"},"n":[3,2]}`+"\n")
	})
	c := newClient(t, Spec{API: "template", APIKey: "sk-12345", Template: &wire.Template{
		Body: `{"q":"<{{prompt}}>","max":{{max_tokens}}}`, Framing: "ndjson", Text: "out.t", KeyHeader: "X-Key",
		Usage: wire.TemplateUsage{PromptTokens: "n[0]", OutputTokens: "n[1]"},
	}}, url+"/v2/infer")
	events, fault := plainly(t, c, requestOf(true), nil)
	equal(t, "fault", fault, (*llm.Fault)(nil))
	equal(t, "asked", <-bodies, `/v2/infer sk-12345 {"q":"<Say hello.>","max":8}`)
	equal(t, "text", textOf(events), "Hello")
	equal(t, "end", events[len(events)-2:], []llm.Event{
		{Kind: llm.UsageSeen, Usage: llm.Usage{PromptTokens: 3, OutputTokens: 2}}, {Kind: llm.End}})
}

// TestQuirksAreLearnt: a server that refuses a field is asked once more
// without it, and from then on at once without it.
func TestQuirksAreLearnt(t *testing.T) {
	for _, tc := range []struct {
		refused, message, instead string
	}{
		{"stream_options", "Unrecognized request argument supplied: stream_options", ""},
		{"ignore_eos", "Unknown field: ignore_eos", ""},
		{"max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_completion_tokens"},
	} {
		t.Run(tc.refused, func(t *testing.T) {
			t.Parallel()
			var refusals atomic.Int64
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				var body map[string]any
				expect.OK(t, json.NewDecoder(r.Body).Decode(&body))
				if _, ok := body[tc.refused]; ok {
					refusals.Add(1)
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"error":{"message":%q}}`, tc.message)
					return
				}
				if _, ok := body[tc.instead]; !ok && tc.instead != "" {
					t.Errorf("body %v has no %s", body, tc.instead)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, greeting)
			})
			c := newClient(t, Spec{}, url)
			var sent []bool
			for range 2 {
				events, fault := plainly(t, c, requestOf(true), nil)
				equal(t, "fault", fault, (*llm.Fault)(nil))
				equal(t, "text", textOf(events), "Hello!")
				for _, ev := range events {
					if ev.Kind == llm.Sent {
						sent = append(sent, ev.Retried)
					}
				}
			}
			equal(t, "sent as a retry", sent, []bool{false, true, false})
			equal(t, "refusals", refusals.Load(), int64(1))
		})
	}
}

// TestQuirksAddUp: what two refusals teach at the same time is both known
// afterwards.
func TestQuirksAddUp(t *testing.T) {
	c := newClient(t, Spec{}, "http://127.0.0.1:1")
	c.learn(wire.Quirks{NoStreamOptions: true})
	c.learn(wire.Quirks{NoIgnoreEOS: true})
	c.learn(wire.Quirks{MaxCompletionTokens: true})
	equal(t, "quirks", *c.quirks.Load(), wire.Quirks{NoStreamOptions: true, MaxCompletionTokens: true, NoIgnoreEOS: true})
}

func TestOfficialServersAreAskedTheirWay(t *testing.T) {
	for _, tc := range []struct {
		url  string
		want wire.Quirks
	}{
		{"https://api.openai.com/v1", wire.Quirks{MaxCompletionTokens: true, NoIgnoreEOS: true}},
		{"https://mine.openai.azure.com/v1", wire.Quirks{MaxCompletionTokens: true, NoIgnoreEOS: true}},
		{"https://api.anthropic.com/v1/messages", wire.Quirks{NoIgnoreEOS: true, NoGreedy: true}},
		{"http://127.0.0.1:8000", wire.Quirks{}},
	} {
		got := *newClient(t, Spec{}, tc.url).quirks.Load()
		got.Extra = nil
		equal(t, tc.url, got, tc.want)
	}
}
