package assemble

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/plan/config"
)

func TestFlagsOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		"":                                   nil,
		"--max-num-seqs 256 --enforce-eager": {"max_num_seqs": "256", "enforce_eager": "true"},
		"--tp=4 --lora a b":                  {"tensor_parallel_size": "4", "lora": "a b"},
		"as shipped":                         {"flags": "as shipped"},
		"vllm serve meta-llama/Llama-3.1-8B -tp 2 --max_num_batched_tokens=8k --no-enable-prefix-caching": {"tensor_parallel_size": "2", "max_num_batched_tokens": "8k", "enable_prefix_caching": "false"},
		"--tp-size 4 --schedule-conservativeness -1":                                                      {"tensor_parallel_size": "4", "schedule_conservativeness": "-1"},
	} {
		expect.NoDiff(t, cmp.Diff(want, flagsOf(text)), "%q", text)
	}
}

// TestMetadataKeepsNoSecret: what the plan says of the set-up stands in the
// result without the secrets that were copied along.
func TestMetadataKeepsNoSecret(t *testing.T) {
	t.Parallel()
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	text := `provider: {api_endpoint: "http://x", model: m, api_key: "key-of-the-plan"}
metadata:
  flags: --api-key sk-literal-1 --hf-token=hf_literal_2 --max-num-batched-tokens 131072
  notes: the key is key-of-the-plan
  note: key-of-the-plan
  label: night
`
	must.Write(t, plan, text)
	c := must.Get(config.Resolve(config.Input{PlanPath: plan}))(t)
	res := blank(c, "id", time.Unix(0, 0))
	want := map[string]string{"api_key": "***", "hf_token": "***", "max_num_batched_tokens": "131072"}
	expect.Same(t, want, res.Engine.Flags)
	all := must.Get(json.Marshal(res))(t)
	for _, secret := range []string{"key-of-the-plan", "sk-literal-1", "hf_literal_2"} {
		if strings.Contains(string(all), secret) {
			t.Errorf("%s stands in %s", secret, all)
		}
	}
}
