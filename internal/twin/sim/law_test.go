package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	"redline/internal/catalog"
	"redline/internal/must"
)

// An engine with a law needs neither a model nor an accelerator that anyone
// knows, and its tokens come when the law says.
func TestLawEngine(t *testing.T) {
	t.Parallel()
	none := 0.0
	core := must.Get(NewBatching(Spec{Model: "nobody-knows-it", Jitter: &none, StepOverhead: 500 * time.Microsecond,
		RequestOverhead: 7 * time.Millisecond, Law: &catalog.Law{WeightsUS: 1000, TokenUS: 10, Corner: 1}}))(t)
	j := &Job{ID: 1, Prompt: make([]int32, 100), Output: 3}
	RunOpen(core, func(yield func(int64, *Job) bool) { yield(0, j) }, Watch{})
	// 7 ms in front, then a step of 1 + 100 × 0.01 + 0.5 ms, then two of 1.51.
	first, last := int64(9_500_000), int64(12_520_000)
	if j.First != first || j.Last != last {
		t.Errorf("first at %d, last at %d, want %d and %d", j.First, j.Last, first, last)
	}
}

func TestBadLawsSayWhatToWrite(t *testing.T) {
	t.Parallel()
	law := func(change func(*Spec)) Spec {
		s := Spec{Law: &catalog.Law{WeightsUS: 1000, TokenUS: 10, Corner: 1.5}}
		change(&s)
		return s
	}
	for want, spec := range map[string]Spec{
		"":                           law(func(s *Spec) {}),
		"law.token_us: expected":     law(func(s *Spec) { s.Law.TokenUS = -1 }),
		"law.pair_us: expected":      law(func(s *Spec) { s.Law.PairUS = math.NaN() }),
		"law.corner: expected":       law(func(s *Spec) { s.Law.Corner = 0 }),
		"law.expert_share: expected": law(func(s *Spec) { s.Law.ExpertShare = 2 }),
		"no time":                    law(func(s *Spec) { s.Law.WeightsUS, s.Law.TokenUS = 0, 0 }),
		"step_overhead: expected":    law(func(s *Spec) { s.StepOverhead = -1 }),
		"request_overhead: expected": law(func(s *Spec) { s.RequestOverhead = time.Hour }),
		"gpu: has no effect":         law(func(s *Spec) { s.GPU = "H100" }),
		"tp: has no effect":          law(func(s *Spec) { s.TP = 2 }),
		"below max_num_seqs":         law(func(s *Spec) { s.MaxNumSeqs, s.MaxNumBatchedTokens = 64, 32 }),
		"num_gpu_blocks_override ":   law(func(s *Spec) { s.MaxModelLen, s.NumGPUBlocksOverride = 1000, 10 }),
	} {
		err := spec.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}
