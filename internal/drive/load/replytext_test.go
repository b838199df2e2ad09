package load

import (
	"bytes"
	"strings"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
)

// A server that repeats the whole text in every event sends more than is kept of a
// long reply: its last event is enough to count every token, and its first ones say
// nothing of how long the later words are.
func TestALongTextThatRepeatsIsCountedWhole(t *testing.T) {
	t.Parallel()
	const tokens = 600
	k, rec := newReplyText(&llm.Turn{Request: &llm.Request{}}, true, true), &record.Record{Streamed: true, Due: 1, Sent: 1}
	var text []byte
	sent := 0
	for i := range tokens {
		text = append(text, "a"+strings.Repeat("b", min(i/50, 6))+" "...)
		ev := llm.Event{Kind: llm.Output, At: int64(i+2) * 1e6, Text: text}
		k.add(rec, ev)
		rec.Observe(ev)
		sent += len(text)
	}
	if sent <= maxText {
		t.Fatalf("%d bytes were sent, want more than %d", sent, maxText)
	}
	rec.CountText(bytes.Clone(k.text(rec)), func(s string) int { return len(strings.Fields(s)) }, true, false)
	rec.Settle()
	if rec.OutputTokens != tokens || rec.TokensAfterFirst() != tokens-1 || !rec.Repeats {
		t.Errorf("%d tokens, %d after the first, repeats: %v; want %d, %d, true", rec.OutputTokens, rec.TokensAfterFirst(), rec.Repeats, tokens, tokens-1)
	}
}

// TestCallsAreKeptApart: the next turn gets what was said and what was called, each
// by itself, while all of it is counted.
func TestCallsAreKeptApart(t *testing.T) {
	t.Parallel()
	k := newReplyText(&llm.Turn{Request: &llm.Request{}, KeepReply: true}, true, false)
	for _, ev := range []llm.Event{{Text: []byte("so ")}, {Part: llm.ToolCall, Text: []byte("find")}, {Part: llm.ToolCall, Text: []byte("{}")}, {Text: []byte("then")}} {
		k.add(&record.Record{}, ev)
	}
	if got := k.reply(llm.OK); got.Text != "so find{}then" || got.Calls != nil {
		t.Errorf("where the target joins no calls: %+v", got)
	}
	k.calls = []llm.Part{{Kind: llm.ToolCall, Name: "find", Text: "{}"}}
	expect.Same(t, llm.Reply{Outcome: llm.OK, Text: "so then", Calls: k.calls}, k.reply(llm.OK))
	if got := string(k.text(&record.Record{})); got != "so find{}then" {
		t.Errorf("counted is %q", got)
	}
}
