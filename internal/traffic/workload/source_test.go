package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/token"
)

func open(t testing.TB, s Spec, o Options) *Workload {
	t.Helper()
	w := must.Get(s.New(token.O200k(), 7, o))(t)
	t.Cleanup(func() {
		expect.OK(t, w.Err())
		w.Close()
	})
	return w
}

const shareGPT = `[
 {"id": "a", "conversations": [{"from": "human", "value": "How many legs has a spider?"}, {"from": "gpt", "value": "Eight."},
  {"from": "human", "value": "And an ant?"}, {"from": "gpt", "value": "Six legs."}]},
 {"id": "b", "conversations": [{"from": "human", "value": "Say hello."}, {"from": "gpt", "value": "Hello there, friend!"}]}
]`

func user(text string) []llm.Message { return []llm.Message{{Role: "user", Content: text}} }

func TestShareGPTSendsFirstTurns(t *testing.T) {
	t.Parallel()
	path := must.File(t, "sharegpt.json", shareGPT)
	w := open(t, Spec{Traffic: Traffic{File: path, Order: "file"}}, Options{Model: "m"})
	for i, want := range []*llm.Request{
		{Model: "m", Messages: user("How many legs has a spider?"), MaxTokens: 2, PromptTokens: 7},
		{Model: "m", Messages: user("Say hello."), MaxTokens: 5, PromptTokens: 3},
	} {
		session := w.Session(i)
		expect.NoDiff(t, cmp.Diff(&llm.Turn{Request: want}, session.Next(nil)), "session %d: -want +got", i)
		if again := session.Next(&llm.Reply{Outcome: llm.OK}); again != nil {
			t.Errorf("session %d: a second turn %+v", i, again)
		}
	}
}

// TestShareGPTConversesWithRealReplies holds that the server's own reply, and
// not the recorded one, is sent back.
func TestShareGPTConversesWithRealReplies(t *testing.T) {
	t.Parallel()
	path := must.File(t, "sharegpt.json", shareGPT)
	w := open(t, Spec{Traffic: Traffic{File: path, Order: "file", Session: &Session{}}}, Options{})
	session := w.Session(0)
	if first := session.Next(nil); !first.KeepReply || len(first.Request.Messages) != 1 {
		t.Fatalf("first turn %+v", first)
	}
	second := session.Next(&llm.Reply{Outcome: llm.OK, Text: "Ten, I think."})
	want := []llm.Message{{Role: "user", Content: "How many legs has a spider?"}, {Role: "assistant", Content: "Ten, I think."},
		{Role: "user", Content: "And an ant?"}}
	if diff := cmp.Diff(want, second.Request.Messages); diff != "" || second.KeepReply || second.Request.Session != "s0" {
		t.Errorf("keep %v, session %q, -want +got\n%s", second.KeepReply, second.Request.Session, diff)
	}
	if got := countMessages(second.Request); got != second.Request.PromptTokens {
		t.Errorf("the request says %d prompt tokens, its text has %d", second.Request.PromptTokens, got)
	}
}

func TestLinesCarryTheirColumns(t *testing.T) {
	t.Parallel()
	path := must.File(t, "log.jsonl", `{"prompt": "One two three", "output_tokens": 9, "tenant": "acme", "class": "faq"}
{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Four?"}], "tenant": "other"}
{"prompt": "Hello", "session": "x"}
{"prompt": "Bye", "session": "x"}
`)
	w := open(t, Spec{Traffic: Traffic{File: path, Order: "file"},
		Tenants: []Tenant{{Name: "acme", Additions: llm.Additions{Key: "secret", Headers: map[string]string{"X-Team": "a", "X-App": "b"}, Model: "lora"}}}},
		Options{Model: "m"})
	want := []*llm.Request{
		{Model: "lora", Messages: user("One two three"), MaxTokens: 9, PromptTokens: 3, Tenant: "acme", Class: "faq", Key: "secret",
			Headers: [][2]string{{"X-App", "b"}, {"X-Team", "a"}}},
		{Model: "m", Messages: []llm.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Four?"}},
			MaxTokens: defaultOutput, PromptTokens: 5, Tenant: "other"},
	}
	for i := range want {
		expect.NoDiff(t, cmp.Diff(want[i], w.Session(i).Next(nil).Request), "session %d: -want +got", i)
	}
	requests := talk(t, w, 2)
	if len(requests) != 2 || requests[1].Session != "x" || len(requests[1].Messages) != 3 {
		t.Errorf("two rows of one session are %d requests, the last %+v", len(requests), requests[len(requests)-1])
	}
}

func TestGoldenPromptsAreVerbatim(t *testing.T) {
	t.Parallel()
	path := must.File(t, "golden.txt", "What is 2+2?\nName a prime.\n")
	w := open(t, Spec{Traffic: Traffic{File: path, Format: "golden"}}, Options{Salt: "run"})
	for i, text := range []string{"What is 2+2?", "Name a prime.", "What is 2+2?"} {
		got := w.Session(i).Next(nil).Request
		want := &llm.Request{Messages: user(text), MaxTokens: goldenOutput, Natural: true, PromptTokens: token.O200k().Count(text)}
		expect.NoDiff(t, cmp.Diff(want, got), "session %d: -want +got", i)
	}
}

func TestBatchAsksForItsTokens(t *testing.T) {
	t.Parallel()
	path := must.File(t, "batch.jsonl", `{"custom_id": "1", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": "Q"}], "max_tokens": 12}}`)
	w := open(t, Spec{Traffic: Traffic{File: path}}, Options{})
	want := &llm.Request{Messages: user("Q"), MaxTokens: 12, PromptTokens: 1}
	expect.Same(t, want, w.Session(0).Next(nil).Request)
}

// TestEveryRowComesOnceInAPass holds both orders over several passes.
func TestEveryRowComesOnceInAPass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "rows")
		o := order{seed: rapid.Uint64().Draw(t, "seed"), shuffled: rapid.Bool().Draw(t, "shuffled")}
		for wanted := range uint64(3) {
			seen := map[int]bool{}
			for k := range n {
				pass, row := o.at(n, int(wanted)*n+k)
				if pass != wanted || row < 0 || row >= n || seen[row] || !o.shuffled && row != k {
					t.Fatalf("session %d of pass %d has row %d of pass %d", k, wanted, row, pass)
				}
				seen[row] = true
			}
		}
	})
}

// TestBrokenPairsKeepPromptsAndOutputs holds that breaking pairs changes
// neither the prompts nor the set of outputs, only which goes with which.
func TestBrokenPairsKeepPromptsAndOutputs(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := 1; i <= 200; i++ {
		fmt.Fprintf(&lines, "{\"prompt\": \"%s\", \"output_tokens\": %d}\n", strings.Repeat(" word", i), i)
	}
	path := must.File(t, "pairs.jsonl", lines.String())
	apart := 0
	kept := open(t, Spec{Traffic: Traffic{File: path}}, Options{})
	broken := open(t, Spec{Traffic: Traffic{File: path, Pairs: "break"}}, Options{})
	for i := range 200 {
		prompt, output := kept.lengths(i)
		if prompt != output {
			t.Fatalf("session %d: %d and %d tokens were together in the file", i, prompt, output)
		}
		same, other := broken.lengths(i)
		if same != prompt || other < 1 || other > 200 {
			t.Fatalf("session %d: broken gives %d and %d, kept %d and %d", i, same, other, prompt, output)
		}
		if other != output {
			apart++
		}
	}
	if apart < 180 {
		t.Errorf("only %d of 200 pairs are broken", apart)
	}
}

func TestProseIsCutToExactLengths(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	r := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		text.Write(token.O200k().Compose(nil, r, 20))
		text.WriteString(" In 1987 the “naïve” coöperative paid €3,400.25 (net) to foo_bar@example.org; 漢字 too.\n\n")
	}
	path := must.File(t, "prose.txt", text.String())
	w := open(t, Spec{Traffic: Traffic{File: path, Prompt: &Dist{Min: 1, Max: 600}, Prefix: &Prefix{Groups: 3, Tokens: 50}}}, Options{})
	flat := strings.Join(strings.Fields(text.String()), " ")
	for i := range 60 {
		prompt, _ := w.lengths(i)
		request := w.Session(i).Next(nil).Request
		content := request.Messages[0].Content
		if got := countMessages(request); got != prompt || request.PromptTokens != prompt {
			t.Errorf("session %d: designed %d tokens, the request says %d, its text has %d", i, prompt, request.PromptTokens, got)
		}
		if prompt > 100 && !strings.Contains(flat+" "+flat, content[:80]) {
			t.Errorf("session %d does not begin with words of the file: %q", i, content[:80])
		}
	}
}

// TestSaltChangesTextAndNothingElse compares two runs of one seed, for made
// text and for text from a file.
func TestSaltChangesTextAndNothingElse(t *testing.T) {
	t.Parallel()
	path := must.File(t, "sharegpt.json", shareGPT)
	for name, traffic := range map[string]Traffic{
		"made":     {Preset: "chat"},
		"prefixes": {Preset: "shared_rag"},
		"agents":   {Preset: "agent_loop"},
		"a file":   {File: path},
		"turns":    {File: path, Session: &Session{}},
	} {
		a, b := open(t, Spec{Traffic: traffic}, Options{Salt: "run-1"}), open(t, Spec{Traffic: traffic}, Options{Salt: "run-2"})
		off := open(t, Spec{Traffic: traffic, Salt: "false"}, Options{Salt: "run-1"})
		pinned := open(t, Spec{Traffic: traffic, Salt: "mine"}, Options{Salt: "run-1"})
		again := open(t, Spec{Traffic: traffic, Salt: "mine"}, Options{Salt: "run-2"})
		for i := range 8 {
			first, second := a.Session(i).Next(nil).Request, b.Session(i).Next(nil).Request
			if firstBlock(first) == firstBlock(second) {
				t.Errorf("%s: session %d begins alike in two runs: %q", name, i, firstBlock(first))
			}
			if first.PromptTokens != second.PromptTokens || first.MaxTokens != second.MaxTokens ||
				countMessages(first) != countMessages(second) || countMessages(first) != first.PromptTokens {
				t.Errorf("%s: session %d has %d prompt tokens (%d said) in one run and %d (%d said) in another", name, i,
					countMessages(first), first.PromptTokens, countMessages(second), second.PromptTokens)
			}
			if x, y := off.Session(i).Next(nil).Request, first; traffic.File != "" && strings.HasSuffix(y.Messages[0].Content, "\n\n"+x.Messages[0].Content) == false {
				t.Errorf("%s: %q does not end with the file's own %q", name, y.Messages[0].Content, x.Messages[0].Content)
			}
			expect.NoDiff(t, cmp.Diff(pinned.Session(i).Next(nil), again.Session(i).Next(nil)), "%s: a salt of one's own gives two texts", name)
		}
	}
}

// TestLaterTurnsAreNotSalted holds that only a beginning is.
func TestLaterTurnsAreNotSalted(t *testing.T) {
	t.Parallel()
	path := must.File(t, "sharegpt.json", shareGPT)
	w := open(t, Spec{Traffic: Traffic{File: path, Order: "file", Session: &Session{}}}, Options{Salt: "run"})
	messages := talk(t, w, 0)[1].Messages
	if first, last := messages[0].Content, messages[2].Content; last != "And an ant?" || !strings.HasSuffix(first, "\n\nHow many legs has a spider?") {
		t.Errorf("the turns are %q and %q", first, last)
	}
}

// firstBlock is the text of a prompt's first sixteen tokens, or all of it.
func firstBlock(r *llm.Request) string {
	v := token.O200k()
	ids := v.Encode(nil, r.Messages[0].Content)
	return string(v.Decode(ids[:min(len(ids), 16)]))
}

// TestPassesThroughAFileDiffer holds that a prompt that comes again does not
// find itself in a cache.
func TestPassesThroughAFileDiffer(t *testing.T) {
	t.Parallel()
	path := must.File(t, "sharegpt.json", shareGPT)
	w := open(t, Spec{Traffic: Traffic{File: path, Order: "file"}}, Options{Salt: "run"})
	first, again := w.Session(0).Next(nil).Request, w.Session(2).Next(nil).Request
	if firstBlock(first) == firstBlock(again) || first.PromptTokens != again.PromptTokens {
		t.Errorf("%q of %d tokens and %q of %d", firstBlock(first), first.PromptTokens, firstBlock(again), again.PromptTokens)
	}
}
