package measure

import (
	"math"
	"strings"
	"testing"

	"redline/internal/catalog"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// TestPrefillSlope: by the client's times alone, a prompt of the simulated
// engine costs about what the law of its steps says.
func TestPrefillSlope(t *testing.T) {
	plan := must.File(t, "plan.yaml", "metrics: {track_prefill: true}\nworkload: {prompt: 'uniform(500,4000)', output: 'uniform(5,10)'}\n")
	model := must.Get(catalog.FindModel("llama-3.1-8b"))(t)
	h100 := must.Get(catalog.FindAccelerator("H100"))(t)
	d := catalog.Deploy(model, h100, 1)
	law := func(prompt float64) float64 {
		return d.Forecast(catalog.Traffic{Prompt: prompt, Output: 8, Concurrency: 1}).Prefill
	}
	want := 1e3 * (law(4000) - law(500)) / 3.5
	for _, row := range []struct {
		name  string
		flags map[string][]string
		slope bool
		warns bool
	}{
		{"nobody tells", map[string][]string{"concurrency": {"1"}, "no-telemetry": {"true"}}, true, false},
		{"the server tells", map[string][]string{"concurrency": {"1"}}, false, false},
		{"never alone", map[string][]string{"concurrency": {"20"}, "no-telemetry": {"true"}}, false, true},
		{"of one length", map[string][]string{"concurrency": {"1"}, "no-telemetry": {"true"}, "workload": {"fixed(500,5)"}}, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.flags["url"], row.flags["requests"] = []string{"http://sim"}, []string{"100"}
			runVirtualOn(t, sim.Spec{Model: "llama-3.1-8b", GPU: "H100"}, row.flags, plan, func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
				got := res.Points[0].PrefillSlope
				if (got != nil) != row.slope {
					t.Fatalf("slope %+v", got)
				}
				warned := false
				for _, w := range res.Warnings {
					warned = warned || strings.HasPrefix(w.Text, "track_prefill: ")
				}
				if warned != row.warns {
					t.Errorf("warnings %+v", res.Warnings)
				}
				if got != nil && (math.Abs(got.MSPer1K/want-1) > 0.15 || got.Requests < 90 || got.LowMS > got.MSPer1K || got.HighMS < got.MSPer1K) {
					t.Errorf("%+v, want about %.1f ms for 1,000 tokens", got, want)
				}
			})
		})
	}
}
