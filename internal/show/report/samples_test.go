package report

import (
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
)

// sample is a result written by hand: a situation that every format must show.
type sample struct {
	name   string
	result *result.Result
}

func samples() []sample {
	return []sample{
		{"met", metSample()},
		{"missed", missedSample()},
		{"undecided", undecidedSample()},
		{"invalid", invalidSample()},
		{"interrupted", interruptedSample()},
		{"closed_loop", closedLoopSample()},
		{"no_streaming", noStreamingSample()},
		{"all_failed", allFailedSample()},
		{"one_request", oneRequestSample()},
		{"many_buckets", manyBucketsSample()},
		{"no_objectives", noObjectivesSample()},
		{"embedded", embeddedSample()},
		{"mix", mixSample()},
		{"embeddings", embeddingsSample()},
		{"heldup", heldUpSample()},
		{"curve", curveSample()},
		{"limit", limitSample()},
		{"wide", wideSample()},
		{"comparison", comparisonSample()},
		{"matrix", matrixSample()},
		{"repeats", repeatsSample()},
		{"quality", qualitySample()},
		{"tuning", tuningSample()},
		{"priced", pricedSample()},
		{"capacity", capacitySample()},
		{"toggles", togglesSample()},
		{"jobs", jobsSample()},
	}
}

func ptr[T any](v T) *T { return &v }

var (
	allFirm   = []string{"p50", "p75", "p90", "p95", "p99", "p999"}
	firmToP99 = []string{"p50", "p75", "p90", "p95", "p99"}
	firmToP95 = []string{"p50", "p75", "p90", "p95"}
)

// dist takes the figures in the order of the table: mean p50 p90 p95 p99 p99.9
// max.
func dist(firm []string, n int, mean, p50, p90, p95, p99, p999, top float64) *metric.Dist {
	return &metric.Dist{N: n, Mean: mean, Max: top, Firm: firm, P: map[string]float64{
		"p50": p50, "p75": (p50 + p90) / 2, "p90": p90, "p95": p95, "p99": p99, "p999": p999,
	}}
}

func interval99(d *metric.Dist, low, high float64) *metric.Dist {
	d.CI = map[string][2]float64{"p99": {low, high}}
	return d
}

// baseSample is two minutes of chat at 20 requests/s against vLLM on one H100,
// comfortably served.
func baseSample() *result.Result {
	return &result.Result{
		Schema:   result.Schema,
		ID:       "20260114-091203-chat20",
		Started:  time.Date(2026, 1, 14, 9, 12, 3, 0, time.UTC),
		Command:  "redline run --url http://10.0.0.5:8000 --rate 20 --duration 2m",
		Version:  "0.1.0",
		Seed:     7,
		Label:    "baseline",
		Plan:     map[string]any{"load_profile": map[string]any{"rate": 20, "duration": "2m"}},
		Hardware: result.Hardware{Accelerator: "H100", Count: 1},
		Model:    result.Model{Name: "llama-3.1-8b", Precision: "bf16"},
		Engine:   result.Engine{Name: "vllm", Version: "0.11.0", API: "openai-chat", URL: "http://10.0.0.5:8000"},
		Workload: result.Workload{Name: "chat", Tokenizer: "o200k", Arrival: "poisson"},
		Client: result.Client{
			OS: "linux", Arch: "amd64", CPUs: 8,
			Timestamps: result.Timestamps{Source: "kernel", Reads: 431207},
			CPUSeconds: 38.4, CPUShare: 0.04, GCPauseMS: 0.21, ClockStepMS: 0.002,
		},
		Verdict: result.Verdict{
			Valid: "yes", SLO: "none", Reasons: []string{},
			Checks:    passedChecks(),
			Unchecked: uncheckedOnServer(),
		},
		Points: []result.Point{basePoint()},
	}
}

func passedChecks() []result.Check {
	return []result.Check{
		{Name: "lag", OK: true, Figure: "p99 0.038 ms", Threshold: "≤ 1 ms"},
		{Name: "due against sent", OK: true, Figure: "0 of 2413 unsent", Threshold: "≤ 0.1%"},
		{Name: "own CPU", OK: true, Figure: "4% of 8 cores", Threshold: "< 85%"},
		{Name: "GC pause", OK: true, Figure: "longest 0.21 ms", Threshold: "≤ 10 ms"},
		{Name: "clock steps", OK: true, Figure: "largest 0.002 ms", Threshold: "≤ 1 ms"},
		{Name: "output lengths", OK: true, Figure: "14 of 2409 replies of another length (0.58%)", Threshold: "≤ 5%"},
		{Name: "prompt lengths", OK: true, Figure: "mean 545 tokens, 544 asked", Threshold: "± 91 tokens"},
	}
}

func uncheckedOnServer() []result.SkippedCheck {
	return []result.SkippedCheck{
		{Name: "scheduler delay", Why: "the run keeps no record of how long its own work waited for a core"},
		{Name: "client-side coalescing", Why: "only the server's own record can tell whether it wrote events together"},
		{Name: "cache contamination", Why: "whether the server had seen the prompts before is not known"},
		{Name: "foreign traffic", Why: "the server's own gauges are not read"},
		{Name: "server restart", Why: "the server's own gauges are not read"},
	}
}

func basePoint() result.Point {
	return result.Point{
		Load: result.Load{Mode: "open", Rate: ptr(20.0)},
		Summary: metric.Summary{
			Window: metric.Window{StartS: 10.2, WarmupS: ptr(10.2), EndS: 130.2, Steady: ptr(true), SettledS: ptr(3.0), Overload: ptr(false), Growth: ptr(2.1)},
			Requests: metric.Requests{Due: 2413, Sent: 2413, OK: 2409, Rejected: 3, Failed: 1,
				Faults: map[string]int{"rejected": 3, "reset": 1}},
			Rates: metric.Rates{Asked: ptr(20.0), Offered: 20.108, Sent: 20.108, Completed: 20.051},
			Latency: metric.Latency{
				TTFTDue: interval99(dist(firmToP99, 2409, 61.42, 54.13, 89.7, 104.2, 163.5, 241.8, 262.4), 151.2, 188.0),
				TTFT:    interval99(dist(firmToP99, 2409, 61.38, 54.10, 89.6, 104.1, 163.4, 241.7, 262.4), 151.1, 187.9),
				TTFA:    dist(firmToP99, 2409, 61.38, 54.10, 89.6, 104.1, 163.4, 241.7, 262.4),
				TPOT:    interval99(dist(firmToP99, 2403, 11.93, 11.71, 13.4, 14.2, 16.8, 18.9, 19.4), 16.1, 17.9),
				ITL:     dist(allFirm, 448291, 11.91, 11.32, 14.8, 17.3, 31.6, 58.2, 121.7),
				ICL:     dist(allFirm, 448291, 11.91, 11.32, 14.8, 17.3, 31.6, 58.2, 121.7),
				Stall:   dist(firmToP99, 2403, 41.2, 37.9, 62.3, 71.8, 98.4, 118.3, 121.7),
				E2EDue:  interval99(dist(firmToP99, 2409, 2281.4, 1874.2, 4391.7, 5612.3, 9240.6, 11873.2, 12204.9), 8710, 9860),
				E2E:     dist(firmToP99, 2409, 2281.3, 1874.1, 4391.6, 5612.3, 9240.5, 11873.1, 12204.8),
				Decode:  dist(firmToP99, 2409, 2219.9, 1820.0, 4301.0, 5508.0, 9077.1, 11640.0, 12001.0),
				Lag:     dist(firmToP99, 2413, 0.009, 0.006, 0.017, 0.022, 0.038, 0.081, 0.112),
			},
			Tokens: metric.Tokens{
				Prompt: 1311842, Output: 450112, AskedPrompt: 1310011, AskedOutput: 458203,
				Counted: map[string]int{"usage": 2409}, Events: 450697, Coalesced: 61,
				PromptLengths: dist(allFirm, 2409, 544, 401, 1120, 1490, 2570, 4096, 4096),
				OutputLengths: dist(allFirm, 2409, 187, 142, 371, 489, 902, 1024, 1024),
			},
			Throughput:  metric.Throughput{Requests: 20.051, Output: 3748.3, Prompt: 10931.7, Total: 14680.0},
			Concurrency: metric.Concurrency{Mean: 45.92, Max: 71, Little: 45.87},
			TailRatio:   map[string]float64{"ttft": 3.02},
		},
	}
}

func withObjectives(r *result.Result, overall slo.Standing, verdicts ...slo.Verdict) *result.Result {
	r.Verdict.SLO = overall
	r.Points[0].Objectives = verdicts
	return r
}

func metSample() *result.Result {
	base := baseSample()
	overTime(&base.Points[0])
	base.Points[0].Server = &telemetry.ServerUse{Engine: "vllm", Samples: 120,
		Running: &telemetry.Gauge{Mean: 44.1, Max: 70}, Waiting: &telemetry.Gauge{Mean: 0.12, Max: 6},
		KVUsage: &telemetry.Gauge{Mean: 0.213, Max: 0.37}, PrefixHitRate: ptr(0.021), Preemptions: ptr(3.0),
		Queue: &telemetry.Timing{N: 2409, Mean: 4.21}, Prefill: &telemetry.Timing{N: 2409, Mean: 52.7}}
	base.Points[0].Ledger = &metric.Ledger{N: 2409, WholeMS: 62.4, SlowMS: 148, RestMS: 1.1, SlowRestMS: 2.2, Over: 2, OverMS: 1.3, Parts: []metric.LedgerEntry{
		{Name: "lag", MeanMS: 0.1, SlowMS: 0.2, N: 2409}, {Name: "upload", MeanMS: 0.3, SlowMS: 0.3, N: 2409}, {Name: "network", MeanMS: 0.9, SlowMS: 0.9, N: 2409},
		{Name: "gateway", MeanMS: 3.1, SlowMS: 3.4, N: 2409}, {Name: "queue", MeanMS: 4.2, SlowMS: 40, N: 2409}, {Name: "prefill", MeanMS: 52.7, SlowMS: 101, N: 2409}}}
	base.Points[0].Accelerator = &telemetry.AcceleratorUse{Source: "dcgm", Devices: 8, Names: []string{"NVIDIA H200", "NVIDIA H200"}, Samples: 120, CoveredS: 120,
		IdleUtilization: ptr(0.01), Utilization: &telemetry.Gauge{Mean: 0.97, Max: 1}, DRAMActive: &telemetry.Gauge{Mean: 0.61, Max: 0.7},
		TensorActive: &telemetry.Gauge{Mean: 0.082, Max: 0.3}, MemoryMB: &telemetry.Gauge{Mean: 114688, Max: 114688}, MemoryTotalMB: ptr(143771.0),
		ClockMHz: &telemetry.Gauge{Mean: 1752, Max: 1980}, TemperatureC: &telemetry.Gauge{Mean: 61, Max: 64}, Watts: &telemetry.Gauge{Mean: 5403, Max: 5560},
		Joules: ptr(648360.0), JoulesPerOutputToken: ptr(1.441), Throttled: map[string]float64{"sw_power_cap": 0.12, "hw_thermal_slowdown": 0.001}}
	base.Warnings = append(base.Warnings, result.Warning{Figure: "accelerator",
		Text: "latencies are those of accelerators whose clock was held back by their power cap (sw_power_cap) 12% of the time"})
	r := withObjectives(base, "met",
		slo.Verdict{Objective: "ttft:p99<500ms", Standing: slo.Met, Value: ptr(163.9), Unit: "ms", Limit: 500, Bound: ptr(196.2), Confidence: 0.95, N: 2413, Violations: 4, NEff: ptr(1840.0), Sees: ptr(20.0)},
		slo.Verdict{Objective: "tpot:p99<50ms", Standing: slo.Met, Value: ptr(16.82), Unit: "ms", Limit: 50, N: 2407, Violations: 4, NEff: ptr(2011.0)},
		slo.Verdict{Objective: "error:rate<1%", Standing: slo.Met, Value: ptr(0.00166), Unit: "fraction", Limit: 0.01, N: 2413, Violations: 4},
	)
	r.Points[0].Goodput = &metric.Goodput{Requests: 20.03, Fraction: 0.99834}
	r.Points[0].Fluidity = ptr(0.9991)
	r.AntiPatterns = []result.AntiPattern{{Name: "one tenant", Why: "tenants of unlike traffic take the batch and the cache from each other", Cure: "give each its share with workload.tenants"}}
	return r
}

// missedSample is the same server at 34 requests/s, where its queue is long.
func missedSample() *result.Result {
	r := withObjectives(baseSample(), "missed",
		slo.Verdict{Objective: "ttft:p99<500ms", Standing: slo.Missed, Value: ptr(812.4), Unit: "ms", Limit: 500, Bound: ptr(741.9), Confidence: 0.95, N: 4092, Violations: 187, NEff: ptr(611.0)},
		slo.Verdict{Objective: "tpot:p99<50ms", Standing: slo.Met, Value: ptr(27.41), Unit: "ms", Limit: 50, N: 4075, Violations: 12, NEff: ptr(1702.0)},
		slo.Verdict{Objective: "good:fraction>0.99", Standing: slo.Missed, Value: ptr(0.9543), Unit: "fraction", Limit: 0.99, N: 4092, Violations: 187},
		slo.Verdict{Objective: "throughput:min>5000", Standing: slo.Met, Value: ptr(6304.8), Unit: "tokens/s", Limit: 5000},
	)
	r.ID, r.Label = "20260114-094417-chat34", "chat at 34/s"
	r.Verdict.Reasons = []string{"ttft:p99<500ms missed: 812 ms", "good:fraction>0.99 missed: 0.954"}
	p := &r.Points[0]
	p.Load.Rate = ptr(34.0)
	p.Rates = metric.Rates{Asked: ptr(34.0), Offered: 34.1, Sent: 34.1, Completed: 33.8}
	p.Requests = metric.Requests{Due: 4092, Sent: 4092, OK: 4081, Rejected: 9, Failed: 2, Short: 14,
		Faults: map[string]int{"rejected": 9, "timeout": 1, "reset": 1}}
	p.Latency.TTFTDue = interval99(dist(firmToP99, 4081, 168.2, 121.4, 312.7, 488.1, 797.3, 1042, 1211), 742, 921)
	p.Latency.TTFT = interval99(dist(firmToP99, 4081, 168.1, 121.3, 312.6, 488.0, 797.2, 1042, 1211), 742, 921)
	p.Latency.TTFA = p.Latency.TTFT
	p.Latency.TPOT = interval99(dist(firmToP99, 4075, 18.34, 17.92, 21.8, 23.4, 27.2, 31.8, 34.0), 25.8, 29.4)
	p.Latency.ITL = dist(firmToP95, 761204, 18.31, 16.42, 24.9, 31.7, 66.4, 142.9, 391.3)
	p.Latency.ICL = p.Latency.ITL
	p.Latency.Stall = dist(firmToP99, 4075, 88.6, 74.1, 149.8, 187.4, 291.5, 371.2, 391.3)
	p.Latency.E2EDue = dist(firmToP99, 4081, 3562, 2941, 6843, 8712, 14320, 18204, 19933)
	p.Latency.E2E = dist(firmToP99, 4081, 3561, 2940, 6843, 8711, 14319, 18203, 19932)
	p.Tokens.Events, p.Tokens.Coalesced = 765285, 5127
	p.Throughput = metric.Throughput{Requests: 33.8, Output: 6304.8, Prompt: 18544, CachedPrompt: 1210.4, Total: 24849}
	p.Concurrency = metric.Concurrency{Mean: 121.4, Max: 188, Little: 121.1}
	p.Goodput = &metric.Goodput{Requests: 32.54, Fraction: 0.9543}
	p.Fluidity = ptr(0.981)
	p.KV = &result.KV{MaxMBPerRequest: 611.2, PeakMB: 14320, RoomMB: 51200, Model: "llama-3.1-8b"}
	r.Diagnosis = missedWhy()
	return r
}

// undecidedSample is half a minute: too short to rely on its tails.
func undecidedSample() *result.Result {
	r := withObjectives(baseSample(), "undecided",
		slo.Verdict{Objective: "ttft:p99<200ms", Standing: slo.Undecided, Value: ptr(171.3), Unit: "ms", Limit: 200, N: 604, Violations: 3, NEff: ptr(372.0), Note: "about 1,204 more requests would decide"},
		slo.Verdict{Objective: "e2e:p95<6s", Standing: slo.Undecided, Value: ptr(5998.7), Unit: "ms", Limit: 6000, N: 604, Violations: 30, NEff: ptr(403.0), Note: "at the limit"},
		slo.Verdict{Objective: "kv:max<2048MB", Standing: slo.NotJudged, Unit: "MB", Limit: 2048, Note: "the model's shape is not known"},
	)
	p := &r.Points[0]
	p.Window = metric.Window{StartS: 10, WarmupS: ptr(10.0), EndS: 40}
	p.Requests = metric.Requests{Due: 604, Sent: 604, OK: 604}
	for _, d := range []*metric.Dist{p.Latency.TTFTDue, p.Latency.TTFT, p.Latency.TPOT, p.Latency.Stall, p.Latency.E2EDue, p.Latency.E2E} {
		d.N, d.Firm, d.CI = 604, firmToP95[:3], nil
	}
	p.Latency.TTFA = nil
	p.Latency.ITL.N = 112307
	p.Latency.ITL.Firm = firmToP99
	return r
}

// invalidSample was driven from a machine too small for it.
func invalidSample() *result.Result {
	r := metSample()
	r.Verdict.Valid = "no"
	r.Verdict.Checks[0] = result.Check{Name: "lag", Figure: "p99 41 ms", Threshold: "≤ 1 ms",
		Cure: "lower the rate, give the client more cores, or spread the load over machines"}
	r.Verdict.Checks[2] = result.Check{Name: "own CPU", Figure: "97% of 2 cores", Threshold: "< 85%",
		Cure: "give the client more cores, lower the rate, or run the server on another machine"}
	r.Client.CPUs, r.Client.CPUShare, r.Client.SharesHost = 2, 0.97, true
	r.Client.Timestamps.Missing = 12094
	r.Points[0].Latency.Lag = dist(firmToP99, 2413, 6.1, 2.2, 17.8, 24.1, 41.2, 66.0, 81.9)
	r.Points[0].Latency.TTFTDue = dist(firmToP99, 2409, 67.5, 57.1, 104.8, 127.7, 201.3, 290.4, 311.8)
	return r
}

func interruptedSample() *result.Result {
	r := metSample()
	r.Interrupted = "by the user after 23.4 s of 120 s"
	r.Verdict.Valid = "interrupted"
	p := &r.Points[0]
	p.Window = metric.Window{StartS: 10.2, WarmupS: ptr(10.2), EndS: 23.4}
	p.Requests = metric.Requests{Due: 266, Sent: 266, OK: 221, Cancelled: 45}
	for _, d := range []*metric.Dist{p.Latency.TTFTDue, p.Latency.TTFT, p.Latency.TTFA, p.Latency.TPOT, p.Latency.ITL, p.Latency.Stall, p.Latency.E2EDue, p.Latency.E2E} {
		d.N, d.Firm, d.CI = 221, nil, nil
	}
	p.Latency.ITL.N = 41260
	for i := range p.Objectives {
		p.Objectives[i].Standing = slo.Undecided
		p.Objectives[i].N, p.Objectives[i].Violations = 266, 45
		p.Objectives[i].Note = "the window is too short to tell"
		p.Objectives[i].Value = nil
	}
	p.Objectives[2].Value, p.Objectives[2].Violations = ptr(0.0), 0
	p.Rates = metric.Rates{Asked: ptr(20.0), Offered: 20.15, Sent: 20.15, Completed: 16.74}
	p.Throughput = metric.Throughput{Requests: 16.74, Output: 3301, Prompt: 10890}
	p.Goodput, p.Fluidity = &metric.Goodput{Requests: 16.7, Fraction: 0.8308}, nil
	r.Verdict.SLO = "undecided"
	return r
}

func closedLoopSample() *result.Result {
	r := baseSample()
	r.Workload = result.Workload{Name: "fixed(64,100)", Tokenizer: "o200k"}
	r.Warnings = []result.Warning{
		{Figure: "latency", Text: "low confidence in every percentile: the window is too short, 4.9 × the mean e2e where 20 × are needed; run longer"},
		{Figure: "window.steady", Text: "not known: the window is shorter than 50 s"},
		{Figure: "latency.e2e_due_ms", Text: "a closed loop throttles itself: a slow server is asked less often"},
	}
	p := &r.Points[0]
	p.Load = result.Load{Mode: "closed", Concurrency: ptr(50)}
	p.Window = metric.Window{StartS: 2, WarmupS: ptr(2.0), EndS: 12}
	p.Rates = metric.Rates{Offered: 24.9, Sent: 24.9, Completed: 24.8}
	p.Requests = metric.Requests{Due: 249, Sent: 249, OK: 249}
	p.Tokens.PromptLengths = dist(allFirm, 249, 64, 64, 64, 64, 64, 64, 64)
	p.Tokens.OutputLengths = dist(allFirm, 249, 100, 100, 100, 100, 100, 100, 100)
	tight := func(n int, v float64) *metric.Dist {
		return dist(nil, n, v, v, v*1.002, v*1.003, v*1.008, v*1.01, v*1.012)
	}
	p.Latency = metric.Latency{
		TTFTDue: tight(249, 20.41), TTFT: tight(249, 20.12), TPOT: tight(249, 20.001), ITL: tight(24651, 20.0),
		Stall: tight(249, 20.6), E2EDue: tight(249, 2000.9), E2E: tight(249, 2000.3),
		Lag: dist(nil, 249, 0.01, 0.008, 0.02, 0.03, 0.05, 0.06, 0.07),
	}
	p.Throughput = metric.Throughput{Requests: 24.8, Output: 2490, Prompt: 1593}
	p.Concurrency = metric.Concurrency{Mean: 49.8, Max: 50, Little: 49.8}
	return r
}

func noStreamingSample() *result.Result {
	r := withObjectives(baseSample(), "met",
		slo.Verdict{Objective: "e2e:p95<6s", Standing: slo.Met, Value: ptr(5620.0), Unit: "ms", Limit: 6000, N: 2413, Violations: 74, NEff: ptr(1603.0)},
		slo.Verdict{Objective: "ttft:p99<500ms", Standing: slo.NotJudged, Unit: "ms", Limit: 500, Note: "replies are not streamed"},
	)
	p := &r.Points[0]
	p.Latency = metric.Latency{E2EDue: p.Latency.E2EDue, E2E: p.Latency.E2E, Lag: p.Latency.Lag,
		Connect: dist(nil, 12, 0.41, 0.38, 0.52, 0.61, 0.66, 0.66, 0.66),
		TLS:     dist(nil, 12, 6.2, 6.1, 7.0, 7.4, 7.9, 7.9, 7.9)}
	p.Requests.Faults, p.Requests.Failed, p.Requests.Rejected = nil, 0, 0
	p.Requests.Due, p.Requests.Sent, p.Requests.Reconnects, p.Requests.Retried = 2409, 2409, 1, 3
	r.Client.Timestamps.Source = "user"
	return r
}

func allFailedSample() *result.Result {
	r := withObjectives(baseSample(), "missed",
		slo.Verdict{Objective: "ttft:p99<500ms", Standing: slo.Missed, Unit: "ms", Limit: 500, N: 1206, Violations: 1206})
	r.Points[0].Summary = metric.Summary{
		Window: metric.Window{StartS: 0, WarmupS: ptr(0.0), EndS: 60},
		Requests: metric.Requests{Due: 1206, Sent: 1206, Rejected: 1180, Failed: 26,
			Faults: map[string]int{"rejected": 1180, "http": 4, "connect": 22}},
		Rates:      metric.Rates{Asked: ptr(20.0), Offered: 20.1, Sent: 20.1},
		Latency:    metric.Latency{Lag: dist(firmToP95, 1206, 0.01, 0.01, 0.02, 0.02, 0.04, 0.08, 0.1)},
		Objectives: r.Points[0].Objectives,
	}
	r.Verdict.Reasons = []string{"1,180 of 1,206 replies were HTTP 429; the first said: \"rate limit reached\""}
	return r
}

func oneRequestSample() *result.Result {
	r := baseSample()
	p := &r.Points[0]
	one := func(v float64) *metric.Dist { return dist(nil, 1, v, v, v, v, v, v, v) }
	p.Window = metric.Window{StartS: 0, WarmupS: ptr(0.0), EndS: 1.4}
	p.Requests = metric.Requests{Due: 1, Sent: 1, OK: 1}
	p.Rates = metric.Rates{Asked: ptr(0.7), Offered: 0.714, Sent: 0.714, Completed: 0.714}
	p.Load.Rate = ptr(0.7)
	p.Latency = metric.Latency{TTFTDue: one(48.21), TTFT: one(48.19), E2EDue: one(48.21), E2E: one(48.19), Lag: one(0.02)}
	p.Tokens = metric.Tokens{Prompt: 12, Output: 1, Events: 1, PromptLengths: one(12), OutputLengths: one(1)}
	p.Throughput = metric.Throughput{Requests: 0.714, Output: 0.714, Prompt: 8.57}
	p.Concurrency = metric.Concurrency{Mean: 0.034, Max: 1, Little: 0.034}
	return r
}

// manyBucketsSample is an agent's mix under a cap that makes requests wait,
// from a reasoning model on a queue that grows.
func manyBucketsSample() *result.Result {
	r := baseSample()
	r.Label, r.Note = "", "second try, after the driver update; same node, nothing else scheduled on it as far as the cluster's own view goes"
	r.Workload = result.Workload{Name: "rag_agent", Tokenizer: "o200k", Arrival: "gamma(0.5)"}
	r.Engine.Declared = map[string]string{"prefix_caching": "not verified", "chunked_prefill": "not verified"}
	r.Warnings = []result.Warning{
		{Figure: "latency.itl_ms", Text: "unknown: the tokens of each event are not known; see icl"},
		{Figure: "latency.icl_ms.p75", Text: "not firm, and on no page"},
		{Figure: "throughput.output_tokens_per_s", Text: "3.1% of replies carried no usage; their tokens were counted by the local tokenizer"},
		{Text: "the server's clock is 2.1 s behind this machine's; joined logs will be off by that much"},
	}
	p := &r.Points[0]
	p.Load = result.Load{Mode: "capped", Rate: ptr(8.5), Concurrency: ptr(64)}
	p.Window = metric.Window{StartS: 60, WarmupS: ptr(60.0), EndS: 1260, Steady: ptr(false), SettledS: ptr(700.0), Overload: ptr(true), Growth: ptr(1204.0)}
	p.Requests = metric.Requests{Due: 10187, Sent: 8731, OK: 8702, Failed: 29, Censored: 64, Unsent: 1392,
		Faults: map[string]int{"timeout": 21, "error_event": 6, "malformed": 2}, Retried: 0}
	p.Rates = metric.Rates{Asked: ptr(8.5), Offered: 8.489, Sent: 7.276, Completed: 7.251}
	p.Latency.TTFTDue = dist(firmToP99, 8702, 71204, 70120, 131240, 139870, 152300, 158800, 160200)
	p.Latency.TTFT = dist(allFirm, 8702, 412.6, 371.2, 701.3, 822.8, 1240.1, 1811.9, 2034.4)
	p.Latency.TTFA = dist(allFirm, 8702, 4112, 3720, 7011, 8220, 12401, 18119, 20344)
	p.Latency.E2EDue = dist(firmToP99, 8702, 79930, 78920, 140510, 149020, 163300, 171900, 174400)
	p.Latency.E2E = dist(firmToP99, 8702, 8741, 8203, 13920, 15804, 20311, 24802, 26110)
	p.Latency.TPOT = dist(firmToP99, 8702, 11.93, 11.71, 13.4, 14.2, 16.8, 18.9, 19.4)
	p.Latency.ITL = nil
	p.Latency.ICL = dist(allFirm, 1498201, 12.02, 11.41, 14.9, 17.3, 31.6, 58.2, 121.7)
	p.Latency.Stall = dist(firmToP99, 8702, 41.2, 37.9, 62.3, 71.8, 98.4, 118.3, 121.7)
	p.Tokens.PromptLengths = dist(allFirm, 8702, 4902, 4310, 9120, 12044, 17800, 24210, 26011)
	p.Tokens.OutputLengths = dist(allFirm, 8702, 172, 131, 402, 511, 930, 1024, 1024)
	p.Tokens.Counted = map[string]int{"usage": 8432, "tokenizer": 270}
	p.Throughput = metric.Throughput{Requests: 7.251, Output: 1251.6, Prompt: 22110, CachedPrompt: 13420}
	p.Concurrency = metric.Concurrency{Mean: 63.6, Max: 64, Little: 63.5}
	p.Phases = &metric.Phases{Client: 0.886, FirstToken: 0.005, Queue: ptr(0.001), Prefill: ptr(0.003), Network: ptr(0.001), Decode: 0.109, Overhead: ptr(0.888), Dominant: metric.ClientPhase}
	p.Latency.SlotWait = dist(firmToP99, 8731, 70790, 69740, 130660, 139300, 151700, 158100, 159600)
	bucket := func(name string, due, ok int, ttft, tpot, e2e, tps float64, firm []string) metric.Group {
		shape := func(n int, v float64) *metric.Dist {
			return dist(firm, n, v*1.1, v, v*1.8, v*2.1, v*2.9, v*3.4, v*3.6)
		}
		standing := slo.Missed
		if ok < 400 {
			standing = slo.Undecided
		}
		return metric.Group{Name: name, Requests: metric.Requests{Due: due, OK: ok}, OutputPS: tps,
			Phases:     &metric.Phases{FirstToken: ttft / e2e, Decode: 1 - ttft/e2e},
			Objectives: []slo.Verdict{{Objective: "e2e:p95<120s", Standing: standing, Limit: 120_000, Unit: "ms"}, {Objective: "kv:max<1024MB", Standing: slo.NotJudged, Limit: 1024, Unit: "MB"}},
			Latency:    metric.Latency{TTFTDue: shape(ok, ttft), TPOT: shape(ok, tpot), E2EDue: shape(ok, e2e)}}
	}
	p.Buckets = []metric.Group{
		bucket("<1k", 811, 702, 69841, 11.42, 72903, 88.7, firmToP95),
		bucket("1k–4k", 4120, 3530, 70021, 11.71, 77812, 501.4, firmToP99),
		bucket("4k–16k", 4873, 4150, 70688, 12.04, 80240, 612.9, firmToP99),
		bucket("16k–32k", 383, 320, 72210, 13.92, 84077, 49.2, firmToP95),
		{Name: "32k+"},
	}
	p.Classes = []metric.Group{bucket("default", 10187, 8702, 70120, 11.9, 78920, 1252, firmToP99)}
	p.Cost = &result.Cost{Spend: 18.4213, PerRequest: 0.0021169, Per1kTokens: 0.00041231, Per1mOutput: 12.8844}
	return r
}

func noObjectivesSample() *result.Result {
	r := baseSample()
	r.Label = ""
	return r
}
