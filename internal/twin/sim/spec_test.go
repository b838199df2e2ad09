package sim

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

func TestResolveFillsDefaults(t *testing.T) {
	t.Parallel()
	on, off, jitter := true, false, defaultJitter
	for _, row := range []struct {
		name       string
		give, want Spec
	}{
		{"nothing given: 8B on an H100", Spec{}, Spec{
			Model: "llama-3.1-8b", ServedModelName: "llama-3.1-8b", GPU: "H100", TP: 1, MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192,
			GPUMemoryUtilization: 0.92, MaxModelLen: 131072, EnablePrefixCaching: &on, EnableChunkedPrefill: &on,
			ComputeShare: 0.72, MemoryShare: 0.80, Jitter: &jitter}},
		{"without chunks a step holds the longest prompt", Spec{GPU: "A100", MaxModelLen: 4096, EnableChunkedPrefill: &off}, Spec{
			Model: "llama-3.1-8b", ServedModelName: "llama-3.1-8b", GPU: "A100", TP: 1, MaxNumSeqs: 256, MaxNumBatchedTokens: 4096,
			GPUMemoryUtilization: 0.92, MaxModelLen: 4096, EnablePrefixCaching: &on, EnableChunkedPrefill: &off,
			ComputeShare: 0.72, MemoryShare: 0.80, Jitter: &jitter}},
		{"few tokens allow few requests", Spec{MaxNumBatchedTokens: 100}, Spec{
			Model: "llama-3.1-8b", ServedModelName: "llama-3.1-8b", GPU: "H100", TP: 1, MaxNumSeqs: 100, MaxNumBatchedTokens: 100,
			GPUMemoryUtilization: 0.92, MaxModelLen: 131072, EnablePrefixCaching: &on, EnableChunkedPrefill: &on,
			ComputeShare: 0.72, MemoryShare: 0.80, Jitter: &jitter}},
	} {
		got, err := row.give.Resolve()
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(row.want, got), "%s (-want +got)", row.name)
		again, err := got.Resolve()
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("%s: resolved twice: %v\n%s", row.name, err, diff)
		}
	}
}

// TestSchedulerDefaults follows vLLM's API server.
func TestSchedulerDefaults(t *testing.T) {
	t.Parallel()
	for gpu, want := range map[string][2]int{
		"MI300X": {16384, 1024}, "B200": {16384, 1024}, "H100": {8192, 1024}, "H200": {8192, 1024},
		"A100": {2048, 256}, "L4": {2048, 256}, "TPU-v6e": {1024, 256},
	} {
		s := must.Get(Spec{GPU: gpu}.Resolve())(t)
		if got := [2]int{s.MaxNumBatchedTokens, s.MaxNumSeqs}; got != want {
			t.Errorf("%s: got %v, want %v", gpu, got, want)
		}
	}
}

// TestShortMemoryShortensRequests: by default the longest request is what the
// cache holds.
func TestShortMemoryShortensRequests(t *testing.T) {
	t.Parallel()
	s := must.Get(Spec{GPU: "L4"}.Resolve())(t)
	// About 4.97 GiB over 128 KiB per token.
	if s.MaxModelLen < 40000 || s.MaxModelLen > 41000 {
		t.Errorf("max_model_len %d, want about 40,700", s.MaxModelLen)
	}
}

func TestValidateNamesPlaceAndCure(t *testing.T) {
	t.Parallel()
	off, loud := false, 2.0
	for _, row := range []struct {
		name string
		spec Spec
		want []string
	}{
		{"misspelt model", Spec{Model: "llama-3.1-8x"}, []string{"model: unknown model", "did you mean llama-3.1-8b?"}},
		{"misspelt device", Spec{GPU: "H10O"}, []string{"gpu: unknown accelerator", "did you mean"}},
		{"too large", Spec{Model: "llama-3.1-70b"}, []string{"llama-3.1-70b at bf16 (131 GiB of weights) does not fit 1 × H100-SXM: tp 2 would"}},
		{"never fits", Spec{Model: "llama-3.1-405b", GPU: "A10G", TP: 8}, []string{"does not fit 8 × A10G", "tp 64 would"}},
		{"one device only", Spec{Model: "llama-3.1-405b", GPU: "L4", TP: 64, GPUMemoryUtilization: 0.3}, []string{"nor any number of them"}},
		{"heads do not divide", Spec{TP: 3}, []string{"tp: 3 does not divide the 32 attention heads"}},
		{"unknown link", Spec{GPU: "TPU-v6e", TP: 2}, []string{"tp: the link between TPU-v6e devices is not known"}},
		{"negative", Spec{MaxNumSeqs: -1}, []string{"max_num_seqs: expected a positive number"}},
		{"share above one", Spec{GPUMemoryUtilization: 1.5}, []string{"gpu_memory_utilization: expected a number between 0 and 1, got 1.5"}},
		{"too much noise", Spec{Jitter: &loud}, []string{"jitter: expected a number between 0 and 1"}},
		{"budget below requests", Spec{MaxNumSeqs: 300, MaxNumBatchedTokens: 200}, []string{"max_num_batched_tokens: 200 is below max_num_seqs 300"}},
		{"budget below prompts", Spec{EnableChunkedPrefill: &off, MaxModelLen: 4096, MaxNumBatchedTokens: 2048},
			[]string{"max_num_batched_tokens: 2048 is below max_model_len 4096", "enable chunked prefill"}},
		{"longer than the cache", Spec{GPU: "L4", MaxModelLen: 100000}, []string{"max_model_len: 100000", "lower it, raise tp"}},
		{"precision", Spec{Quantization: "fp9"}, []string{`quantization: unknown precision "fp9"`}},
	} {
		err := row.spec.Validate()
		for _, want := range row.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", row.name, err, want)
			}
		}
	}
}

func TestPrecisionsChangeTheRoom(t *testing.T) {
	t.Parallel()
	blocks := func(s Spec) int {
		e := must.Get(s.resolve())(t)
		return e.blocks
	}
	plain := blocks(Spec{Model: "llama-2-70b", GPU: "MI300X", Dtype: "auto"})
	eight := blocks(Spec{Model: "llama-2-70b", GPU: "MI300X", Quantization: "fp8"})
	both := blocks(Spec{Model: "llama-2-70b", GPU: "MI300X", Quantization: "fp8", KVCacheDtype: "fp8"})
	// 42.5, 106.5 GiB over 5 MiB; the same over 2.5 MiB.
	for _, row := range []struct {
		name      string
		got, want int
	}{{"16 bits", plain, 8700}, {"8-bit weights", eight, 21800}, {"8-bit cache too", both, 43600}} {
		if ratio := float64(row.got) / float64(row.want); ratio < 0.98 || ratio > 1.02 {
			t.Errorf("%s: %d blocks, want about %d", row.name, row.got, row.want)
		}
	}
}

func TestSpecRefusesUnknownFaults(t *testing.T) {
	t.Parallel()
	err := Spec{Faults: []string{"crlf", "truncate:2%"}}.Validate()
	want := `faults: unknown fault "truncate"; did you mean truncated?`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// No number of a Spec, however large, takes all memory or ends the program.
func TestAbsurdSizesAreRefused(t *testing.T) {
	t.Parallel()
	fields := reflect.VisibleFields(reflect.TypeFor[Spec]())
	for _, f := range fields {
		if f.Type.Kind() != reflect.Int || len(f.Index) > 1 {
			continue
		}
		spec := Spec{}
		reflect.ValueOf(&spec).Elem().FieldByIndex(f.Index).SetInt(1_000_000_000_000)
		if _, err := NewBatching(spec); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if _, err := NewBatching(Spec{MaxNumSeqs: 1_000_000_000_000}); err == nil {
		t.Error("a batch of 1,000,000,000,000 requests is taken")
	}
	if _, err := NewBatching(Spec{NumGPUBlocksOverride: 1_000_000_000_000}); err == nil || !strings.Contains(err.Error(), "num_gpu_blocks_override: expected a positive number up to 50 million") {
		t.Errorf("a cache of 1,000,000,000,000 blocks: %v", err)
	}
}
