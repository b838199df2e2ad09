package catalog

import (
	"math"
	"testing"
)

func stepModel(d Deployment) *StepModel {
	m := NewStepModel(d, ComputeShare(d.Accelerator, d.Weights), UsualMemoryShare)
	return &m
}

// TestStepTimeParts checks what the table above does not reach, by hand.
func TestStepTimeParts(t *testing.T) {
	t.Parallel()
	mixtral := stepModel(deployment(t, "mixtral-8x7b", "B200", 1))
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
	tp4 := stepModel(deployment(t, "llama-3.1-70b", "H100", 4))
	roughly(t, "all-reduce latency", tp4.allReduce, 160*12e-6)
	roughly(t, "all-reduce per token", tp4.tokenLink, 160*1.5*8192*2/(0.75*450e9))

	// A window of 128 stops the growth of half the layers' reads.
	oss := stepModel(deployment(t, "gpt-oss-20b", "H100", 1))
	var short, long StepLoad
	short.Decode(128, oss.window)
	long.Decode(1128, oss.window)
	roughly(t, "reads of 1,000 more tokens", oss.Seconds(long)-oss.Seconds(short), 24576*1000/(0.6*3.35e12))

	// Eight-bit weights halve the reads on a device that reads at all.
	bf16 := stepModel(deployment(t, "llama-2-70b", "MI300X", 1))
	narrow := deployment(t, "llama-2-70b", "MI300X", 1)
	narrow.Weights, narrow.KV = FP8, FP8
	fp8 := stepModel(narrow)
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
