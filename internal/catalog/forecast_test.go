package catalog

import (
	"testing"

	"redline/internal/text"
)

// TestForecast follows the sums by hand for a 70B model on four H100: 34.65 GiB
// of room on each, 80 KiB a token there, 1,150 tokens a request on average.
func TestForecast(t *testing.T) {
	t.Parallel()
	d := deployment(t, "llama-3.1-70b", "H100", 4)
	f := d.Forecast(Traffic{Prompt: 1000, Output: 300, Concurrency: 32})
	within(t, "full at", f.FullAt, 34.65*GiB/(1150*81920), 0.005)
	within(t, "room in tokens", f.RoomTokens, 34.65*GiB/81920, 0.005)
	if f.KVPerRequest != 1300*327680 || f.Batch != 32 || !f.Fits() {
		t.Errorf("kv of a request %d, batch %v, fits %v", f.KVPerRequest, f.Batch, f.Fits())
	}
	// Weights of 69.5 G at two bytes and the cache of 32 requests, a quarter each.
	within(t, "read per step", f.StepBytesRead, 69.5e9*2/4+32*1150*81920, 0.005)
	// 2 · 0.8 · 989 TFLOPS / (0.72 · 3.35 TB/s), turned round, and the head.
	within(t, "ridge", f.Ridge, 989e12*0.72/(3.35e12*0.8)*69.5/68.45, 0.01)
	if crowded := d.Forecast(Traffic{Prompt: 1000, Output: 300, Concurrency: 4000}); crowded.Batch != crowded.FullAt {
		t.Errorf("batch %v of 4,000 requests, want as many as fit, %v", crowded.Batch, crowded.FullAt)
	}
}

// TestForecastSteps: alone and at a context of 1,024, what the step law says.
func TestForecastSteps(t *testing.T) {
	t.Parallel()
	d := deployment(t, "llama-3.1-8b", "H100", 1)
	for batch, want := range map[float64]float64{1: 6.6, 32: 9.0, 256: 27.8} {
		f := d.Forecast(Traffic{Prompt: 1023, Output: 2, Concurrency: batch})
		within(t, "decode step", 1e3*f.Step, want, 0.1)
	}
	within(t, "prefill", 1e3*d.Forecast(Traffic{Prompt: 2048, Output: 1}).Prefill, 47.6, 0.1)
}

func TestLeastTP(t *testing.T) {
	t.Parallel()
	traffic := Traffic{Prompt: 1000, Output: 300, Concurrency: 1}
	d := deployment(t, "llama-3.1-70b", "H100", 1)
	if s := d.Sheet(traffic); s.Fits || s.MinTP != 2 || s.ShortBytes < 63*GiB || s.ShortBytes > 64*GiB {
		t.Errorf("fits %v, least tp %d, short of %s; want 131 GiB of weights on 68 to need two", s.Fits, s.MinTP, text.Bytes(s.ShortBytes))
	}
	if got := deployment(t, "llama-3.1-405b", "TPU-v6e", 1).MinTP(traffic); got != 0 {
		t.Errorf("least tp %d without a known link, want none", got)
	}
}
