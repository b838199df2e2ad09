package report

import (
	"bytes"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/show/document"
)

// A plan that was tried shows what came of it, over time and with an
// instance less.
func TestRehearsalIsShown(t *testing.T) {
	t.Parallel()
	part := func(u float64) result.RehearsedPart { return result.RehearsedPart{Utilization: &u} }
	fleet := func(n int, met bool, share float64) result.FleetRehearsal {
		return result.FleetRehearsal{Instances: n, Requests: 1000, Latency: map[string]result.Percentile{"ttft": {P99: 412}},
			Objectives: []result.RehearsedObjective{{Objective: "ttft:p99<500ms", Met: met, Share: share, Allowed: 0.01}},
			Parts:      []result.RehearsedPart{part(0.2), part(0.8)}}
	}
	less := fleet(5, false, 0.12)
	plan := &result.Capacity{CapacityPlan: result.CapacityPlan{InstancesToRun: 6, Limit: result.CapacityLimit{Rate: 20, Basis: result.LimitMeasured},
		Rehearsal: &result.Rehearsal{Engine: "fitted to runs/a", Traffic: "Poisson at 100 requests/s", SpanS: 3600, Router: "round-robin",
			Planned: fleet(6, true, 0.002), OneLess: &less}}}
	var text, page bytes.Buffer
	must.Do(t, document.Terminal(&text, Capacity(plan), document.TerminalOptions{Width: 200}))
	must.Do(t, document.Markdown(&page, Capacity(plan), 2))
	shown := strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(text.String())
	for _, want := range []string{
		"Poisson at 100 requests/s for 1h0m0s · round-robin · engine fitted to runs/a",
		"6 instances: met · ttft:p99<500ms missed by 0.2% of requests, 1% allowed",
		"one less", "5 instances: MISSED · ttft:p99<500ms missed by 12% of requests, 1% allowed",
		"over time   20 80% of what the instances carry, in stretches of 30 min",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in:\n%s", want, shown)
		}
	}
	if !strings.Contains(page.String(), "5 instances") {
		t.Errorf("the page lacks the rehearsal:\n%s", page.String())
	}
}
