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
