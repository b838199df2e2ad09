package workload

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/dist"
	"redline/internal/traffic/token"
)

// anyTraffic draws traffic of every structure, short enough to be written out.
func anyTraffic(t *rapid.T) Traffic {
	length := func(name string) *Dist {
		lo := rapid.IntRange(1, 60).Draw(t, name)
		return &Dist{Min: lo, Max: lo + rapid.IntRange(0, 60).Draw(t, name+" more")}
	}
	traffic := Traffic{Prompt: length("prompt"), Output: length("output")}
	if rapid.Bool().Draw(t, "prefix") {
		traffic.Prefix = &Prefix{Groups: rapid.IntRange(1, 9).Draw(t, "groups"), Tokens: rapid.IntRange(1, 80).Draw(t, "tokens"),
			Suffixes: rapid.IntRange(0, 2).Draw(t, "suffixes"), Popularity: dist.Popularity{Zipf: rapid.Float64Range(0, 2).Draw(t, "zipf")}}
		traffic.Cache = rapid.SampledFrom([]string{"", "warm", "cold"}).Draw(t, "cache")
	}
	if rapid.Bool().Draw(t, "session") {
		traffic.Session = &Session{Turns: &Dist{Min: 1, Max: 4}, MaxContext: rapid.SampledFrom([]int{0, 200}).Draw(t, "cap"),
			Think: dist.Delay{Form: "exponential", Center: 1e9}}
		if rapid.Bool().Draw(t, "agent") {
			traffic.Session.Agent = &Agent{Calls: Dist{Min: 1, Max: 3}, Result: *length("result")}
		}
	}
	return traffic
}

// TestWhatIsPlannedIsWhatIsSent walks sessions in both ways: as a summary does,
// without text, and as a run does, with replies of the length asked for.
func TestWhatIsPlannedIsWhatIsSent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{Traffic: anyTraffic(t)}
		if rapid.Bool().Draw(t, "mix") {
			spec = Spec{Classes: []Class{{Name: "a", Workload: Part(spec.Traffic)}, {Name: "b", Weight: 2, Workload: Part(anyTraffic(t))}},
				Tenants: []Tenant{{Name: "t", Count: 3}}}
		}
		w := must.Get(spec.New(token.O200k(), rapid.Uint64().Draw(t, "seed"), Options{Salt: rapid.StringMatching(`[a-z]{0,4}`).Draw(t, "salt")}))(t)
		const n = 4
		var planned, sent []string
		for p, err := range w.plan(n) {
			must.Do(t, err)
			planned = append(planned, fmt.Sprint(p.session, p.turn, p.class.name, p.tenant, p.prompt, p.output))
		}
		for i := range n {
			for turn, r := range holdConversation(w, i) {
				sent = append(sent, fmt.Sprint(i, turn, r.Class, r.Tenant, r.PromptTokens, r.MaxTokens))
				if got := countMessages(r); got != r.PromptTokens {
					t.Fatalf("session %d, turn %d: %d prompt tokens said, %d in the text", i, turn, r.PromptTokens, got)
				}
			}
		}
		if diff := cmp.Diff(planned, sent); diff != "" {
			t.Fatalf("-planned +sent\n%s", diff)
		}
	})
}

// TestSessionsAreTheSameInAnyOrder makes sessions forwards in one workload and
// backwards in another.
func TestSessionsAreTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{Traffic: anyTraffic(t)}
		seed := rapid.Uint64().Draw(t, "seed")
		forwards := must.Get(spec.New(token.O200k(), seed, Options{Salt: "s"}))(t)
		backwards := must.Get(spec.New(token.O200k(), seed, Options{Salt: "s"}))(t)
		const n = 4
		got := make([][]*llm.Request, n)
		for i := n - 1; i >= 0; i-- {
			got[i] = holdConversation(backwards, i)
		}
		for i := range n {
			if diff := cmp.Diff(holdConversation(forwards, i), got[i]); diff != "" {
				t.Fatalf("session %d depends on those before it: %s", i, diff)
			}
		}
	})
}

// holdConversation holds a conversation in which every reply is as long as asked.
func holdConversation(w *Workload, i int) []*llm.Request {
	session := w.Session(i)
	var out []*llm.Request
	var prev *llm.Reply
	for turn := session.Next(prev); turn != nil; turn = session.Next(prev) {
		turn.Compose()
		out = append(out, turn.Request)
		prev = &llm.Reply{Outcome: llm.OK, Turn: turn.Number, Text: w.write(&class{}, []segment{{"a reply", uint64(i), turn.Request.MaxTokens}})}
	}
	return out
}
