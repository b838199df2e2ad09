package record

import (
	"strings"
	"testing"

	"redline/internal/llm"
)

// told is an output event of a test.
type told struct {
	text     string
	thinking bool
}

// words gives n events of one word each.
func words(n int, thinking bool) []told { return bundles(n, 1, thinking) }

// bundles gives n events of so many words each.
func bundles(n, size int, thinking bool) (list []told) {
	for range n {
		list = append(list, told{strings.Repeat("word ", size), thinking})
	}
	return list
}

func countWords(text string) int { return len(strings.Fields(text)) }

// replyRecord makes the record of a reply with an event every 20 ms, counted by
// the tokenizer where count is not nil.
func replyRecord(u llm.Usage, count func(string) int, events ...told) *Record {
	return heardOf(u, count, true, events...)
}

// heardOf is answered where the text may be kept only as far as it is wanted.
func heardOf(u llm.Usage, count func(string) int, whole bool, events ...told) *Record {
	r := &Record{Sent: 10 * ms, Streamed: true}
	var text []byte
	for i, ev := range events {
		part := llm.Text
		if ev.thinking {
			part = llm.Reasoning
		}
		if whole || r.Wants(part) {
			text = append(text, ev.text...)
		}
		r.Observe(llm.Event{Kind: llm.Output, At: (60 + 20*int64(i)) * ms, Part: part, Text: []byte(ev.text)})
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: u})
	r.Observe(llm.Event{Kind: llm.End, At: 60000 * ms})
	if count != nil {
		r.CountText(text, count, count("a word is a token") == 5, true)
	}
	r.Settle()
	return r
}

func half(text string) int { return (countWords(text) + 1) / 2 }

// Only tokens that streamed enter the pace, and those of the first event do not.
func TestTokensOfThePace(t *testing.T) {
	join := func(parts ...[]told) (all []told) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	lump := told{strings.Repeat("word ", 10), false}
	for _, tt := range []struct {
		name            string
		usage           llm.Usage
		count           func(string) int
		events          []told
		output          int
		streamed, paced int
	}{
		{"half of the tokens in the first event", llm.Usage{OutputTokens: 20}, countWords, join([]told{lump}, words(10, false)), 20, 20, 10},
		{"the same by a tokenizer that counts half", llm.Usage{OutputTokens: 20}, half, join([]told{lump}, words(10, false)), 20, 20, 10},
		{"the same without a tokenizer", llm.Usage{OutputTokens: 20}, nil, join([]told{lump}, words(10, false)), 20, 20, 0},
		{"the same without usage", llm.Usage{}, countWords, join([]told{lump}, words(10, false)), 20, 20, 10},
		{"without usage or tokenizer", llm.Usage{}, nil, words(10, false), 10, 10, 0},
		{"ten tokens an event", llm.Usage{OutputTokens: 100}, countWords, bundles(10, 10, false), 100, 100, 90},
		{"hidden reasoning", llm.Usage{OutputTokens: 100, ReasoningTokens: 80}, nil, words(20, false), 100, 20, 19},
		{"hidden reasoning, two tokens an event", llm.Usage{OutputTokens: 100, ReasoningTokens: 80}, countWords, bundles(10, 2, false), 100, 20, 18},
		{"all reasoning streamed", llm.Usage{OutputTokens: 100, ReasoningTokens: 80}, nil, join(words(80, true), words(20, false)), 100, 100, 99},
		{"all of it, two tokens an event", llm.Usage{OutputTokens: 100, ReasoningTokens: 80}, countWords, join(bundles(40, 2, true), bundles(10, 2, false)), 100, 100, 98},
		{"a summary of eight tokens of 80", llm.Usage{OutputTokens: 100, ReasoningTokens: 80}, countWords, join(words(8, true), words(20, false)), 100, 28, 27},
		{"the same without a tokenizer", llm.Usage{OutputTokens: 100, ReasoningTokens: 80}, nil, join(words(8, true), words(20, false)), 100, 28, 27},
		{"a summary in two events", llm.Usage{OutputTokens: 100, ReasoningTokens: 80}, countWords, join(bundles(2, 4, true), words(20, false)), 100, 28, 24},
		{"reasoning apart, hidden", llm.Usage{OutputTokens: 20, ReasoningTokens: 80}, nil, words(20, false), 100, 20, 19},
		{"reasoning apart and less than output, hidden", llm.Usage{OutputTokens: 80, ReasoningTokens: 20}, nil, words(80, false), 100, 80, 79},
		{"reasoning apart, streamed", llm.Usage{OutputTokens: 50, ReasoningTokens: 50}, nil, join(words(50, true), words(50, false)), 100, 100, 99},
		{"the same, two tokens an event", llm.Usage{OutputTokens: 60, ReasoningTokens: 40}, countWords, join(bundles(20, 2, true), bundles(30, 2, false)), 100, 100, 98},
		{"reasoning apart, a summary", llm.Usage{OutputTokens: 20, ReasoningTokens: 80}, countWords, join(words(8, true), words(20, false)), 100, 28, 27},
		{"reasoning that took all of the limit", llm.Usage{OutputTokens: 80, ReasoningTokens: 80}, countWords, words(80, true), 80, 80, 79},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := replyRecord(tt.usage, tt.count, tt.events...)
			if r.OutputTokens != tt.output || r.StreamedTokens != tt.streamed || r.TokensAfterFirst() != tt.paced {
				t.Errorf("output %d, streamed %d, after the first event %d; want %d, %d, %d",
					r.OutputTokens, r.StreamedTokens, r.TokensAfterFirst(), tt.output, tt.streamed, tt.paced)
			}
			if estimated := r.FirstEstimate > 0; estimated && r.TokensKnown() {
				t.Error("the first event's tokens are both known and estimated")
			}
		})
	}
}

// Continuous usage that counts hidden reasoning is no account of the events.
func TestContinuousUsageWithHiddenReasoning(t *testing.T) {
	r := &Record{Sent: 10 * ms, Streamed: true}
	for i := range 20 {
		r.Observe(llm.Event{Kind: llm.Output, At: int64(20+i) * ms, Text: []byte("word ")})
		r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: 81 + i, ReasoningTokens: 80}})
	}
	r.Settle()
	if r.StreamedTokens != 20 || r.TokensAfterFirst() != 19 {
		t.Errorf("streamed %d, paced %d; want 20, 19", r.StreamedTokens, r.TokensAfterFirst())
	}
}

// A server that repeats the whole text in every event has sent 20 tokens, not
// 210.
func TestTextThatRepeatsIsCountedOnce(t *testing.T) {
	var events []told
	for i := range 20 {
		events = append(events, told{text: strings.Repeat("word ", i+1)})
	}
	r := replyRecord(llm.Usage{}, countWords, events...)
	if r.OutputTokens != 20 || r.TokensAfterFirst() != 19 || !r.Repeats || r.LocalByEvent != 20 {
		t.Errorf("output %d, paced %d, repeats %v, by event %d; want 20, 19, true, 20", r.OutputTokens, r.TokensAfterFirst(), r.Repeats, r.LocalByEvent)
	}
	if r := replyRecord(llm.Usage{}, countWords, words(20, false)...); r.Repeats {
		t.Error("a model that says one word again and again is taken for a server that repeats the text")
	}
}

// Of a long reply that nobody checks the beginning of each part is kept, and
// tells what the whole text would.
func TestTheBeginningTellsTheRest(t *testing.T) {
	var repeated []told
	for i := range 600 {
		repeated = append(repeated, told{text: strings.Repeat("word ", i+1)})
	}
	for name, tt := range map[string]struct {
		usage  llm.Usage
		count  func(string) int
		events []told
	}{
		"bundles":                    {llm.Usage{OutputTokens: 6000}, countWords, bundles(600, 10, false)},
		"a large first event":        {llm.Usage{OutputTokens: 1000}, countWords, append(bundles(1, 500, false), words(500, false)...)},
		"by another's tokenizer":     {llm.Usage{OutputTokens: 6000}, half, bundles(600, 10, false)},
		"part of the reasoning":      {llm.Usage{OutputTokens: 2600, ReasoningTokens: 2000}, countWords, append(words(800, true), words(600, false)...)},
		"reasoning beside the rest":  {llm.Usage{OutputTokens: 600, ReasoningTokens: 800}, countWords, append(words(800, true), words(600, false)...)},
		"the text again and again":   {llm.Usage{OutputTokens: 600}, countWords, repeated},
		"bundles and no usage":       {llm.Usage{}, countWords, bundles(600, 10, false)},
		"the text again, no usage":   {llm.Usage{}, countWords, repeated},
		"one word an event, no more": {llm.Usage{OutputTokens: 900}, countWords, words(900, false)},
	} {
		all, some := heardOf(tt.usage, tt.count, true, tt.events...), heardOf(tt.usage, tt.count, false, tt.events...)
		if some.OutputTokens != all.OutputTokens || some.StreamedTokens != all.StreamedTokens || some.TokensAfterFirst() != all.TokensAfterFirst() ||
			some.Apart != all.Apart || some.Repeats != all.Repeats || all.TokensAfterFirst() == 0 {
			t.Errorf("%s: output %d, streamed %d, paced %d, apart %v, repeats %v; by the whole text %d, %d, %d, %v, %v", name, some.OutputTokens,
				some.StreamedTokens, some.TokensAfterFirst(), some.Apart, some.Repeats, all.OutputTokens, all.StreamedTokens, all.TokensAfterFirst(), all.Apart, all.Repeats)
		}
		if some.LocalTokens > 0 && tt.usage.OutputTokens > 0 || some.LocalByEvent > 0 {
			t.Errorf("%s: %d tokens, %d by event: an estimate checks usage", name, some.LocalTokens, some.LocalByEvent)
		}
	}
}

// Where the model's own tokenizer finds another number than usage, and events
// hold several tokens, its count is what streamed.
func TestTheModelsOwnTokenizerStands(t *testing.T) {
	for usage, want := range map[int][2]int{100: {200, 100}, 400: {200, 400}, 195: {195, 0}, 200: {200, 0}} {
		r := replyRecord(llm.Usage{OutputTokens: usage}, countWords, bundles(20, 10, false)...)
		if r.StreamedTokens != want[0] || r.Claimed != want[1] {
			t.Errorf("usage %d: streamed %d, claimed %d; want %v", usage, r.StreamedTokens, r.Claimed, want)
		}
	}
	if r := replyRecord(llm.Usage{OutputTokens: 150}, half, bundles(20, 10, false)...); r.StreamedTokens != 150 || r.Claimed != 0 {
		t.Errorf("another's tokenizer: streamed %d, claimed %d; want 150 by usage", r.StreamedTokens, r.Claimed)
	}
}
