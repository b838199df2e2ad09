package tune

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// effect is what is known of a setting before anything is measured: what a higher
// value, or the switch turned on, should do and what it risks, and a lower one.
type effect struct {
	// flags are what engines call it, without dashes before and with dashes within.
	flags            []string
	more, moreRisk   string
	fewer, fewerRisk string
}

var effects = []effect{
	{[]string{"max-num-seqs", "max-running-requests", "max-batch-size", "max-concurrent-requests", "parallel", "np"},
		"more requests share a step: more output tokens/s, and fewer wait for a place",
		"each gets its tokens later (tpot, ttft p99), and the KV cache may fill up and preempt",
		"fewer requests share a step: each gets its tokens sooner",
		"requests wait for a place: ttft rises and output tokens/s fall"},
	{[]string{"max-num-batched-tokens", "chunked-prefill-size", "max-prefill-tokens", "max-batch-prefill-tokens", "max-num-tokens", "batch-size", "ubatch-size"},
		"more prompt tokens fit into a step: ttft of long prompts falls",
		"longer steps hold up running requests (itl, stall), and activations take memory from the KV cache",
		"shorter steps: running requests get their tokens more evenly",
		"prompts take more steps: ttft rises"},
	{[]string{"gpu-memory-utilization", "mem-fraction-static", "cuda-memory-fraction", "kv-cache-free-gpu-memory-fraction"},
		"more room for the KV cache: more requests at once",
		"less memory in reserve: fragmentation or another process may end it with out of memory",
		"more memory in reserve",
		"the KV cache fills up sooner: requests wait or are preempted"},
	{[]string{"enable-prefix-caching"},
		"equal beginnings of prompts are computed once: ttft falls where they repeat",
		"nothing is won where prompts share nothing or the cache evicts them before they come again",
		"no blocks are held for prompts that may not come again",
		"every prompt is computed whole: ttft rises where beginnings repeat"},
	{[]string{"enable-chunked-prefill"},
		"long prompts are split over steps: running requests stall less",
		"ttft of long prompts rises",
		"a prompt is computed in one step: its ttft falls",
		"running requests stall for as long as a prompt takes"},
	{[]string{"num-speculative-tokens", "speculative-num-draft-tokens", "speculative-num-steps", "speculative-tokens", "draft-max"},
		"several tokens come of a step: tpot falls with few requests in flight",
		"wrong guesses take arithmetic: output tokens/s fall with many in flight, and ttft rises",
		"fewer guesses are thrown away: more output tokens/s with many in flight",
		"fewer tokens come of a step: tpot rises with few in flight"},
	{[]string{"tensor-parallel-size", "tp-size", "tp", "tensor-parallel"},
		"more accelerators share a step: ttft and tpot fall, and the KV cache has more room",
		"they wait for each other: each token costs more accelerator time",
		"less waiting between accelerators: a token costs less accelerator time",
		"ttft and tpot rise, and the KV cache has less room"},
	{[]string{"max-model-len", "context-length", "ctx-size", "max-total-tokens"},
		"longer requests are taken",
		"one long request may fill the KV cache",
		"the KV cache is kept for shorter requests",
		"longer requests are refused"},
	{[]string{"kv-cache-dtype", "cache-type-k", "quantization", "dtype"},
		"fewer bytes a token: tpot falls, and more requests fit into memory",
		"answers may become worse: ask known questions beside it (--golden)",
		"answers as the model was trained to give",
		"more bytes a token: tpot rises, and fewer requests fit into memory"},
}

// Expect is what a value of a knob should do in the place of another and what it
// risks: as the plan says, else by what is known of the flag that it sets in the
// command. Both are empty where nothing is known.
func (k Knob) Expect(command, from, to string) (hypothesis, risk string) {
	hypothesis, risk = k.Hypothesis, k.Risk
	names := []string{k.flag(command), flagName(k.Name), flagName(from), flagName(to)}
	at := slices.IndexFunc(effects, func(e effect) bool {
		return slices.ContainsFunc(e.flags, func(flag string) bool { return slices.Contains(names, flag) })
	})
	if at < 0 {
		return hypothesis, risk
	}
	e := effects[at]
	if lower(from, to) {
		e.more, e.moreRisk = e.fewer, e.fewerRisk
	}
	return cmp.Or(hypothesis, e.more), cmp.Or(risk, e.moreRisk)
}

// lower reports whether a value is less than another, or a switch turned off. A
// precision of fewer bits is no less: it is what such a knob is for.
func lower(from, to string) bool {
	a, errA := strconv.ParseFloat(from, 64)
	b, errB := strconv.ParseFloat(to, 64)
	if errA == nil && errB == nil {
		return b < a
	}
	switch strings.ToLower(from) {
	case "fp32", "float32", "f32": // of which everything has fewer bits
		return false
	}
	switch strings.ToLower(to) {
	case "", "off", "false", "no", "auto", "none", "fp32", "float32", "f32", "bf16", "bfloat16", "fp16", "float16", "f16":
		return true
	}
	return strings.HasPrefix(to, "--no-")
}

// flag is the one whose value the knob is in the command: "max-num-seqs" of
// "--max-num-seqs {n}".
func (k Knob) flag(command string) string {
	before := ""
	for word := range strings.FieldsSeq(command) {
		if name, _, found := strings.Cut(word, "{"+k.Name+"}"); found {
			if strings.HasPrefix(name, "-") {
				before = strings.TrimSuffix(name, "=")
			}
			return flagName(before)
		}
		before = word
	}
	return ""
}

// flagName is a flag as the table writes it.
func flagName(word string) string {
	word = strings.TrimPrefix(strings.TrimLeft(strings.ToLower(word), "-"), "no-")
	return strings.ReplaceAll(word, "_", "-")
}
