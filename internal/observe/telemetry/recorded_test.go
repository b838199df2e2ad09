package telemetry

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/must"
)

// TestReadRecordedVLLM reads the page of a real vLLM after its first request:
// 11 tokens of prompt and 5 of reply, in five steps.
func TestReadRecordedVLLM(t *testing.T) {
	t.Parallel()
	text := must.Read(t, "testdata/vllm-0.24.0/metrics.txt")
	page := ParsePage(text)
	if len(page.Bad) > 0 {
		t.Errorf("lines that cannot be read: %q", page.Bad)
	}
	got, known := page.Read()
	if !known {
		t.Fatal("not known as an engine's page")
	}
	want := &Reading{Engine: "vllm", Replicas: 1, StartedUnixS: new(1.79474194577e9), Running: new(0.0), Waiting: new(0.0),
		WaitingFor: map[string]float64{"capacity": 0, "deferred": 0}, KVUsage: new(0.0), OpenFiles: new(46.0), PrefixHits: new(0.0), TierHits: new(0.0), PrefixQueries: new(11.0),
		Preemptions: new(0.0), Recomputes: new(0.0), PromptTokens: new(11.0), GenerationTokens: new(5.0), Requests: new(1.0),
		Steps: new(5.0), StepTokens: new(16.0), ProcessCPUS: new(42.53), TTFT: sums(0.1172337532043457, 1), ITL: sums(0.017962715999999546, 4),
		Queue: sums(3.934699998353608e-05, 1), Prefill: sums(0.02136402100001078, 1), Decode: sums(0.017962715999999546, 1),
		Inference: sums(0.039326737000010326, 1), E2E: sums(0.13465476036071777, 1)}
	expect.Same(t, want, got, cmpopts.IgnoreFields(Reading{}, "Config"), cmpopts.IgnoreFields(Histogram{}, "LE", "N"))
	if got.Config["num_gpu_blocks"] != "52478" || got.Config["block_size"] != "16" {
		t.Errorf("config %v", got.Config)
	}
	// Its first request waited inside the process that serves it: ttft is more
	// than queue and prefill.
	if inside := got.TTFT.SumS - got.Queue.SumS - got.Prefill.SumS; inside < 0.09 || inside > 0.1 {
		t.Errorf("%v s of the front end, want 0.096", inside)
	}
}

// TestWaitingFor: what waits is told by its reason, and nothing where no page
// lies in the window.
func TestWaitingFor(t *testing.T) {
	t.Parallel()
	page := func(at int64, capacity float64) Scrape {
		return Scrape{At: at, Reading: &Reading{Engine: "vllm", WaitingFor: map[string]float64{"capacity": capacity, "deferred": 0},
			Steps: new(float64(at)), StepTokens: new(8 * float64(at)), ProcessCPUS: new(0.5 * float64(at) / 1e9)}}
	}
	pages := []Scrape{page(0, 1), page(1e9, 3), page(2e9, 5), page(9e9, 0)}
	use := ServerOver(pages, 0, 2e9)
	expect.Same(t, map[string]Gauge{"capacity": {Mean: 3, Max: 5}, "deferred": {}}, use.WaitingFor)
	if *use.Steps != 2e9 || *use.TokensPerStep != 8 || *use.FrontEndCores != 0.5 {
		t.Errorf("%v steps of %v tokens, %v of a core; want 2e9 of 8, 0.5", *use.Steps, *use.TokensPerStep, *use.FrontEndCores)
	}
	if got := ServerOver(pages, 3e9, 4e9).WaitingFor; got != nil {
		t.Errorf("between two pages: %v", got)
	}
}
