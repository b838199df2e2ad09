package simserver

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/llm"
	"redline/internal/traffic/token"
)

// TestScriptCounts checks for any length and make-up that the text is as long
// as it claims, by its parts and by its token ids, in chunks of any size.
func TestScriptCounts(t *testing.T) {
	t.Parallel()
	v := token.O200k()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "tokens")
		reasoning := rapid.IntRange(0, 70).Draw(t, "reasoning")
		tool := rapid.Bool().Draw(t, "tool")
		perChunk := rapid.IntRange(1, 9).Draw(t, "perChunk")
		s := newScript(v, rand.New(rand.NewPCG(1, uint64(n))), n, reasoning, tool)
		s.perChunk = perChunk

		text, thought, call := s.split()
		if got := v.Count(text) + v.Count(thought) + v.Count(call); got != n || len(s.ids) != n {
			t.Fatalf("%d tokens of text and %d ids, want %d: %q %q %q", got, len(s.ids), n, text, thought, call)
		}
		if got := v.Count(thought); got != min(n, reasoning) {
			t.Fatalf("%d tokens of reasoning, want %d", got, min(n, reasoning))
		}
		if got := v.Decode(s.ids); got != thought+text+call {
			t.Fatalf("the ids say %q, the text %q", got, thought+text+call)
		}
		if args, ok := strings.CutPrefix(call, toolName); call != "" && (!ok || args != "" && !json.Valid([]byte(args))) {
			t.Fatalf("a tool call reads %q", call)
		}
		checkChunks(t, v, s, map[llm.PartKind]string{llm.Text: text, llm.Reasoning: thought, llm.ToolCall: call})
	})
}

// checkChunks speaks the script and compares what was said.
func checkChunks(t *rapid.T, v *token.Vocabulary, s script, want map[llm.PartKind]string) {
	said := map[llm.PartKind]string{llm.Text: "", llm.Reasoning: "", llm.ToolCall: ""}
	for !s.isDone() {
		size := s.chunk()
		part, text := s.next()
		if v.Count(text) != size || size < 1 || size > s.perChunk {
			t.Fatalf("a chunk of %d tokens reads %q", size, text)
		}
		if part == llm.ToolCall && said[llm.ToolCall] == "" && text != toolName {
			t.Fatalf("a tool call begins with %q", text)
		}
		said[part] += text
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Fatalf("said (-want +got):\n%s", diff)
	}
}

func TestAnswerDependsOnPrompt(t *testing.T) {
	t.Parallel()
	a, b := []int32{1, 2, 3}, []int32{1, 3, 2}
	if promptSeed(a) == promptSeed(b) {
		t.Error("two orders of the same tokens have one seed")
	}
	if promptSeed(a) != promptSeed([]int32{1, 2, 3}) {
		t.Error("one prompt has two seeds")
	}
}
