package report

import (
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// jobsSample is 32 agents on two accelerators for an hour: some jobs failed, the
// longest were cut off, and the server's cache has less than an endless one.
func jobsSample() *result.Result {
	r := closedLoopSample()
	r.Label, r.Hardware.Count = "agents", 2
	r.Verdict.SLO, r.Verdict.Reasons = slo.Missed, []string{"missed job_ok:fraction>0.99"}
	r.Workload.Name, r.Warnings = "coding_agent", nil
	p := &r.Points[0]
	p.Load = result.Load{Mode: "closed", Concurrency: ptr(32), Agents: true}
	p.Window = metric.Window{StartS: 300, WarmupS: ptr(300.0), EndS: 3900}
	time := dist([]string{"p50", "p90", "p95"}, 301, 371_000, 298_000, 790_000, 1_120_000, 1_960_000, 2_400_000, 2_512_000)
	time.CI = map[string][2]float64{"p95": {980_000, 1_310_000}}
	delete(time.P, "p999")
	p.Jobs = &metric.Jobs{Started: 340, Finished: 296, Failed: 11, Cut: 28, OKFraction: ptr(0.964), PerHour: 296, LiveMean: 32, LiveMax: 32,
		Time: time, Serving: dist([]string{"p50", "p90", "p95"}, 301, 121_000, 96_000, 260_000, 371_000, 640_000, 702_000, 731_000),
		First:    dist(firmToP95, 340, 2100, 1620, 4100, 5600, 9800, 11_000, 11_200),
		Requests: ptr(38.7), PromptTokens: ptr(2_756_000.0), OutputTokens: ptr(19_800.0), CachedTokens: ptr(2_411_000.0), CachedFraction: ptr(0.871), IdealFraction: ptr(0.928)}
	p.Depths = []metric.Group{{Name: "0", Requests: metric.Requests{Due: 9100, OK: 9088}, Latency: p.Latency}, {Name: "1", Requests: metric.Requests{Due: 1360, OK: 1360}, Latency: p.Latency}}
	p.Objectives = []slo.Verdict{
		{Objective: "job:p95<1200s", Standing: slo.Undecided, Value: ptr(1_120_000.0), Unit: "ms", Limit: 1_200_000, N: 331, Violations: 21, NEff: ptr(280.0), Confidence: 0.95, Note: "about 600 more jobs would decide"},
		{Objective: "job_ok:fraction>0.99", Standing: slo.Missed, Value: ptr(0.964), Unit: "fraction", Limit: 0.99, N: 312, Violations: 11, NEff: ptr(312.0), Confidence: 0.95},
		{Objective: "jobs_per_hour:min>200", Standing: slo.Met, Value: ptr(296.0), Unit: "jobs/h", Limit: 200, N: 296, Bound: ptr(251.0), Confidence: 0.95},
	}
	return r
}
