package sim

import (
	"cmp"
	"fmt"
	"math"
)

// Law is a step-time model in direct constants, for an engine that was
// measured rather than looked up: it takes the place of the catalog's model
// and accelerator, of which none need be known. A step takes
//
//	(read^corner + (token·tokens)^corner)^(1/corner), read = weights + experts·(1−(1−share)^tokens),
//	  + sequence·sequences + context·cached tokens read + pair·pairs attended
//
// and the Spec's step overhead. It has the form of the catalog's own model, so
// that an engine of either kind can be written down in it.
type Law struct {
	// WeightsUS is what reading the weights takes, whatever else the step does.
	WeightsUS float64 `yaml:"weights_us"`
	// TokenUS is what computing one scheduled token takes, prompt or output.
	TokenUS float64 `yaml:"token_us"`
	// Corner says how much of the smaller of the two hides behind the larger:
	// 1 nothing, 1.5 as measured matrix products do, 8 nearly all.
	Corner float64 `yaml:"corner"`
	// ExpertsUS is what reading all experts of a mixture takes, of which a
	// token touches each with the chance ExpertShare: a batch reads more of
	// them the larger it is.
	ExpertsUS   float64 `yaml:"experts_us,omitempty"`
	ExpertShare float64 `yaml:"expert_share,omitempty"`
	// SequenceUS is per sequence in the step.
	SequenceUS float64 `yaml:"sequence_us,omitempty"`
	// ContextUS is per earlier token that a generating sequence reads back.
	ContextUS float64 `yaml:"context_us,omitempty"`
	// PairUS is per pair of a prompt token and a token before it.
	PairUS float64 `yaml:"pair_us,omitempty"`
}

// Limits of an engine that has a Law and does not say its own.
const (
	lawModel   = "fitted"
	lawSeqs    = 256
	lawTokens  = 8192
	lawBlocks  = 1 << 16
	lawMaxLen  = 131072
	mostCorner = 16
	mostUS     = 1e9
)

// Work is what a step has to do, for whoever asks a Law.
type Work struct {
	Tokens    int     // scheduled: prompt and output
	Sequences int     // that have any of them
	Context   int64   // tokens that generating sequences read back
	Pairs     float64 // of prompt tokens with those before them
}

// Seconds is the time of a step, without the Spec's overhead.
func (l *Law) Seconds(w Work) float64 {
	read, compute := l.WeightsUS, l.TokenUS*float64(w.Tokens)
	if l.ExpertsUS > 0 {
		read += l.ExpertsUS * (1 - math.Pow(1-l.ExpertShare, float64(w.Tokens)))
	}
	var linear float64
	switch l.Corner {
	case 1:
		linear = read + compute
	case 1.5:
		root := math.Cbrt(read*math.Sqrt(read) + compute*math.Sqrt(compute))
		linear = root * root
	case 2:
		linear = math.Sqrt(read*read + compute*compute)
	default:
		linear = norm(read, compute, l.Corner)
	}
	return 1e-6 * (linear + l.SequenceUS*float64(w.Sequences) + l.ContextUS*float64(w.Context) + l.PairUS*w.Pairs)
}

// norm scales by the larger of the two, so that no power overflows.
func norm(a, b, p float64) float64 {
	if a < b {
		a, b = b, a
	}
	if a == 0 {
		return 0
	}
	return a * math.Pow(1+math.Pow(b/a, p), 1/p)
}

// validate says what is wrong with the law, in one line.
func (l *Law) validate() error {
	us := fmt.Sprintf("microseconds from 0 to %g", mostUS)
	if err := within(
		bound{"law.weights_us", l.WeightsUS, 0, mostUS, us},
		bound{"law.token_us", l.TokenUS, 0, mostUS, us},
		bound{"law.sequence_us", l.SequenceUS, 0, mostUS, us},
		bound{"law.context_us", l.ContextUS, 0, mostUS, us},
		bound{"law.pair_us", l.PairUS, 0, mostUS, us},
		bound{"law.experts_us", l.ExpertsUS, 0, mostUS, us},
		bound{"law.corner", l.Corner, 1, mostCorner, fmt.Sprintf("a number from 1 to %d, such as 1.5", mostCorner)},
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
	if err := s.Law.validate(); err != nil {
		return err
	}
	if key := s.besideLaw(); key != "" {
		return fmt.Errorf("%s: has no effect on an engine with a law, whose constants were measured: leave it out", key)
	}
	s.Model = cmp.Or(s.Model, lawModel)
	s.ServedModelName = cmp.Or(s.ServedModelName, s.Model)
	e.blocks = cmp.Or(s.NumGPUBlocksOverride, lawBlocks)
	s.NumGPUBlocksOverride = e.blocks
	s.MaxNumBatchedTokens = cmp.Or(s.MaxNumBatchedTokens, max(lawTokens, s.MaxNumSeqs))
	s.MaxNumSeqs = cmp.Or(s.MaxNumSeqs, min(lawSeqs, s.MaxNumBatchedTokens))
	longest := min(lawMaxLen, e.blocks*blockSize)
	if !e.chunks {
		longest = min(longest, s.MaxNumBatchedTokens)
	}
	s.MaxModelLen = cmp.Or(s.MaxModelLen, longest)
	if s.MaxModelLen > e.blocks*blockSize {
		return fmt.Errorf("max_model_len: %d, but num_gpu_blocks_override %d holds %d tokens: lower the one or raise the other",
			s.MaxModelLen, e.blocks, e.blocks*blockSize)
	}
	return e.checkBudget()
}

// besideLaw names a setting of the accelerator, which a law takes the place of.
func (s Spec) besideLaw() string {
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

// checkOverheads bounds the times that a Spec adds to what the model says.
func (s Spec) checkOverheads() error {
	const most = 60e9
	if s.StepOverhead < 0 || s.StepOverhead > most {
		return fmt.Errorf("step_overhead: want a time from 0s to 1m, got %v", s.StepOverhead)
	}
	if s.RequestOverhead < 0 || s.RequestOverhead > most {
		return fmt.Errorf("request_overhead: want a time from 0s to 1m, got %v", s.RequestOverhead)
	}
	return nil
}
