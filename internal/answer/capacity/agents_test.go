package capacity

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// live is a load of so many agents, who send a request each in 20 s.
func live(agents int, ttft float64, standing slo.Standing) result.Point {
	p := at(float64(agents)/20, ttft, standing)
	p.Load = result.Load{Mode: "closed", Concurrency: &agents, Agents: true}
	return p
}

// TestAgents: 5,000 agents on instances that carry 40, with a fifth to spare, and
// what each costs and draws.
func TestAgents(t *testing.T) {
	t.Parallel()
	found := sweep(live(20, 200, slo.Met), live(40, 400, slo.Met), live(60, 900, slo.Missed))
	found.Result.Limit = &result.Limit{Rate: 40, Unit: result.Agents, Interval: [2]float64{30, 50}, Standing: result.LimitFound, Confirmed: true,
		ByObjective: map[string]result.Bound{"ttft:p99<500ms": {}}}
	found.Prices = price.Spec{PerHour: 30}
	swept := sweep(found.Result.Points...)
	for name, c := range map[string]Configuration{"a limit that was searched for": found, "the highest of some levels": swept} {
		p := planOf(t, Demand{Agents: 5000}, c, Options{Headroom: 0.2})
		type plan struct {
			unit                  string
			limit                 float64
			alone, roomy          int
			expected, utilization float64
			watts                 float64
		}
		want := plan{"agents", 40, 125, 150, 5000.0 / 150, 5000.0 / (150 * 40), 150 * 2 * 700}
		got := plan{p.Demand.Unit, p.Limit.Rate, p.Instances, p.InstancesWithHeadroom, p.Expected.Rate, p.UtilizationAtPeak, *p.Watts}
		expect.NoDiff(t, cmp.Diff(want, got, cmp.AllowUnexported(plan{}), near), "%s (-want +got)", name)
	}
	// 4,500 an hour for 5,000 agents, who send 900,000 requests in it.
	cost := planOf(t, Demand{Agents: 5000}, found, Options{Headroom: 0.2}).Cost
	expect.NoDiff(t, cmp.Diff([]float64{4500, 0.9, 0.005}, []float64{cost.PerHour, *cost.PerAgentHour, cost.PerRequest}, near), "cost (-want +got)")
	given := planOf(t, Demand{Agents: 100}, Configuration{Limit: 40, Prices: price.Spec{PerHour: 30}}, Options{})
	if given.InstancesToRun != 3 || given.Cost.PerRequest != 0 || *given.Cost.PerAgentHour != 0.9 {
		t.Errorf("of a given limit: %d instances, %+v", given.InstancesToRun, given.Cost)
	}
}

// TestAgentsAreNoRate: a limit in one unit answers no question in the other.
func TestAgentsAreNoRate(t *testing.T) {
	t.Parallel()
	ofAgents, ofRates := sweep(live(20, 200, slo.Met)), sweep(at(20, 200, slo.Met))
	ofAgents.Result.Limit = &result.Limit{Rate: 20, Unit: result.Agents}
	ofRates.Result.Limit = &result.Limit{Rate: 20}
	for _, tt := range []struct {
		d    Demand
		c    Configuration
		want string
	}{
		{Demand{Rate: 10}, ofAgents, "its limit is a number of agents"},
		{Demand{Agents: 10}, ofRates, "its limit is in requests/s, not in agents"},
		{Demand{Agents: 10}, sweep(at(20, 200, slo.Met)), "no load was measured"},
		{Demand{Agents: -1}, ofAgents, "agents: expected a number above 0"},
	} {
		if _, err := Plan(context.Background(), tt.d, []Configuration{tt.c}, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.d, err, tt.want)
		}
	}
}
