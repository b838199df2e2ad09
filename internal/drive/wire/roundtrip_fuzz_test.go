package wire

import (
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/llm"
)

// FuzzRoundTrip holds both halves of every dialect to any text.
func FuzzRoundTrip(f *testing.F) {
	f.Add(byte(0), "prompt", "text", "reasoning")
	f.Add(byte(1), awkward, awkward, awkward)
	f.Add(byte(2), "\xff", "\ud7ff", "")
	for i := range Dialects {
		f.Add(byte(i), awkward, "a\r\nb", "\u2028")
		f.Add(byte(i), "a", "\x96", "\xe2") // two halves of one character
	}
	f.Fuzz(func(t *testing.T, pick byte, prompt, text, reasoning string) {
		d := Dialects[int(pick)%len(Dialects)]
		valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
		asked := llm.Request{Model: "m", MaxTokens: 1, Messages: []llm.Message{{Role: "user", Content: prompt}}}
		got, _, err := d.ParseRequest(d.Encode(nil, &asked, Quirks{}))
		if err != nil || got.Messages[len(got.Messages)-1].Content != valid(prompt) {
			t.Errorf("prompt %q: got %+v, %v", prompt, got, err)
		}
		var want answer
		for _, p := range []piece{{llm.Reasoning, valid(reasoning)}, {llm.Text, valid(text)}} {
			if p.Text != "" {
				want.Pieces = append(want.Pieces, p)
			}
		}
		want.Usage, want.Finish, want.Done = someUsage, "stop", true
		stream := serve(d, newReply("stop"), []piece{{llm.Reasoning, reasoning}, {llm.Text, text}})
		expect.Same(t, asTold(d, want), readAnswer(t, d, stream))
	})
}
