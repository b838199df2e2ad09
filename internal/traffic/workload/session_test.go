package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/dist"
	"redline/internal/traffic/token"
)

func pause(t *testing.T, text string) dist.Delay {
	t.Helper()
	d := must.Get(dist.ParseDelay(text))(t)
	return d
}

// turns holds a conversation with replies of one text and gives its turns.
func turns(w *Workload, i int, reply string) []*llm.Turn {
	session := w.Session(i)
	var out []*llm.Turn
	var prev *llm.Reply
	for turn := session.Next(prev); turn != nil; turn = session.Next(prev) {
		out = append(out, turn)
		prev = &llm.Reply{Outcome: llm.OK, Text: reply}
	}
	return out
}

func TestConversationsGrowByTheReply(t *testing.T) {
	t.Parallel()
	w := open(t, Spec{Traffic: Traffic{Prompt: fixedAt(20), Output: fixedAt(7), Session: &Session{
		Turns: fixedAt(3), Prompt: fixedAt(4), Think: pause(t, "8s"), Header: "X-Session-Id"}}}, Options{Salt: "run"})
	got := turns(w, 5, "One two three")
	if len(got) != 3 {
		t.Fatalf("%d turns, want 3", len(got))
	}
	for k, want := range []struct {
		messages, prompt int
		think            time.Duration
		keep             bool
	}{{1, 20, 0, true}, {3, 20 + 3 + 4, 8 * time.Second, true}, {5, 27 + 3 + 4, 8 * time.Second, false}} {
		turn := got[k]
		r := turn.Request
		if len(r.Messages) != want.messages || r.PromptTokens != want.prompt || turn.Think != want.think ||
			turn.KeepReply != want.keep || r.MaxTokens != 7 {
			t.Errorf("turn %d: %d messages of %d tokens after %v, %d asked, kept %v; want %+v",
				k, len(r.Messages), r.PromptTokens, turn.Think, r.MaxTokens, turn.KeepReply, want)
		}
		if r.Session != "run-s5" || !cmp.Equal(r.Headers, [][2]string{{"X-Session-Id", "run-s5"}}) {
			t.Errorf("turn %d: session %q with the headers %v", k, r.Session, r.Headers)
		}
		if k > 0 && !cmp.Equal(got[k-1].Request.Messages, r.Messages[:len(got[k-1].Request.Messages)]) {
			t.Errorf("turn %d does not begin with the turn before", k)
		}
	}
	if reply := got[1].Request.Messages[1]; !cmp.Equal(reply, llm.Message{Role: "assistant", Content: "One two three"}) {
		t.Errorf("the reply is sent back as %+v", reply)
	}
}

func TestAgentsCallToolsBeforeTheyAnswer(t *testing.T) {
	t.Parallel()
	w := open(t, Spec{Traffic: Traffic{Prompt: fixedAt(50), Output: fixedAt(99), Session: &Session{
		Turns: fixedAt(2), Prompt: fixedAt(10), Think: pause(t, "20s"),
		Agent: &Agent{Calls: *fixedAt(2), Latency: pause(t, "3s"), Result: *fixedAt(30), Output: fixedAt(6)}}}}, Options{})
	type request struct {
		prompt, output int
		think          time.Duration
		role           string
	}
	var got []request
	for _, turn := range turns(w, 0, "word") {
		r := turn.Request
		got = append(got, request{r.PromptTokens, r.MaxTokens, turn.Think, r.Messages[len(r.Messages)-1].Role})
	}
	want := []request{
		{50, 6, 0, "user"}, {81, 6, 3 * time.Second, "user"}, {112, 99, 3 * time.Second, "user"},
		{123, 6, 20 * time.Second, "user"}, {154, 6, 3 * time.Second, "user"}, {185, 99, 3 * time.Second, "user"},
	}
	expect.Same(t, want, got, cmp.AllowUnexported(request{}))
}

func TestConversationsEndEarly(t *testing.T) {
	t.Parallel()
	chat := Traffic{Prompt: fixedAt(20), Output: fixedAt(10), Session: &Session{Turns: fixedAt(9)}}
	capped := chat
	capped.Session = &Session{Turns: fixedAt(9), MaxContext: 75}
	for name, row := range map[string]struct {
		traffic Traffic
		options Options
		reply   llm.Reply
		want    int
	}{
		"all is well":        {chat, Options{}, llm.Reply{Outcome: llm.OK, Text: "a b"}, 9},
		"a failure":          {chat, Options{}, llm.Reply{Outcome: llm.Timeout}, 1},
		"a rejection":        {chat, Options{}, llm.Reply{Outcome: llm.Rejected}, 1},
		"nothing said":       {chat, Options{}, llm.Reply{Outcome: llm.OK}, 1},
		"a context cap":      {capped, Options{}, llm.Reply{Outcome: llm.OK, Text: "a b"}, 3}, // prompts of 20, 42 and 64 fit, one of 86 does not
		"the model's":        {chat, Options{MaxContext: 60}, llm.Reply{Outcome: llm.OK, Text: "a b"}, 2},
		"the cap goes first": {capped, Options{MaxContext: 1000}, llm.Reply{Outcome: llm.OK, Text: "a b"}, 3},
	} {
		w := open(t, Spec{Traffic: row.traffic}, row.options)
		session := w.Session(0)
		got := 0
		for turn := session.Next(nil); turn != nil; turn = session.Next(&row.reply) {
			if got++; got > 20 {
				break
			}
		}
		if got != row.want {
			t.Errorf("%s: %d turns, want %d", name, got, row.want)
		}
		if again := session.Next(&llm.Reply{Outcome: llm.OK, Text: "more"}); again != nil {
			t.Errorf("%s: goes on after its end", name)
		}
	}
}

func TestTurnsFollowTheirDistribution(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "multi_turn_chat", 3)
	counts := map[int]int{}
	for i := range 700 {
		s := must.Get(w.classes[0].source.script(i))(t)
		counts[len(s.steps)]++
	}
	for turns := 2; turns <= 8; turns++ {
		if counts[turns] < 60 || counts[turns] > 145 {
			t.Errorf("%d of 700 sessions have %d turns, want about 100", counts[turns], turns)
		}
	}
	if len(counts) != 7 {
		t.Errorf("turns %v, want 2 to 8", counts)
	}
}

func TestSessionRefuses(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Session{
		"session.turns: no length given":                                 {Turns: &Dist{}},
		"session.prompt: fixed: must be 1 to 10000000":                   {Prompt: fixedAt(-1)},
		"session.agent.calls: no length given":                           {Agent: &Agent{Result: *fixedAt(1)}},
		"session.agent.result: no length given":                          {Agent: &Agent{Calls: *fixedAt(1)}},
		"session.agent.latency: expected a pause such as 8s":             {Agent: &Agent{Calls: *fixedAt(1), Result: *fixedAt(1), Latency: dist.Delay{Form: "x"}}},
		"session.think: expected a pause such as 8s":                     {Think: dist.Delay{Form: "uniform", Min: 5}},
		"session.max_context: must be at least 0 tokens, got -1":         {MaxContext: -1},
		"session.header: expected the name of an HTTP header such as X-": {Header: "X Session"},
	} {
		err := Spec{Traffic: Traffic{Session: &s}}.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", s, err, want)
		}
	}
}

// TestCallsGoBackAsCalls: a reply that calls tools stands in the history with its
// calls, and what follows is the result that APIs want for each.
func TestCallsGoBackAsCalls(t *testing.T) {
	t.Parallel()
	w := open(t, Spec{Traffic: Traffic{Prompt: fixedAt(4), Output: fixedAt(5), Session: &Session{Turns: fixedAt(2)}}}, Options{})
	session := w.Session(0)
	first := session.Next(nil).Request
	calls := []llm.Part{{Kind: llm.ToolCall, Call: "a", Name: "find", Text: "{}"}, {Kind: llm.ToolCall, Call: "b", Name: "now"}}
	turn := session.Next(&llm.Reply{Outcome: llm.OK, Calls: calls})
	if turn == nil || len(turn.Request.Messages) != 3 {
		t.Fatalf("after a reply of calls alone: %+v", turn)
	}
	got := turn.Request.Messages
	text := got[2].Parts[0].Text
	want := []llm.Message{first.Messages[0], {Role: "assistant", Parts: calls}, {Role: "tool", Parts: []llm.Part{
		{Kind: llm.ToolResult, Call: "a", Name: "find", Text: text}, {Kind: llm.ToolResult, Call: "b", Name: "now"}}}}
	if diff := cmp.Diff(want, got); diff != "" || token.O200k().Count(text) != 4 {
		t.Errorf("%q: -want +got\n%s", text, diff)
	}
	said := 0
	for i := range got {
		said += count(token.O200k(), &got[i])
	}
	if turn.Request.PromptTokens != said {
		t.Errorf("the prompt is said to have %d tokens, it has %d", turn.Request.PromptTokens, said)
	}
}
