package measure

import (
	"testing"
	"time"

	"redline/internal/diagnose"
	"redline/internal/result"
	"redline/internal/sim"
	"redline/internal/store"
)

// Whole runs, over HTTP and in virtual time, are diagnosed by what they
// measured: each knob of the engine puts it into the regime of that name.
func TestRunsAreDiagnosed(t *testing.T) {
	for _, c := range []struct {
		regime, rate string
		engine       sim.Spec
	}{
		{"", "4", sim.Spec{}},
		{"rate-limited", "6", sim.Spec{RateLimit: 3}},
		{"cold-start", "4", sim.Spec{ColdStart: 12 * time.Second}},
		{"network-bound", "4", sim.Spec{NetDelay: 60 * time.Millisecond}},
		{"scheduler-saturation", "8", sim.Spec{MaxNumSeqs: 3}},
		{"kv-pressure", "14", sim.Spec{NumGPUBlocksOverride: 64, MaxModelLen: 800}},
	} {
		t.Run(c.regime, func(t *testing.T) {
			flags := map[string][]string{"url": {"http://sim"}, "rate": {c.rate}, "duration": {"40s"}, "warmup": {"0s"},
				"workload": {"in=fixed(200) out=fixed(60)"}}
			c.engine.Model = sim.DefaultModel
			runVirtualOn(t, c.engine, flags, "", func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
				// How busy this machine is has nothing to do with virtual time.
				res.Verdict.Valid = "yes"
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
