package catalog

import (
	"testing"

	"redline/internal/must"
)

func deployment(t *testing.T, model, accelerator string, tp int) Deployment {
	t.Helper()
	m := must.Get(FindModel(model))(t)
	a := must.Get(FindAccelerator(accelerator))(t)
	return Deployment{Model: m, Accelerator: a, TP: tp, Weights: BF16, KV: BF16, Utilization: 0.92, BatchTokens: 8192}
}

// TestKVRoom follows the sum by hand, in GiB: share of memory, weights,
// activations, runtime.
func TestKVRoom(t *testing.T) {
	t.Parallel()
	small := deployment(t, "llama-3.1-8b", "L4", 1)
	small.BatchTokens = 2048
	for _, row := range []struct {
		name string
		d    Deployment
		want float64
	}{
		{"8B on H100", deployment(t, "llama-3.1-8b", "H100", 1), 73.6 - 14.957 - 5.5 - 0.15},
		{"8B on L4, small steps", small, 22.08 - 14.957 - 2 - 0.15},
		{"70B on 4 × H100", deployment(t, "llama-3.1-70b", "H100", 4), 73.6 - 32.852 - 5.5 - 0.6},
		{"70B on one H100", deployment(t, "llama-3.1-70b", "H100", 1), 73.6 - 131.41 - 5.5 - 0.15},
		{"Mixtral on H200, larger activations", deployment(t, "mixtral-8x7b", "H200", 1), 129.72 - 86.99 - 8 - 0.15},
	} {
		if got := row.d.kvRoom() / GiB; got < row.want-0.05 || got > row.want+0.05 {
			t.Errorf("%s: %.2f GiB, want %.2f", row.name, got, row.want)
		}
	}
}

func TestKVBlocks(t *testing.T) {
	t.Parallel()
	// 52.99 GiB over 16 tokens of 128 KiB; on four ranks 34.65 GiB over 16
	// tokens of 80 KiB; nothing where the weights do not fit.
	for _, row := range []struct {
		d         Deployment
		low, high int
	}{
		{deployment(t, "llama-3.1-8b", "H100", 1), 27100, 27170},
		{deployment(t, "llama-3.1-70b", "H100", 4), 28360, 28410},
		{deployment(t, "llama-3.1-70b", "H100", 1), 0, 0},
	} {
		if got := row.d.KVBlocks(16); got < row.low || got > row.high {
			t.Errorf("%s on %d × %s: %d blocks, want %d to %d", row.d.Model.Name, row.d.TP, row.d.Accelerator.Name, got, row.low, row.high)
		}
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		accelerator string
		weights     Precision
		flops       float64
		in          Precision
	}{
		{"H100", BF16, 989e12, BF16},
		{"H100", FP8, 1979e12, FP8},
		{"A100", FP8, 312e12, BF16}, // no 8-bit unit: widened
		{"B200", FP4, 9000e12, FP4},
		{"H100", MXFP4, 989e12, BF16},
		{"H100", FP32, 494.5e12, FP32},
	} {
		a := must.Get(FindAccelerator(row.accelerator))(t)
		if flops, in := a.Rate(row.weights); flops != row.flops || in != row.in {
			t.Errorf("%s weights on %s: %v in %s, want %v in %s", row.weights, row.accelerator, flops, in, row.flops, row.in)
		}
	}
}
