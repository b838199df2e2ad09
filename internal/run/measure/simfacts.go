package measure

import (
	"fmt"
	"strconv"

	"redline/internal/catalog"
	"redline/internal/observe/engine"
	"redline/internal/run/assemble"
	"redline/internal/twin/sim"
)

// simFacts is what the embedded engine knows of itself.
func simFacts(s sim.Spec, version string) engine.Facts {
	f := engine.Facts{Engine: assemble.SimName, Version: version, Model: s.Model, Revision: "simulated", Tokenizer: simTokenizer,
		Precision: s.Dtype, Quantization: s.Quantization, MaxLen: s.MaxModelLen, Parallelism: fmt.Sprintf("tp %d", max(1, s.TP)),
		Flags: map[string]string{
			"max_num_seqs": strconv.Itoa(s.MaxNumSeqs), "max_num_batched_tokens": strconv.Itoa(s.MaxNumBatchedTokens),
			"gpu_memory_utilization": strconv.FormatFloat(s.GPUMemoryUtilization, 'g', -1, 64),
			"max_model_len":          strconv.Itoa(s.MaxModelLen), "scheduling_policy": "fcfs"}}
	if s.EnablePrefixCaching != nil {
		f.Flags["enable_prefix_caching"] = strconv.FormatBool(*s.EnablePrefixCaching)
	}
	if s.EnableChunkedPrefill != nil {
		f.Flags["enable_chunked_prefill"] = strconv.FormatBool(*s.EnableChunkedPrefill)
	}
	if m, err := catalog.FindModel(s.Model); err == nil && (f.Precision == "" || f.Precision == "auto") {
		f.Precision = string(m.Precision)
	}
	return f
}

// simTokenizer is what the simulated engine counts with.
const simTokenizer = "o200k_base"
