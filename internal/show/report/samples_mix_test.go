package report

import (
	"strconv"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
)

// part makes a group with figures around a median ttft and e2e.
func part(name string, due, failed int, ttft, tpot, e2e float64, cached int64, firm []string) metric.Group {
	around := func(v float64) *metric.Dist {
		return dist(firm, due-failed, v*1.1, v, v*1.8, v*2.1, v*2.9, v*3.4, v*3.6)
	}
	return metric.Group{Name: name, Requests: metric.Requests{Due: due, Sent: due, OK: due - failed, Failed: failed},
		OutputPS: float64(due) / 10, OutputTokens: int64(due) * 100, PromptTokens: int64(due) * 1000, CachedTokens: cached,
		Latency: metric.Latency{TTFTDue: around(ttft), TPOT: around(tpot), E2EDue: around(e2e)}}
}

// mixSample is what a platform team looks at: sessions of two classes and many
// tenants, each class with its objective, a load that goes up and down, and
// prefixes that are shared on purpose.
func mixSample() *result.Result {
	r := baseSample()
	r.Label = "mix"
	r.Workload = result.Workload{Name: "mix(chat:70%,rag:30%)", Tokenizer: "o200k", Arrival: "Poisson, diurnal(5..20,10m)"}
	p := &r.Points[0]
	p.Load = result.Load{Mode: "open", Rate: ptr(12.48712), Profile: "diurnal(5..20,10m)"}
	p.Window = metric.Window{StartS: 10.2, WarmupS: ptr(10.2), EndS: 610.2, Varies: true}
	p.Requests = metric.Requests{Due: 18_840, Sent: 18_840, OK: 18_652, Failed: 188, Sessions: 7_491, Faults: map[string]int{"timeout": 188}}
	p.Rates = metric.Rates{Asked: ptr(12.48712), Offered: 31.4, Sent: 31.4, Completed: 31.1}
	p.Goodput = &metric.Goodput{Requests: 28.4, Fraction: 0.904}
	p.Cache = &result.Cache{Designed: ptr(0.62), Usage: ptr(0.5714), Server: ptr(0.569)}
	p.Server = &telemetry.ServerUse{Engine: "sglang", Replicas: 4, Samples: 600, CoveredS: 600,
		Running: &telemetry.Gauge{Mean: 71.2, Max: 140}, Waiting: &telemetry.Gauge{Mean: 3.1, Max: 44},
		KVUsage: &telemetry.Gauge{Mean: 0.61, Max: 0.97}, Evictions: ptr(1_204_000.0), EvictionUnit: "token", KVFragmentation: &telemetry.Gauge{Mean: 0.012, Max: 0.03}, FragmentationBy: "blocks", Preemptions: ptr(12.0), SpecAcceptance: ptr(0.71),
		Imbalance: ptr(0.43)}
	p.EngineLog = &telemetry.EngineLog{Source: "docker logs -f sglang", Lines: 812, Bytes: 90_112, Kinds: map[string]int64{"preemption": 12, "error": 1},
		Excerpt: []string{"[2026-01-01 10:00:02] KV cache pool is full. Retract requests. #retracted_reqs: 1", "ERROR: bad request"}}
	p.CrossChecks = []result.CrossCheck{
		{Name: "ttft", Unit: "ms", Client: ptr(131.4), Server: ptr(128.9), Tolerance: 0.2, OK: true},
		{Name: "tokens", Unit: "tokens/s", Client: ptr(4100.0), Server: ptr(4103.9), Tolerance: 0.03, OK: true},
		{Name: "replicas", Unit: "share", Server: ptr(0.43), Tolerance: 0.2, Text: "the busiest of 4 replicas did 43% more than the mean of all"},
	}
	r.Warnings = append(r.Warnings, result.Warning{Figure: "cross_checks.replicas", Text: p.CrossChecks[2].Text})
	rag, chat, acme := slo.Scope{Class: "rag"}, slo.Scope{Class: "chat"}, slo.Scope{Tenant: "tenant-00"}
	p.Objectives = []slo.Verdict{
		{Objective: "class=chat ttft:p99<500ms", Scope: chat, Standing: slo.Met, Value: ptr(313.2), Unit: "ms", Limit: 500, N: 13_188, Violations: 12, NEff: ptr(4100.0)},
		{Objective: "class=rag ttft:p99<2s", Scope: rag, Standing: slo.Missed, Value: ptr(3480.0), Unit: "ms", Limit: 2000, N: 5_652, Violations: 1_611, NEff: ptr(1200.0)},
		{Objective: "class=rag error:rate<5%", Scope: rag, Standing: slo.Met, Value: ptr(0.031), Unit: "fraction", Limit: 0.05, N: 5_652, Violations: 176, NEff: ptr(3000.0)},
		{Objective: "tenant=tenant-00 e2e:p95<20s", Scope: acme, Standing: slo.Undecided, Value: ptr(18_900.0), Unit: "ms", Limit: 20_000, N: 4_400, Violations: 190, NEff: ptr(300.0), Note: "about 1,930 more requests would decide"},
	}
	r.Verdict.SLO, r.Verdict.Reasons = "missed", []string{"missed class=rag ttft:p99<2s"}
	p.Classes = []metric.Group{
		part("chat", 13_188, 12, 108, 11.7, 1870, 6_500_000, allFirm),
		part("rag", 5_652, 176, 1_200, 14.1, 6_300, 4_200_000, firmToP99),
	}
	p.Classes[0].Latency.TTFTDue.CI = map[string][2]float64{"p99": {301.8, 331.1}}
	for i := range 40 {
		p.Tenants = append(p.Tenants, part("tenant-"+strconv.Itoa(i/10)+strconv.Itoa(i%10), 4400/(i+1), i%3, 120, 12.1, 2100, int64(4400/(i+1))*int64(500+i*10), firmToP95))
	}
	for i := range 4 {
		p.Turns = append(p.Turns, part(strconv.Itoa(i), 7_491-1_800*i, 0, 180-30*float64(i), 12, 2500, int64(7_491-1_800*i)*int64(i)*250, firmToP99))
	}
	return r
}

// embeddingsSample has answers that are no text.
func embeddingsSample() *result.Result {
	r := baseSample()
	r.Label, r.Engine.API = "embeddings", "openai-embeddings"
	r.Workload = result.Workload{Name: "embeddings", Tokenizer: "o200k", Arrival: "Poisson"}
	p := &r.Points[0]
	p.Latency = metric.Latency{
		E2E:    dist(firmToP99, 2409, 21.9, 20.4, 28.1, 31.9, 44.1, 60.2, 71.8),
		E2EDue: dist(firmToP99, 2409, 21.9, 20.4, 28.1, 31.9, 44.1, 60.2, 71.8),
		Lag:    p.Latency.Lag,
	}
	p.Tokens = metric.Tokens{Prompt: 1_304_000, AskedPrompt: 1_304_000, Counted: map[string]int{},
		PromptLengths: p.Tokens.PromptLengths}
	p.Throughput = metric.Throughput{Requests: 20.1, Prompt: 10_900, Total: 10_900, Inputs: 160.8}
	p.Concurrency = metric.Concurrency{Mean: 0.44, Max: 5, Little: 0.44}
	p.Classes = []metric.Group{part("short", 1400, 0, 0, 0, 18, 0, allFirm), part("long", 1009, 0, 0, 0, 31, 0, allFirm)}
	for i := range p.Classes {
		p.Classes[i].Latency.TTFTDue, p.Classes[i].Latency.TPOT = nil, nil
		p.Classes[i].OutputPS, p.Classes[i].OutputTokens = 0, 0
	}
	return r
}

// heldUpSample was measured on a machine whose host took a sixth of its time.
func heldUpSample() *result.Result {
	r := baseSample()
	p := &r.Points[0]
	r.Client.HeldUp = &result.Holdups{Times: 4100, TotalS: p.Window.Seconds() / 6, MaxMS: 50}
	ends := func(d *metric.Dist, key string, low, high float64) {
		if d.Low == nil {
			d.Low, d.High = map[string]float64{}, map[string]float64{}
		}
		d.Low[key], d.High[key] = d.P[key]-low, d.P[key]+high
	}
	ends(p.Latency.TTFTDue, "p50", 12, 0)
	ends(p.Latency.TTFTDue, "p99", 61, 0)
	ends(p.Latency.ITL, "p99", 5, 9)
	ends(p.Latency.E2EDue, "p50", 12, 0) // too little to matter
	return r
}

// embeddedSample is what a newcomer sees first: ten seconds of the simulator.
func embeddedSample() *result.Result {
	r := baseSample()
	r.Label, r.Hardware.Count = "", 1
	r.Engine = result.Engine{Name: "redline sim", Version: "0.1.0", API: "openai-chat", Embedded: true}
	r.Client.SharesHost, r.Client.CPUs, r.Client.CPUShare = true, 2, 0.19
	p := &r.Points[0]
	p.Load.Rate = ptr(10.0)
	p.Window = metric.Window{StartS: 5.1, WarmupS: ptr(5.1), EndS: 15.1}
	p.Rates = metric.Rates{Asked: ptr(10.0), Offered: 9.7, Sent: 9.7, Completed: 9.9}
	p.Requests = metric.Requests{Due: 97, Sent: 97, OK: 97}
	for _, d := range []*metric.Dist{p.Latency.TTFTDue, p.Latency.TTFT, p.Latency.TTFA, p.Latency.TPOT, p.Latency.ITL, p.Latency.Stall, p.Latency.E2EDue, p.Latency.E2E} {
		d.N, d.Firm, d.CI = 97, nil, nil
	}
	p.Throughput = metric.Throughput{Requests: 9.9, Output: 1842.7, Prompt: 5310.2}
	p.Concurrency = metric.Concurrency{Mean: 18.2, Max: 31, Little: 18.4}
	p.KV = &result.KV{MaxMBPerRequest: 402.1, PeakMB: 2104.8, PeakLowMB: 1210, ServerPeakMB: ptr(1980.0), RoomMB: 51200, Model: "llama-3.1-8b"}
	p.Prediction = samplePrediction()
	return r
}
