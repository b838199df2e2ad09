package sim

import (
	"fmt"
	"math"
	"testing"
)

// modelOf is a spec's step model.
func modelOf(t *testing.T, s Spec) stepModel {
	t.Helper()
	e, err := s.resolve()
	if err != nil {
		t.Fatal(err)
	}
	return newStepModel(e.deploy, e.spec.ComputeShare, e.spec.MemoryShare)
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
		load  func(size int) load
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
				got := m.seconds(row.load(size)) * 1e3
				if math.Abs(got/row.want[i]-1) > 0.10 {
					t.Errorf("step takes %.2f ms, want %.2f within 10 %%", got, row.want[i])
				}
			})
		}
	}
}

func decodesAt1k(size int) (l load) {
	for range size {
		l.decode(1024, 0)
	}
	return l
}

func onePrompt(size int) (l load) {
	l.prefill(size, 0, 0, true)
	return l
}

func besides64Decodes(size int) load {
	l := decodesAt1k(64)
	if size > 0 {
		l.prefill(size, 0, 0, true)
	}
	return l
}

// TestStepTimeParts checks what the table above does not reach, by hand.
func TestStepTimeParts(t *testing.T) {
	t.Parallel()
	mixtral := modelOf(t, Spec{Model: "mixtral-8x7b", GPU: "B200"})
	// One token of eight experts, two at a time, reads a quarter of them; many
	// tokens read all.
	if one, all := 1-math.Pow(mixtral.missOne, 1), 1-math.Pow(mixtral.missOne, 1e4); one != 0.25 || all != 1 {
		t.Errorf("share of experts read: one token %v, many %v; want 0.25 and 1", one, all)
	}
	if mixtral.allReduce != 0 || mixtral.tokenLink != 0 {
		t.Errorf("one device communicates: %v, %v", mixtral.allReduce, mixtral.tokenLink)
	}

	// 80 layers, two all-reduces each of 12 µs; 2·3/4·8192·2 bytes per token
	// over three quarters of 450 GB/s.
	tp4 := modelOf(t, Spec{Model: "llama-3.1-70b", GPU: "H100", TP: 4})
	roughly(t, "all-reduce latency", tp4.allReduce, 160*12e-6)
	roughly(t, "all-reduce per token", tp4.tokenLink, 160*1.5*8192*2/(0.75*450e9))

	// A window of 128 stops the growth of half the layers' reads.
	oss := modelOf(t, Spec{Model: "gpt-oss-20b", GPU: "H100"})
	var short, long load
	short.decode(128, oss.window)
	long.decode(1128, oss.window)
	roughly(t, "reads of 1,000 more tokens", oss.seconds(long)-oss.seconds(short), 24576*1000/(0.6*3.35e12))

	// Eight-bit weights halve the reads on a device that reads at all.
	bf16 := modelOf(t, Spec{Model: "llama-2-70b", GPU: "MI300X"})
	fp8 := modelOf(t, Spec{Model: "llama-2-70b", GPU: "MI300X", Quantization: "fp8", KVCacheDtype: "fp8"})
	if ratio := bf16.denseRead / fp8.denseRead; ratio < 1.9 || ratio > 2 {
		t.Errorf("16-bit weights take %v times as long to read as 8-bit ones, want a little under 2", ratio)
	}
	roughly(t, "8-bit cache reads", fp8.readGrowing*2, bf16.readGrowing)
}

func roughly(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
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
		got, err := row.spec.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if got.ComputeShare != row.compute || got.MemoryShare != row.memory {
			t.Errorf("%s: got %v and %v, want %v and %v", row.name, got.ComputeShare, got.MemoryShare, row.compute, row.memory)
		}
	}
}
