package tune

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatAKnobShouldDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		knob                    Knob
		command, from, to       string
		should, risks, unlikely string
	}{
		{Knob{Name: "n"}, "serve --max-num-seqs {n}", "64", "128", "more output tokens/s", "tpot, ttft p99", "wait for a place: ttft"},
		{Knob{Name: "n"}, "serve --max-num-seqs={n}", "64", "9", "each gets its tokens sooner", "wait for a place", "preempt"},
		{Knob{Name: "max_num_batched_tokens"}, "serve {max_num_batched_tokens}", "2048", "8192", "ttft of long prompts falls", "stall", ""},
		{Knob{Name: "u"}, "vllm serve --gpu-memory-utilization {u}", "0.9", "0.95", "KV cache", "out of memory", ""},
		{Knob{Name: "cache"}, "vllm serve M {cache}", "", "--enable-prefix-caching", "computed once", "share nothing", ""},
		{Knob{Name: "cache"}, "vllm serve M {cache}", "--enable-prefix-caching", "", "no blocks are held", "ttft rises", ""},
		{Knob{Name: "dtype"}, "vllm serve M --kv-cache-dtype {dtype}", "auto", "fp8", "fewer bytes", "--golden", ""},
		{Knob{Name: "dtype"}, "vllm serve M --dtype {dtype}", "float32", "bfloat16", "fewer bytes", "--golden", ""},
		{Knob{Name: "dtype"}, "vllm serve M --dtype {dtype}", "bfloat16", "float32", "as the model was trained", "more bytes", ""},
		{Knob{Name: "n", Hypothesis: "mine", Risk: "my own"}, "serve --max-num-seqs {n}", "64", "128", "mine", "my own", "tokens/s"},
		{Knob{Name: "mood"}, "serve --mood {mood}", "1", "2", "", "", "s"},
	} {
		hypothesis, risk := c.knob.Expect(c.command, c.from, c.to)
		if !strings.Contains(hypothesis, c.should) || !strings.Contains(risk, c.risks) || c.unlikely != "" && strings.Contains(hypothesis+risk, c.unlikely) {
			t.Errorf("%s, %s in place of %s: %q, risk %q; want %q and %q", c.command, c.to, c.from, hypothesis, risk, c.should, c.risks)
		}
	}
}

// Every flag is known once, as it is looked for, and nothing is left unsaid of it.
func TestEffectsAreWhole(t *testing.T) {
	t.Parallel()
	var seen []string
	for _, e := range effects {
		if e.more == "" || e.moreRisk == "" || e.fewer == "" || e.fewerRisk == "" {
			t.Errorf("%v: something is not said", e.flags)
		}
		for _, flag := range e.flags {
			if slices.Contains(seen, flag) || flagName("--"+flag) != flag {
				t.Errorf("%s stands twice, or cannot be found", flag)
			}
			seen = append(seen, flag)
		}
	}
}
