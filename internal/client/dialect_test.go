package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"redline/internal/llm"
	"redline/internal/wire"
)

type piece struct {
	part llm.Part
	text string
}

// answer is what the server says in every dialect.
var answer = []piece{
	{llm.Reasoning, "Hm."}, {llm.Reasoning, " So:"},
	{llm.Text, "Hello"}, {llm.Text, " \"world\"\n"},
	{llm.Tool, "lookup"}, {llm.Tool, `{"city":"Rome"}`},
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
		if !asked.Stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(d.Whole(nil, reply, "Hello \"world\"\n", "Hm. So:", `lookup{"city":"Rome"}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		flush := func(b []byte) {
			_, _ = w.Write(b)
			_ = http.NewResponseController(w).Flush()
		}
		flush(d.Open(nil, reply))
		for _, p := range answer {
			flush(d.Output(nil, reply, p.part, p.text))
			<-seen
		}
		flush(d.Close(nil, reply))
	}
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
				if d.TextOnly {
					p.part = llm.Text
				}
				want = append(want, llm.Event{Kind: llm.Output, Part: p.part, Text: []byte(p.text)})
			}
			want = append(want, llm.Event{Kind: llm.UsageSeen, Usage: counted}, llm.Event{Kind: llm.End})
			got, fault := plainly(t, c, asking(true), func(ev llm.Event) {
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
			got, fault := plainly(t, c, asking(false), nil)
			equal(t, "fault", fault, (*llm.Fault)(nil))
			equal(t, "events", got, []llm.Event{
				{Kind: llm.Dialed}, {Kind: llm.Ready}, {Kind: llm.Sent}, {Kind: llm.Written}, {Kind: llm.Head, Status: 200},
				{Kind: llm.Output, Text: []byte("Hm. So:Hello \"world\"\nlookup{\"city\":\"Rome\"}")},
				{Kind: llm.UsageSeen, Usage: counted}, {Kind: llm.End}})
		})
	}
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
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
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
				events, fault := plainly(t, c, asking(true), nil)
				equal(t, "fault", fault, (*llm.Fault)(nil))
				equal(t, "text", said(events), "Hello!")
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
		{"https://api.anthropic.com/v1/messages", wire.Quirks{NoIgnoreEOS: true}},
		{"http://127.0.0.1:8000", wire.Quirks{}},
	} {
		got := *newClient(t, Spec{}, tc.url).quirks.Load()
		got.Extra = nil
		equal(t, tc.url, got, tc.want)
	}
}
