package report

import "redline/internal/judge/result"

// pricedSample is the mix with prices: what it cost in all, and each class.
func pricedSample() *result.Result {
	r := mixSample()
	p := &r.Points[0]
	r.Billed = new(0.0917)
	p.Cost = &result.Cost{Spend: 0.0833, PerRequest: 0.0000347, Per1kTokens: 0.0000475, Per1mOutput: 0.186,
		Per1mAccepted: new(0.191), TokensPerUnit: new(21_050_000.0), OutputPerUnit: new(5_376_000.0),
		Reserved:    &result.UnitCost{PerRequest: 0.0000222, Per1kTokens: 0.0000304, Per1mOutput: 0.119, Per1mAccepted: new(0.122)},
		Planned:     &result.PlannedCost{Utilization: 0.6, UnitCost: result.UnitCost{PerRequest: 0.0000578, Per1kTokens: 0.0000792, Per1mOutput: 0.31, Per1mAccepted: new(0.318)}},
		Assumptions: []string{"$2.50 an accelerator-hour × 1, as of 2026-11-01, our cloud contract"}}
	p.GroupCosts = []result.GroupCost{
		{By: "class", Name: "chat", Cost: result.Cost{Spend: 0.0625, PerRequest: 0.0000312, Per1kTokens: 0.0000431, Per1mOutput: 0.171, Per1mAccepted: new(0.174)}},
		{By: "class", Name: "rag", Cost: result.Cost{Spend: 0.0208, PerRequest: 0.0000521, Per1kTokens: 0.000011, Per1mOutput: 0.262}},
	}
	return r
}

// capacitySample is a limit with the plan that rests on it.
func capacitySample() *result.Result {
	r := limitSample()
	r.Capacity = &result.Capacity{CapacityPlan: result.CapacityPlan{
		Name: "runs/h100", Demand: result.Demand{Rate: 100, Mean: new(60.0)}, Headroom: 0.2, Spare: 1,
		Limit:       result.CapacityLimit{Rate: 21.4, Interval: &[2]float64{19.8, 22.3}, Basis: result.LimitMeasured, Objectives: []string{"ttft:p99<500ms"}},
		Accelerator: "H100", GPUsPerInstance: 8, Instances: 5, GPUs: 40, InstancesWithHeadroom: 6, GPUsWithHeadroom: 48,
		InstancesToRun: 7, GPUsToRun: 56, InstancesIfLow: new(8), UtilizationAtPeak: 0.668, UtilizationAtMean: new(0.401),
		Expected: &result.ExpectedLatency{Rate: 14.3, Figures: []result.ExpectedFigure{
			{Name: "ttft_due_ms", Stat: "p50", MS: 50.3}, {Name: "ttft_due_ms", Stat: "p99", MS: 150}, {Name: "tpot_ms", Stat: "p99", MS: 15.2}}},
		Cost: &result.CapacityCost{PerHour: 140, PerMonth: 102_200, ReservedPerHour: new(89.6), ReservedPerMonth: new(65_408.0), AtRate: 60,
			PerRequest: 0.000648, Per1kTokens: new(0.000887), Per1mTokens: new(0.887), Per1mOutput: new(3.47)},
		Sensitivity: []result.Sensitivity{
			{Name: "traffic -20%", InstancesToRun: 6, GPUsToRun: 48, PerMonth: new(87_600.0)},
			{Name: "traffic +20%", InstancesToRun: 8, GPUsToRun: 64, PerMonth: new(116_800.0)},
			{Name: "prompts +50%", InstancesToRun: 9, GPUsToRun: 72, PerMonth: new(131_400.0)},
		},
		Assumptions: []string{"load is spread evenly over the instances, and its requests are like those that were measured", "$2.50 an accelerator-hour × 8"},
		Notes:       []string{"the limit is a cliff: latency is far beyond the objective within 5% of rate, so keep the headroom"},
	}}
	return r
}
