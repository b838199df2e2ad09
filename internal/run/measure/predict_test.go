package measure

import (
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// hardwarePlan writes a plan that says what a server runs on.
func hardwarePlan(t *testing.T, metadata string) string {
	t.Helper()
	path := must.File(t, "plan.yaml", "metadata:\n"+metadata)
	return path
}

// The simulated engine schedules step by step what the prediction takes as a
// mean: over loads from idle to a hundred at once the two agree.
func TestPredictionHoldsForTheSimulatedEngine(t *testing.T) {
	for _, row := range []struct {
		name  string
		flags map[string][]string
		// slowest is the measured ttft over the predicted at most: replies of
		// one length end together, so the prompts after them queue, which the
		// prediction leaves out.
		slowest float64
	}{
		{"one at a time", map[string][]string{"concurrency": {"1"}, "requests": {"60"}, "workload": {"fixed(500,60)"}}, 1.3},
		{"a light open load", map[string][]string{"rate": {"4"}, "duration": {"60s"}, "workload": {"fixed(500,60)"}}, 1.3},
		{"a hundred at once", map[string][]string{"concurrency": {"100"}, "requests": {"900"}, "workload": {"fixed(300,60)"}}, 20},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.flags["url"] = []string{"http://sim"}
			row.flags["telemetry-interval"] = []string{"2s"}
			runVirtual(t, row.flags, hardwarePlan(t, "  hardware: 1 x H100\n"), func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
				p := res.Points[0].Prediction
				if p == nil || p.TPOT.Ratio == nil || p.TTFT.Ratio == nil || p.MBU == nil || p.MFU == nil || p.KVPeak == nil {
					t.Fatalf("no prediction: %+v; %v %v", p, res.Warnings, res.Unknown)
				}
				if r := *p.TPOT.Ratio; r < 0.85 || r > 1.15 {
					t.Errorf("measured tpot is %.2f of the predicted: %s", r, p.Decode)
				}
				if r := *p.TTFT.Ratio; r < 0.7 || r > row.slowest {
					t.Errorf("measured ttft is %.2f of the predicted: %s", r, p.Prefill)
				}
				if *p.MBU <= 0.2 || *p.MBU >= 0.8 || *p.MFU <= 0 || *p.MFU >= 0.72 {
					t.Errorf("mbu %.2f, mfu %.2f: the step law reaches 0.8 and 0.72 at most", *p.MBU, *p.MFU)
				}
				if p.Model != "llama-3.1-8b" || p.Accelerator != "H100-SXM" || p.Count != 1 || p.Precision != "bf16" {
					t.Errorf("computed for %+v", p)
				}
				if k := res.Points[0].KV; k == nil || k.ServerPeakMB == nil || *k.ServerPeakMB > 1.3*k.PeakMB || *k.ServerPeakMB <= 0 {
					t.Errorf("kv %+v: want the server's gauge near the records", k)
				}
			})
		})
	}
}
