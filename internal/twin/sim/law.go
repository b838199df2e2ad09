package sim

import (
	"cmp"
	"fmt"

	"redline/internal/catalog"
)

// Limits of an engine that has a Law and does not say its own.
const (
	lawModel  = "fitted"
	lawSeqs   = 256
	lawTokens = 8192
	lawBlocks = 1 << 16
	lawMaxLen = 131072
	maxCorner = 16
	maxUS     = 1e9
)

// checkLaw says what is wrong with a law, in one line.
func checkLaw(l *catalog.Law) error {
	us := fmt.Sprintf("microseconds from 0 to %g", maxUS)
	if err := within(
		bound{"law.weights_us", l.WeightsUS, 0, maxUS, us},
		bound{"law.token_us", l.TokenUS, 0, maxUS, us},
		bound{"law.sequence_us", l.SequenceUS, 0, maxUS, us},
		bound{"law.context_us", l.ContextUS, 0, maxUS, us},
		bound{"law.pair_us", l.PairUS, 0, maxUS, us},
		bound{"law.experts_us", l.ExpertsUS, 0, maxUS, us},
		bound{"law.host_blocks", float64(l.HostBlocks), 0, maxBlocks, "a number of blocks up to 50 million, or 0 for none"},
		bound{"law.host_block_us", l.HostBlockUS, 0, maxUS, us},
		bound{"law.prompt_us", l.PromptUS, 0, maxUS, us},
		bound{"law.eager_us", l.EagerUS, 0, maxUS, us},
		bound{"law.eager_sequence_us", l.EagerSequenceUS, 0, maxUS, us},
		bound{"law.eager_tokens", float64(l.EagerTokens), 0, lawMaxLen, "the tokens of the largest step that needs no launching"},
		bound{"law.clock_drop", l.ClockDrop, 0, 0.9, "the share of its speed that a device loses which computes all the time, from 0 to 0.9"},
		bound{"law.expert_spread", l.ExpertSpread, 0, 1, "a power from 0 to 1, such as 0.5"},
		bound{"law.corner", l.Corner, 1, maxCorner, fmt.Sprintf("a number from 1 to %d, such as 1.5", maxCorner)},
		bound{"law.expert_share", l.ExpertShare, 0, 1, "the chance that a token needs an expert, from 0 to 1"},
	); err != nil {
		return err
	}
	if l.WeightsUS+l.TokenUS == 0 {
		return fmt.Errorf("law: weights_us and token_us are both 0, so that a step would take no time")
	}
	return nil
}

// obeyLaw fills in the defaults of an engine that has a law.
func (e *instance) obeyLaw() error {
	s := &e.spec
	if err := checkLaw(s.Law); err != nil {
		return err
	}
	if key := s.accelSettingWithLaw(); key != "" {
		return fmt.Errorf("%s: has no effect on an engine with a law, whose constants were measured: leave it out", key)
	}
	s.Model = cmp.Or(s.Model, lawModel)
	s.ServedModelName = cmp.Or(s.ServedModelName, s.Model)
	e.blocks = cmp.Or(s.NumGPUBlocksOverride, lawBlocks)
	s.NumGPUBlocksOverride = e.blocks
	s.MaxNumBatchedTokens = cmp.Or(s.MaxNumBatchedTokens, max(lawTokens, s.MaxNumSeqs))
	s.MaxNumSeqs = cmp.Or(s.MaxNumSeqs, min(lawSeqs, s.MaxNumBatchedTokens))
	longest := min(lawMaxLen, e.blocks*BlockSize)
	if !e.chunks {
		longest = min(longest, s.MaxNumBatchedTokens)
	}
	s.MaxModelLen = cmp.Or(s.MaxModelLen, longest)
	if s.MaxModelLen > e.blocks*BlockSize {
		return fmt.Errorf("max_model_len: %d, but num_gpu_blocks_override %d holds %d tokens: lower the one or raise the other",
			s.MaxModelLen, e.blocks, e.blocks*BlockSize)
	}
	return e.checkBudget()
}

// accelSettingWithLaw names a setting of the accelerator, which a law takes the place of.
func (s Spec) accelSettingWithLaw() string {
	for _, f := range []struct {
		key string
		set bool
	}{
		{"gpu", s.GPU != ""}, {"tp", s.TP != 0}, {"gpu_memory_utilization", s.GPUMemoryUtilization != 0},
		{"dtype", s.Dtype != ""}, {"quantization", s.Quantization != ""}, {"kv_cache_dtype", s.KVCacheDtype != ""},
		{"compute_share", s.ComputeShare != 0}, {"memory_share", s.MemoryShare != 0},
	} {
		if f.set {
			return f.key
		}
	}
	return ""
}
