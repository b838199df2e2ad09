package assemble

import (
	"testing"

	"redline/internal/must"
	"redline/internal/observe/engine"
	"redline/internal/plan/config"
)

// guessOf is the limit that a plan's server is guessed to have, for requests as
// the chat workload has them.
func guessOf(t *testing.T, model, metadata string, objectives ...string) float64 {
	t.Helper()
	plan := must.File(t, "plan.yaml", "metadata: {"+metadata+"}\n")
	c := must.Get(config.Resolve(config.Input{PlanPath: plan, Flags: map[string][]string{"url": {"http://x"}, "model": {model}, "slo": objectives}}))(t)
	return GuessLimit(c, model, engine.Facts{}, 680, 270)
}

// TestGuessLimit: within a factor of three of the limits that whole searches are
// judged by (docs/measured/LIMIT.md).
func TestGuessLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, metadata, objective string
		limit                      float64
	}{
		{"llama-3.1-8b", "hardware: H100", "ttft:p99<500ms", 26.3},
		{"llama-3.1-8b", "hardware: H100", "tpot:p99<30ms", 21.8},
		{"llama-3.1-70b", "hardware: 4x H100", "ttft:p99<2s", 13.9},
		{"llama-3.1-70b", "hardware: 4x H100", "tpot:p99<60ms", 10.4},
		{"llama-3.1-70b", "hardware: 4x H100", "e2e:p95<30s", 9.9},
		{"qwen3-32b", "hardware: H200", "ttft:p99<500ms", 4.8},
		{"qwen3-32b", "hardware: H200", "tpot:p95<50ms", 6},
		{"llama-3.1-405b", "hardware: 8x H200", "ttft:p99<2s", 4.8},
	} {
		if got := guessOf(t, c.model, c.metadata, c.objective); got < c.limit/3 || got > 3*c.limit {
			t.Errorf("%s on %s, %s: guessed %.3g, the limit is %.3g", c.model, c.metadata, c.objective, got, c.limit)
		}
	}
}

// TestGuessesFollowWhatIsKnown: replicas add up, a stricter objective lowers the
// guess, and nothing is guessed of what is not known.
func TestGuessesFollowWhatIsKnown(t *testing.T) {
	t.Parallel()
	one := guessOf(t, "llama-3.1-8b", "hardware: H100", "tpot:p99<60ms")
	if two := guessOf(t, "llama-3.1-8b", "hardware: 2x H100, parallelism: 'tp 1, dp 2'", "tpot:p99<60ms"); two != 2*one {
		t.Errorf("two replicas: %.3g, want twice %.3g", two, one)
	}
	if strict := guessOf(t, "llama-3.1-8b", "hardware: H100", "tpot:p99<15ms"); !(strict < one && strict > 0) {
		t.Errorf("a stricter objective: %.3g, want less than %.3g", strict, one)
	}
	for model, metadata := range map[string]string{"llama-3.1-8b": "note: x", "gpt-9": "hardware: H100"} {
		if got := guessOf(t, model, metadata, "ttft:p99<500ms"); got != 0 {
			t.Errorf("%s, %s: guessed %.3g, want nothing", model, metadata, got)
		}
	}
}
