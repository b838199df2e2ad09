package telemetry

import (
	"fmt"
	"testing"
)

// Engines are of the pool that a label names, else of that of their work, and a pool's
// figures are those of its engines.
func TestPools(t *testing.T) {
	t.Parallel()
	page := func(at int64, prompts, tokens, waited float64, pool func(i int) string) Scrape {
		r := &Reading{Engine: "vllm", Replicas: 4}
		for i := range 4 {
			made, ended := prompts, prompts // one token for each prompt
			if i >= 2 {
				made = tokens
			}
			r.Each = append(r.Each, Replica{Name: fmt.Sprint(i), Pool: pool(i), Waiting: new(float64(i)), KVUsage: new(0.1 * float64(i)),
				GenerationTokens: &made, Requests: &ended, QueueS: &waited, Queued: &ended})
		}
		return Scrape{At: at, Reading: r}
	}
	labels := func(i int) string {
		return poolByLabels([]string{"0", fmt.Sprintf("llm-%s-%d", []string{PrefillPool, DecodePool}[i/2], i), "prefill-decode"})
	}
	for name, pool := range map[string]func(int) string{"by labels": labels, "by work": func(int) string { return "" }} {
		use := ServerOver([]Scrape{page(0, 0, 0, 0, pool), page(10e9, 50, 5000, 25, pool)}, 0, 10e9)
		prefill, decode := use.Pool(PrefillPool), use.Pool(DecodePool)
		if prefill == nil || decode == nil {
			t.Fatalf("%s: %+v", name, use.Pools)
		}
		if prefill.Engines != 2 || prefill.Waiting.Mean != 1 || decode.Waiting.Mean != 5 || decode.KVUsage.Mean != 0.25 || *decode.GenerationTokens != 10_000 || *prefill.QueueMS != 500 {
			t.Errorf("%s: prefill %+v, decode %+v", name, prefill, decode)
		}
	}
	alike := ServerOver([]Scrape{page(0, 0, 0, 0, func(int) string { return DecodePool }), page(10e9, 50, 5000, 25, func(int) string { return DecodePool })}, 0, 10e9)
	if alike.Pools != nil {
		t.Errorf("engines of one kind are %+v", alike.Pools)
	}
}
