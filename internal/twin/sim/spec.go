package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"redline/internal/catalog"
	"redline/internal/twin/faults"
)

// Defaults of a Spec.
const (
	DefaultModel  = "llama-3.1-8b"
	defaultGPU    = "H100"
	defaultJitter = 0.04

	defaultUtilization = 0.92
	BlockSize          = 16
	maxTP              = 64
)

// instance is a Spec with every default filled in and every name looked up.
type instance struct {
	spec   Spec
	deploy catalog.Deployment
	blocks int
	prefix bool
	chunks bool
	jitter float64
}

// Validate says what is wrong with the spec, in one line.
func (s Spec) Validate() error {
	_, err := s.resolve()
	return err
}

// Resolve gives the spec with every default filled in.
func (s Spec) Resolve() (Spec, error) {
	e, err := s.resolve()
	if err != nil {
		return Spec{}, err
	}
	return e.spec, nil
}

// Deployment gives what the spec simulates, as the catalog's arithmetic sees it;
// an engine that has a Law simulates nothing of the catalog's.
func (s Spec) Deployment() (catalog.Deployment, error) {
	if s.Law != nil {
		return catalog.Deployment{}, errors.New("the engine is described by measured constants, not by a model and an accelerator")
	}
	e, err := s.resolve()
	if err != nil {
		return catalog.Deployment{}, err
	}
	d := e.deploy
	d.Compute, d.Memory = e.spec.ComputeShare, e.spec.MemoryShare
	return d, nil
}

func (s Spec) resolve() (*instance, error) {
	if err := s.checkRanges(); err != nil {
		return nil, err
	}
	if s.KVOffloadingSize > 0 && s.Law != nil {
		return nil, errors.New("kv_offloading_size: the engine is described by measured constants, so that the size of a block is not known: write law.host_blocks in its place")
	}
	s.Speculation.complete()
	if s.HasPools() {
		s.KVTransferRate = cmp.Or(s.KVTransferRate, DefaultKVTransferRate)
	}
	e := &instance{spec: s, jitter: defaultJitter}
	e.switches()
	fills := []func() error{e.place, e.size, e.fit}
	if s.Law != nil {
		fills = []func() error{e.obeyLaw}
	}
	for _, fill := range fills {
		if err := fill(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// bound is a number and the range that it has to lie in.
type bound struct {
	key             string
	value, min, max float64
	want            string
}

// within says what is wrong with the first number that lies outside of its
// range.
func within(bounds ...bound) error {
	for _, b := range bounds {
		if !(b.value >= b.min && b.value <= b.max) {
			return fmt.Errorf("%s: expected %s, got %v", b.key, b.want, b.value)
		}
	}
	return nil
}

// More than any deployment has: sequences at once, and blocks of 16 tokens.
const (
	maxSeqs   = 100_000
	maxBlocks = 50_000_000
)

// checkRanges looks at each number alone.
func (s Spec) checkRanges() error {
	const count, fraction, share = "a positive number, or 0 for the default", "a number between 0 and 1", "a share from 0 to 1"
	jitter := 0.0
	if s.Jitter != nil {
		jitter = *s.Jitter
	}
	if err := cmp.Or(s.checkTimes(), s.checkPolicy(), s.FrontEnd.Check(), s.Speculation.validate(), s.Vision.validate(), s.Fleet.validate(s.Law != nil), within(
		bound{"tp", float64(s.TP), 0, math.MaxInt, count},
		bound{"max_num_seqs", float64(s.MaxNumSeqs), 0, maxSeqs, "a positive number up to 100,000, or 0 for the default"},
		bound{"max_num_batched_tokens", float64(s.MaxNumBatchedTokens), 0, math.MaxInt, count},
		bound{"max_model_len", float64(s.MaxModelLen), 0, math.MaxInt, count},
		bound{"num_gpu_blocks_override", float64(s.NumGPUBlocksOverride), 0, maxBlocks, "a positive number up to 50 million, whose table takes 1 GB of this machine's memory, or 0 for the default"},
		bound{"reasoning_tokens", float64(s.ReasoningTokens), 0, math.MaxInt, count},
		bound{"tokens_per_chunk", float64(s.TokensPerChunk), 0, math.MaxInt, count},
		bound{"gpu_memory_utilization", s.GPUMemoryUtilization, 0, 1, fraction},
		bound{"kv_offloading_size", s.KVOffloadingSize, 0, 1 << 16, "GiB of host memory up to 65,536, or 0 for none"},
		bound{"jitter", jitter, 0, 1, fraction},
		bound{"compute_share", s.ComputeShare, 0, 1, fraction},
		bound{"memory_share", s.MemoryShare, 0, 1, fraction},
		bound{"answer_error", s.AnswerError, 0, 1, share},
		bound{"answer_error_under_load", s.AnswerErrorUnderLoad, 0, 1, share},
	)); err != nil {
		return err
	}
	_, err := faults.NewPlan(s.Seed, s.Faults)
	return err
}

// checkTimes bounds the times that a Spec adds to what the model says, and what
// stands between a client and the engine.
func (s Spec) checkTimes() error {
	switch {
	case s.StepOverhead < 0 || s.StepOverhead > time.Minute:
		return fmt.Errorf("step_overhead: expected a time from 0s to 1m, got %v", s.StepOverhead)
	case s.RequestOverhead < 0 || s.RequestOverhead > time.Minute:
		return fmt.Errorf("request_overhead: expected a time from 0s to 1m, got %v", s.RequestOverhead)
	case s.NetDelay < 0 || s.NetDelay > time.Minute:
		return fmt.Errorf("net_delay: expected a time up to a minute such as 40ms, got %v", s.NetDelay)
	case !(s.RateLimit >= 0 && s.RateLimit <= math.MaxInt32):
		return fmt.Errorf("rate_limit: expected requests per second, got %v", s.RateLimit)
	case s.ColdStart < 0 || s.ColdStart > 24*time.Hour:
		return fmt.Errorf("cold_start: expected a time such as 20s, got %v", s.ColdStart)
	}
	return nil
}

// place looks up what runs on what.
func (e *instance) place() error {
	s, d := &e.spec, &e.deploy
	s.Model = cmp.Or(s.Model, DefaultModel)
	s.ServedModelName = cmp.Or(s.ServedModelName, s.Model)
	s.GPU = cmp.Or(s.GPU, defaultGPU)
	s.TP = cmp.Or(s.TP, 1)
	s.GPUMemoryUtilization = cmp.Or(s.GPUMemoryUtilization, defaultUtilization)
	var err error
	if d.Model, err = s.Catalog.Model(s.Model); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	if d.Accelerator, err = s.Catalog.Accelerator(s.GPU); err != nil {
		return fmt.Errorf("gpu: %w", err)
	}
	d.TP, d.Utilization = s.TP, s.GPUMemoryUtilization
	if s.TP > maxTP || d.Model.Heads%s.TP != 0 {
		return fmt.Errorf("tp: %d does not divide the %d attention heads of %s", s.TP, d.Model.Heads, d.Model.Name)
	}
	if s.TP > 1 && d.Accelerator.Link == 0 {
		return fmt.Errorf("tp: the link between %s devices is not known, so only tp 1 can be simulated", d.Accelerator.Name)
	}
	return e.precisions()
}

func (e *instance) precisions() error {
	s, d := &e.spec, &e.deploy
	d.Weights, d.KV = d.Model.Precision, catalog.BF16
	for _, f := range []struct {
		key, value string
		into       *catalog.Precision
	}{
		{"dtype", s.Dtype, &d.Weights},
		{"quantization", s.Quantization, &d.Weights},
		{"kv_cache_dtype", s.KVCacheDtype, &d.KV},
	} {
		if f.value == "" || f.value == "auto" {
			continue
		}
		p, err := catalog.ParsePrecision(f.value)
		if err != nil {
			return fmt.Errorf("%s: %w", f.key, err)
		}
		*f.into = p
	}
	return nil
}

// size fills in the scheduler's limits, which vLLM chooses by the device.
func (e *instance) size() error {
	s := &e.spec
	tokens, seqs := SchedulerDefaults(e.deploy.Accelerator)
	length := cmp.Or(s.MaxModelLen, e.deploy.Model.MaxLen)
	if !e.chunks {
		tokens = max(tokens, length)
	}
	s.MaxNumBatchedTokens = cmp.Or(s.MaxNumBatchedTokens, max(tokens, s.MaxNumSeqs))
	s.MaxNumSeqs = cmp.Or(s.MaxNumSeqs, min(seqs, s.MaxNumBatchedTokens))
	if err := e.checkBudget(); err != nil {
		return err
	}
	if !e.chunks && s.MaxModelLen == 0 {
		// Without chunks a longer prompt could never be scheduled.
		s.MaxModelLen = min(length, s.MaxNumBatchedTokens)
	}
	e.deploy.BatchTokens = s.MaxNumBatchedTokens
	return nil
}

// SchedulerDefaults gives the tokens per step and the running requests that
// vLLM's API server allows by default on a device.
func SchedulerDefaults(a catalog.Accelerator) (tokens, seqs int) {
	switch {
	case a.Name == "TPU-v6e":
		return 1024, 256
	case a.Name == "TPU-v5e":
		return 512, 256
	case a.Memory >= 160*catalog.GiB:
		return 16384, 1024
	case a.Memory >= 70*catalog.GiB && a.Name != "A100-80G-SXM":
		return 8192, 1024
	}
	return 2048, 256
}

// checkBudget compares the token budget of a step with what has to fit in it.
func (e *instance) checkBudget() error {
	switch s := &e.spec; {
	case s.MaxNumBatchedTokens < s.MaxNumSeqs:
		return fmt.Errorf("max_num_batched_tokens: %d is below max_num_seqs %d, so not every running request could advance in a step",
			s.MaxNumBatchedTokens, s.MaxNumSeqs)
	case !e.chunks && s.MaxNumBatchedTokens < s.MaxModelLen:
		return fmt.Errorf("max_num_batched_tokens: %d is below max_model_len %d: raise it, or enable chunked prefill",
			s.MaxNumBatchedTokens, s.MaxModelLen)
	}
	return nil
}

// switches fills in what neither device nor memory decides.
func (e *instance) switches() {
	s := &e.spec
	e.chunks = s.EnableChunkedPrefill == nil || *s.EnableChunkedPrefill
	e.prefix = s.EnablePrefixCaching == nil || *s.EnablePrefixCaching
	if s.Jitter != nil {
		e.jitter = *s.Jitter
	}
	if len(s.LoraModules) > 0 {
		s.MaxLoras = cmp.Or(s.MaxLoras, defaultMaxLoras)
	}
	s.EnableChunkedPrefill, s.EnablePrefixCaching, s.Jitter = &e.chunks, &e.prefix, &e.jitter
}

// fit finds the room for the cache and the longest request that it holds.
func (e *instance) fit() error {
	s, d := &e.spec, e.deploy
	s.ComputeShare = cmp.Or(s.ComputeShare, catalog.ComputeShare(d.Accelerator, d.Weights))
	s.MemoryShare = cmp.Or(s.MemoryShare, catalog.UsualMemoryShare)
	e.blocks = d.KVBlocks(BlockSize)
	longest := e.maxSequence()
	if longest < BlockSize {
		return e.tooLarge()
	}
	if s.MaxModelLen > longest {
		return fmt.Errorf("max_model_len: %d, but the KV cache of %s on %d × %s holds %d tokens: lower it, raise tp or gpu_memory_utilization",
			s.MaxModelLen, d.Model.Name, s.TP, d.Accelerator.Name, longest)
	}
	s.MaxModelLen = cmp.Or(s.MaxModelLen, min(d.Model.MaxLen, longest))
	if s.NumGPUBlocksOverride != 0 {
		e.blocks = s.NumGPUBlocksOverride
	}
	return nil
}

// maxSequence is the number of tokens of the longest sequence that the cache
// holds alone.
func (e *instance) maxSequence() int {
	w := windowOf(e.deploy.Model)
	if full := e.blocks - w.blocks(1<<40); full*BlockSize >= w.window {
		return full * BlockSize
	}
	tokens := 0
	for n := BlockSize; blocksFor(n)+w.blocks(n) <= e.blocks; n += BlockSize {
		tokens = n
	}
	return tokens
}

// tooLarge says how many devices would hold the model.
func (e *instance) tooLarge() error {
	d := e.deploy
	msg := fmt.Sprintf("gpu: %s at %s (%.0f GiB of weights) does not fit %d × %s", d.Model.Name, d.Weights,
		float64(d.Model.WeightBytes(d.Weights))/catalog.GiB, d.TP, d.Accelerator.Name)
	for tp := d.TP * 2; tp <= maxTP && d.Model.Heads%tp == 0; tp *= 2 {
		d.TP = tp
		bigger := instance{deploy: d, blocks: d.KVBlocks(BlockSize)}
		if bigger.maxSequence() >= min(d.Model.MaxLen, 2048) {
			return fmt.Errorf("%s: tp %d would", msg, tp)
		}
	}
	return errors.New(msg + ", nor any number of them: choose a larger device or a smaller precision")
}
