package catalog

import (
	"math"
	"testing"

	"redline/internal/must"
)

// Each row is a step that can be added up in the head.
func TestLawSeconds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		law    Law
		work   Work
		wantMS float64
	}{
		{"weights alone", Law{WeightsUS: 5000, Corner: 1.5}, Work{Sequences: 1}, 5},
		{"nothing hides at corner 1", Law{WeightsUS: 5000, TokenUS: 10, Corner: 1}, Work{Tokens: 300}, 8},
		{"a right triangle at corner 2", Law{WeightsUS: 3000, TokenUS: 10, Corner: 2}, Work{Tokens: 400}, 5},
		{"two equal halves at corner 1.5", Law{WeightsUS: 1000, TokenUS: 1, Corner: 1.5}, Work{Tokens: 1000}, math.Pow(2, 2.0/3)},
		{"the same by the general way", Law{WeightsUS: 1000, TokenUS: 1, Corner: 4}, Work{Tokens: 1000}, math.Pow(2, 1.0/4)},
		{"eight sequences", Law{WeightsUS: 1000, SequenceUS: 100, Corner: 1}, Work{Sequences: 8}, 1.8},
		{"ten thousand cached tokens", Law{WeightsUS: 1000, ContextUS: 0.1, Corner: 1}, Work{Context: 10_000}, 2},
		{"two tokens of a mixture touch three quarters of it", Law{WeightsUS: 1000, ExpertsUS: 4000, ExpertShare: 0.5, Corner: 1}, Work{Tokens: 2}, 4},
		{"a million pairs", Law{WeightsUS: 1000, PairUS: 0.002, Corner: 1}, Work{Pairs: 1e6}, 3},
	} {
		if got := row.law.Seconds(row.work) * 1e3; math.Abs(got-row.wantMS) > 1e-9 {
			t.Errorf("%s: %v ms, want %v", row.name, got, row.wantMS)
		}
	}
}

// A deployment written down as a law takes as long as the deployment itself.
func TestLawIsTheStepModel(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		model, gpu string
		tp         int
		most       float64 // relative difference
	}{
		{"llama-3.1-8b", "H200", 1, 0.01}, {"llama-3.1-70b", "H100", 4, 0.03}, {"qwen3-30b-a3b", "H200", 1, 0.01},
	} {
		m := must.Get((*Catalog)(nil).Model(row.model))(t)
		a := must.Get((*Catalog)(nil).Accelerator(row.gpu))(t)
		steps := Deploy(m, a, row.tp).Steps()
		law, fixed := steps.Law(1000)
		for _, batch := range []int{1, 30, 300} {
			var l StepLoad
			l.Decodes(batch, 1000, steps.Window())
			l.Prefill(700, 0, steps.Window(), true)
			want := steps.Seconds(l)
			got := fixed + law.Seconds(Work{Tokens: l.Tokens, Sequences: l.Sequences, Context: l.Growing, Pairs: l.Pairs})
			if math.Abs(got/want-1) > row.most {
				t.Errorf("%s on %d × %s, %d requests: %.3g s by the law, %.3g s by the model", row.model, row.tp, row.gpu, batch, got, want)
			}
		}
	}
}
