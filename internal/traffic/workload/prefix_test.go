package workload

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/must"
	"redline/internal/stats"
	"redline/internal/traffic/dist"
	"redline/internal/traffic/token"
)

// ids gives the tokens of a session's first prompt.
func ids(w *Workload, i int) []int32 {
	return token.O200k().Encode(nil, w.Session(i).Next(nil).Request.Messages[0].Content)
}

// alike counts the tokens with which two prompts begin in common.
func alike(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func TestPromptsOfAGroupBeginAlike(t *testing.T) {
	t.Parallel()
	prefix := &Prefix{Groups: 4, Tokens: 100, Popularity: dist.Popularity{Zipf: 1}}
	w := open(t, Spec{Traffic: Traffic{Prompt: fixedAt(30), Output: fixedAt(5), Prefix: prefix}}, Options{})
	const n = 400
	groups := map[string]int{}
	byGroup := map[string][]int32{}
	for i := range n {
		prompt := ids(w, i)
		if len(prompt) != 130 {
			t.Fatalf("session %d has %d tokens, want 130", i, len(prompt))
		}
		key := string(token.O200k().Decode(prompt[:100]))
		groups[key]++
		if other, ok := byGroup[key]; ok && alike(prompt, other) > 103 {
			t.Errorf("session %d shares %d tokens with another of its group, want about 100", i, alike(prompt, other))
		}
		byGroup[key] = prompt
	}
	if len(groups) != 4 {
		t.Fatalf("%d groups, want 4", len(groups))
	}
	most := 0
	for _, count := range groups {
		most = max(most, count)
	}
	want := 1 / (1 + 1.0/2 + 1.0/3 + 1.0/4)
	if got := float64(most) / n; math.Abs(got-want) > 0.1 {
		t.Errorf("the most popular group has the share %v, want %v", got, want)
	}
}

// TestColdAndWarmDifferInTheirPrefixAlone compares the two rows of a pair.
func TestColdAndWarmDifferInTheirPrefixAlone(t *testing.T) {
	t.Parallel()
	traffic := Traffic{Preset: "chat", Prefix: &Prefix{Groups: 3, Tokens: 64}}
	warm := open(t, Spec{Traffic: traffic}, Options{})
	traffic.Cache = "cold"
	cold := open(t, Spec{Traffic: traffic}, Options{})
	seen := map[string]bool{}
	for i := range 50 {
		a, b := ids(warm, i), ids(cold, i)
		if len(a) != len(b) || !cmp.Equal(a[64:], b[64:]) {
			t.Errorf("session %d: the rows differ behind their prefix", i)
		}
		seen[string(token.O200k().Decode(b[:16]))] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d different beginnings of 50 cold prompts", len(seen))
	}
	for name, want := range map[*Workload]bool{warm: true, cold: false} {
		if got, err := name.DesignedSharing(500); err != nil || (got > 0) != want {
			t.Errorf("%s: sharing %v, %v", name.Name(), got, err)
		}
	}
}

// TestDesignedSharing compares with shares worked out by hand.
func TestDesignedSharing(t *testing.T) {
	t.Parallel()
	lines := `{"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "One two"}]}
{"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Three four"}]}
`
	for name, row := range map[string]struct {
		traffic  Traffic
		sessions int
		want     float64
	}{
		// All but the first of 50 find 90 of their 100 tokens.
		"one group": {Traffic{Prompt: fixedAt(10), Prefix: &Prefix{Groups: 1, Tokens: 90}}, 50, 0.9 * 49 / 50},
		"alone":     {Traffic{Prompt: fixedAt(10)}, 50, 0},
		// One continuation: from the second on everything is found.
		"one suffix": {Traffic{Prompt: fixedAt(10), Prefix: &Prefix{Groups: 1, Tokens: 90, Suffixes: 1}}, 50, 49.0 / 50},
		// Prompts of 10, then 10+5+10: the second finds the first and its reply.
		"two turns": {Traffic{Prompt: fixedAt(10), Output: fixedAt(5), Session: &Session{Turns: fixedAt(2)}}, 20, 15.0 / 35},
		"messages":  {Traffic{File: must.File(t, "m.jsonl", lines), Order: "file"}, 2, 2.0 / 8},
	} {
		w := open(t, Spec{Traffic: row.traffic}, Options{})
		if got, err := w.DesignedSharing(row.sessions); err != nil || math.Abs(got-row.want) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", name, got, err, row.want)
		}
	}
}

// TestSuffixesAreWholePrompts holds that a group with k continuations sends at
// most k different prompts, each of one length.
func TestSuffixesAreWholePrompts(t *testing.T) {
	t.Parallel()
	w := open(t, Spec{Traffic: Traffic{Preset: "chat", Prefix: &Prefix{Groups: 2, Tokens: 20, Suffixes: 3, Suffix: &Dist{Min: 5, Max: 50}}}}, Options{})
	seen := map[string]bool{}
	for i := range 200 {
		request := w.Session(i).Next(nil).Request
		if request.PromptTokens < 25 || request.PromptTokens > 70 || countMessages(request) != request.PromptTokens {
			t.Fatalf("session %d: %d prompt tokens said, %d in its text", i, request.PromptTokens, countMessages(request))
		}
		seen[request.Messages[0].Content] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d different prompts, want 2 groups of 3", len(seen))
	}
}

// TestDesignedSharingIsWhatTheTextShares measures on the text itself what an
// ideal cache would find, token by token.
func TestDesignedSharingIsWhatTheTextShares(t *testing.T) {
	t.Parallel()
	r := stats.Rand(1, "shared prefixes", 0)
	for range 20 {
		prefix := &Prefix{Groups: 1 + r.IntN(5), Tokens: 20 + r.IntN(61)}
		own, cache := 20+r.IntN(41), []string{"", "warm", "cold"}[r.IntN(3)]
		w := must.Get(Spec{Traffic: Traffic{Prompt: fixedAt(own), Prefix: prefix, Cache: cache}}.New(token.O200k(), r.Uint64(), Options{Salt: "salt"}))(t)
		const n = 12
		var prompts [][]int32
		hits, all := 0, 0
		for i := range n {
			prompt := ids(w, i)
			best := 0
			for _, other := range prompts {
				best = max(best, alike(prompt, other))
			}
			hits += best
			all += len(prompt)
			prompts = append(prompts, prompt)
		}
		got, err := w.DesignedSharing(n)
		// Two texts may begin with the same word or two by chance.
		if found := float64(hits) / float64(all); err != nil || math.Abs(got-found) > 0.05 {
			t.Errorf("%d groups of %d tokens, %d of one's own, cache %q: designed %v, %v; the text shares %v", prefix.Groups, prefix.Tokens, own, cache, got, err, found)
		}
	}
}

func TestPrefixRefuses(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Prefix{
		"prefix.groups: must be 1 to 10000000, got 0":              {Tokens: 5},
		"prefix.tokens: must be 1 to 10000000, got 0":              {Groups: 5},
		"prefix.suffixes: must be at least 0, got -1":              {Groups: 1, Tokens: 5, Suffixes: -1},
		"prefix.suffix: no length given":                           {Groups: 1, Tokens: 5, Suffix: &Dist{}},
		"prefix.popularity: zipf: expected an exponent of 0 to 20": {Groups: 1, Tokens: 5, Popularity: dist.Popularity{Zipf: -1}},
	} {
		err := Spec{Traffic: Traffic{Preset: "chat", Prefix: &p}}.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", p, err, want)
		}
	}
}
