package measure

import (
	"testing"
	"time"

	"redline/internal/answer/diagnose"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// Whole runs, over HTTP and in virtual time, are diagnosed by what they
// measured: each knob of the engine puts it into the regime of that name.
func TestRunsAreDiagnosed(t *testing.T) {
	plan := must.File(t, "plan.yaml", "metadata: {hardware: H100}\n")
	for _, c := range []struct {
		regime, rate string
		engine       sim.Spec
		workload     string
	}{
		{"", "4", sim.Spec{}, "in=fixed(200) out=fixed(60)"},
		{"rate-limited", "6", sim.Spec{RateLimit: 3}, "in=fixed(200) out=fixed(60)"},
		{"cold-start", "4", sim.Spec{ColdStart: 12 * time.Second}, "in=fixed(200) out=fixed(60)"},
		{"network-bound", "4", sim.Spec{NetDelay: 60 * time.Millisecond}, "in=fixed(200) out=fixed(60)"},
		{"scheduler-saturation", "8", sim.Spec{MaxNumSeqs: 3}, "in=fixed(200) out=fixed(60)"},
		{"kv-pressure", "14", sim.Spec{NumGPUBlocksOverride: 64, MaxModelLen: 800}, "in=fixed(200) out=fixed(60)"},
		{"prefix-cache", "3", sim.Spec{EnablePrefixCaching: new(false)}, "shared_rag"},
		{"inefficient-decode", "4", sim.Spec{MemoryShare: 0.15}, "in=fixed(200) out=fixed(60)"},
	} {
		t.Run(c.regime, func(t *testing.T) {
			flags := map[string][]string{"url": {"http://sim"}, "rate": {c.rate}, "duration": {"40s"}, "warmup": {"0s"},
				"workload": {c.workload}}
			c.engine.Model = sim.DefaultModel
			runVirtualOn(t, c.engine, flags, plan, func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
				found := ""
				findings := diagnose.Find(res)
				if len(findings) > 0 {
					found = findings[0].Regime
				}
				if found != c.regime {
					t.Errorf("diagnosed as %q: %+v", found, findings)
				}
			})
		})
	}
}
