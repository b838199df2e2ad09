package assemble

import (
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/observe/engine"
	"redline/internal/plan/config"
)

// What the plan states is what the report says, with what the server says beside
// it where that differs.
func TestWhatIsStatedWins(t *testing.T) {
	t.Parallel()
	c := &config.Config{Metadata: config.Metadata{"engine": "our-vllm", "engine_version": "0.11.0", "precision": "FP8", "parallelism": "tp 4, pp 2",
		"flags": "--max-num-seqs 256 --no-enable-prefix-caching --gpu-memory-utilization 0.90"}}
	c.Provider.URLs = []string{"http://a:8000"}
	c.Provider.Model = "meta-llama/Llama-3.1-70B-Instruct"
	res := &result.Result{Engine: result.Engine{Name: "vllm", Version: "v0.11.0"}}
	declare(res, c)
	describe(res, c, engine.Facts{Precision: "fp8", Flags: map[string]string{"max_num_seqs": "128", "enable_prefix_caching": "true", "gpu_memory_utilization": "0.9"}}, nil)
	e := res.Engine
	if e.Name != "our-vllm" || e.Version != "0.11.0" || res.Model.Precision != "FP8" || e.TP != 4 || e.PP != 2 || res.Model.Size != "70B" || e.Flags["max_num_seqs"] != "256" {
		t.Errorf("%+v, %+v", e, res.Model)
	}
	var said []string
	for _, w := range res.Warnings {
		said = append(said, w.Text)
	}
	want := "the plan states engine our-vllm, the server says vllm\nthe plan states enable_prefix_caching false, the server says true\nthe plan states max_num_seqs 256, the server says 128"
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("warnings:\n%s\nwant:\n%s", got, want)
	}
}

func TestSameNumbers(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]bool{{"8k", "8000"}: true, {"8K", "8192"}: true, {".9", "0.90"}: true, {"8k", "8192"}: false, {"auto", "auto"}: false} {
		if got := sameNumber(pair[0], pair[1]); got != want {
			t.Errorf("%q is %q: %v", pair[0], pair[1], got)
		}
	}
}

// Flags also say over how many accelerators the model lies, and the memory of a
// known accelerator is that of its data sheet.
func TestFlagsLayTheModelOut(t *testing.T) {
	t.Parallel()
	c := &config.Config{Metadata: config.Metadata{"flags": "--tensor-parallel-size 4 --pipeline-parallel-size 2", "hardware": "8 x H100"}}
	c.Provider.URLs = []string{"http://a:8000"}
	res := &result.Result{}
	declare(res, c)
	describe(res, c, engine.Facts{Parallelism: "tp 2"}, nil)
	if e := res.Engine; e.TP != 4 || e.PP != 2 || res.Hardware.MemoryMB != 80<<10 {
		t.Errorf("tp %d, pp %d, %d MB", e.TP, e.PP, res.Hardware.MemoryMB)
	}
	if len(res.Warnings) != 1 || res.Warnings[0].Text != "the plan states parallelism tp 4, pp 2, the server says tp 2" {
		t.Errorf("warnings %+v", res.Warnings)
	}
}
