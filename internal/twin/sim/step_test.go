package sim

import (
	"fmt"
	"math"
	"testing"

	"redline/internal/catalog"
	"redline/internal/must"
)

// modelOf is a spec's step model.
func modelOf(t *testing.T, s Spec) catalog.StepModel {
	t.Helper()
	e := must.Get(s.resolve())(t)
	return catalog.NewStepModel(e.deploy, e.spec.ComputeShare, e.spec.MemoryShare)
}

// TestStepTimes compares the model with figures that were computed beside it,
// from the formula alone, in milliseconds for 16-bit weights.
func TestStepTimes(t *testing.T) {
	t.Parallel()
	h8b := Spec{Model: "llama-3.1-8b", GPU: "H100"}
	a8b := Spec{Model: "llama-3.1-8b", GPU: "A100"}
	h70b := Spec{Model: "llama-3.1-70b", GPU: "H100", TP: 4}
	decodes := []int{1, 8, 32, 64, 128, 256}
	prompts := []int{128, 512, 2048, 8192}
	for _, row := range []struct {
		name  string
		spec  Spec
		sizes []int
		load  func(size int) catalog.StepLoad
		want  []float64
	}{
		{"8B H100 decodes", h8b, decodes, decodesAt1k, []float64{6.6, 7.1, 9.0, 11.5, 16.8, 27.8}},
		{"8B A100 decodes", a8b, decodes, decodesAt1k, []float64{10.3, 11.1, 14.5, 19.3, 29.6, 51.4}},
		{"8B L4 decodes", Spec{Model: "llama-3.1-8b", GPU: "L4"}, decodes[:1], decodesAt1k, []float64{64}},
		{"70B 4×H100 decodes", h70b, decodes, decodesAt1k, []float64{17.1, 17.5, 19.2, 21.7, 27.1, 39.0}},
		{"8B H100 prompt", h8b, prompts, onePrompt, []float64{7.7, 14.4, 47.6, 210}},
		{"8B A100 prompt", a8b, prompts, onePrompt, []float64{15, 39, 146, 662}},
		{"70B 4×H100 prompt", h70b, prompts, onePrompt, []float64{21, 41, 134, 545}},
		{"8B H100 64 decodes beside a prompt", h8b, []int{0, 512, 2048, 8192}, besides64Decodes, []float64{11.5, 20.2, 53.5, 216}},
	} {
		m := modelOf(t, row.spec)
		for i, size := range row.sizes {
			t.Run(fmt.Sprintf("%s %d", row.name, size), func(t *testing.T) {
				got := m.Seconds(row.load(size)) * 1e3
				if math.Abs(got/row.want[i]-1) > 0.10 {
					t.Errorf("step takes %.2f ms, want %.2f within 10 %%", got, row.want[i])
				}
			})
		}
	}
}

func decodesAt1k(size int) (l catalog.StepLoad) {
	for range size {
		l.Decode(1024, 0)
	}
	return l
}

func onePrompt(size int) (l catalog.StepLoad) {
	l.Prefill(size, 0, 0, true)
	return l
}

func besides64Decodes(size int) catalog.StepLoad {
	l := decodesAt1k(64)
	if size > 0 {
		l.Prefill(size, 0, 0, true)
	}
	return l
}

// TestShares takes the measured share before the usual one, and the spec's
// own before both.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name            string
		spec            Spec
		compute, memory float64
	}{
		{"nothing known", Spec{GPU: "H100"}, 0.72, 0.80},
		{"measured at 8 bits", Spec{GPU: "MI300X", Quantization: "fp8"}, 0.42, 0.80},
		{"measured at 16 bits", Spec{GPU: "MI300X"}, 0.45, 0.80},
		{"given", Spec{GPU: "MI300X", ComputeShare: 0.5, MemoryShare: 0.6}, 0.5, 0.6},
	} {
		got := must.Get(row.spec.Resolve())(t)
		if got.ComputeShare != row.compute || got.MemoryShare != row.memory {
			t.Errorf("%s: got %v and %v, want %v and %v", row.name, got.ComputeShare, got.MemoryShare, row.compute, row.memory)
		}
	}
}
