package report

import (
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// level is one measured level of a sweep, as a table of them is read.
type level struct {
	rate, seconds       float64
	ttft50, ttft99      float64
	low, high           float64 // interval of the ttft p99
	tpot50, tpot99      float64
	good, completed     float64
	failed              int
	standing            slo.Standing
	overload, notSteady bool
}

func (l level) point() result.Point {
	p := basePoint()
	n := int(l.rate * l.seconds)
	p.Load.Rate, p.Probe = new(l.rate), l.seconds < 60
	p.Window = metric.Window{StartS: 10, WarmupS: new(10.0), EndS: 10 + l.seconds, Steady: new(!l.notSteady), Overload: new(l.overload), Growth: new(0.4)}
	p.Requests = metric.Requests{Due: n, Sent: n, OK: n - l.failed, Failed: l.failed, Faults: map[string]int{"timeout": l.failed}}
	p.Rates = metric.Rates{Asked: new(l.rate), Offered: l.rate, Sent: l.rate, Completed: l.completed}
	firm := firmToP99
	if p.Probe {
		firm = firmToP95
	}
	p.Latency.TTFTDue = interval99(dist(firm, n, l.ttft50*1.1, l.ttft50, l.ttft50*1.6, l.ttft50*2, l.ttft99, l.ttft99*1.3, l.ttft99*1.4), l.low, l.high)
	p.Latency.TTFT, p.Latency.TTFA = p.Latency.TTFTDue, nil
	p.Latency.TPOT = interval99(dist(firm, n, l.tpot50, l.tpot50, l.tpot50*1.2, l.tpot50*1.3, l.tpot99, l.tpot99*1.1, l.tpot99*1.2), l.tpot99*0.97, l.tpot99*1.04)
	p.Throughput = metric.Throughput{Requests: l.completed, Output: l.completed * 187, Prompt: l.completed * 544}
	p.Concurrency = metric.Concurrency{Mean: l.rate * 2.2, Max: int(l.rate * 4)}
	p.Goodput = &metric.Goodput{Requests: l.good, Fraction: l.good / l.rate}
	p.Objectives = []slo.Verdict{
		{Objective: "ttft:p99<500ms", Standing: l.standing, Value: new(l.ttft99), Unit: "ms", Limit: 500, N: n, Violations: n / 200},
		{Objective: "tpot:p99<50ms", Standing: slo.Met, Value: new(l.tpot99), Unit: "ms", Limit: 50, N: n},
	}
	return p
}

var sweepLevels = []level{
	{rate: 4, seconds: 30, ttft50: 41, ttft99: 92, low: 71, high: 131, tpot50: 9.1, tpot99: 11.2, good: 4, completed: 4, standing: slo.Undecided},
	{rate: 8, seconds: 30, ttft50: 44, ttft99: 104, low: 88, high: 139, tpot50: 9.8, tpot99: 12.6, good: 8, completed: 8, standing: slo.Undecided},
	{rate: 16, seconds: 60, ttft50: 52, ttft99: 163, low: 144, high: 197, tpot50: 11.3, tpot99: 15.9, good: 16, completed: 16, standing: slo.Met},
	{rate: 20, seconds: 120, ttft50: 63, ttft99: 288, low: 251, high: 341, tpot50: 12.9, tpot99: 19.4, good: 19.9, completed: 20, standing: slo.Met},
	{rate: 21.2, seconds: 300, ttft50: 69, ttft99: 462, low: 401, high: 533, tpot50: 13.8, tpot99: 21.9, good: 21.0, completed: 21.2, standing: slo.Met},
	{rate: 22.5, seconds: 120, ttft50: 84, ttft99: 911, low: 702, high: 1240, tpot50: 15.2, tpot99: 26.3, good: 21.6, completed: 22.3, standing: slo.Missed},
	{rate: 24, seconds: 60, ttft50: 212, ttft99: 2740, low: 2010, high: 3390, tpot50: 18.8, tpot99: 34.0, good: 17.1, completed: 22.9, failed: 3, standing: slo.Missed},
	{rate: 32, seconds: 30, ttft50: 4100, ttft99: 9800, low: 9010, high: 10400, tpot50: 24.1, tpot99: 47.3, good: 1.2, completed: 23.1, failed: 41, standing: slo.Missed, overload: true, notSteady: true},
}

// curveSample is a sweep without a search: eight levels, the last an overload.
func curveSample() *result.Result {
	r := baseSample()
	r.ID, r.Label, r.Command = "20260114-101500-sweep", "sweep", "redline sweep --rates 4..32 --slo ttft:p99<500ms"
	r.Points = nil
	r.Curve = &result.Curve{By: "rate", Knee: new(20.0), Stopped: "saturated at 32 requests/s"}
	for i, l := range sweepLevels {
		r.Points = append(r.Points, l.point())
		r.Curve.Points = append(r.Curve.Points, i)
	}
	r.Verdict.SLO = "missed"
	ttft := result.HighestMet{Rate: 21.2, MissedAt: new(22.5)}
	r.Curve.MaxQPS = &result.MaxQPS{HighestMet: ttft, ByObjective: map[string]result.HighestMet{"ttft:p99<500ms": ttft, "tpot:p99<50ms": {Rate: 32}}}
	return r
}

// limitSample is the same with its limit found and confirmed.
func limitSample() *result.Result {
	r := curveSample()
	r.Curve.MaxQPS = nil // a search finds the limit itself
	r.Command = "redline sweep --find-limit --slo ttft:p99<500ms --slo tpot:p99<50ms"
	r.Verdict.SLO = "met"
	r.Sustained = new(4)
	r.Points[4].Drift = []metric.Drift{
		{Figure: "ttft_p50", PerMinute: 0.0123, P: 0.0004, Blocks: 10, Drifts: true},
		{Figure: "tpot_p50", PerMinute: 0.0002, P: 0.41, Blocks: 10},
		{Figure: "prefix_hit_rate", PerMinute: -0.021, P: 0.002, Blocks: 10, Drifts: true},
	}
	r.Limit = &result.Limit{
		Rate: 21.4, Interval: [2]float64{20.6, 22.3}, Standing: result.LimitFound, Binding: "ttft:p99<500ms",
		Held: &result.HeldRate{Rate: 21.2, Seconds: 300},
		ByObjective: map[string]result.Bound{
			"ttft:p99<500ms": {Rate: 21.4, Interval: [2]float64{20.6, 22.3}, Standing: result.LimitFound},
			"tpot:p99<50ms":  {Rate: 32, Interval: [2]float64{30.1, 32}, Standing: result.LimitAtLeast},
		},
		Edge: result.EdgeCliff, Knee: new(20.0), BestGoodput: &result.BestGoodput{Rate: 22.5, Requests: 21.6},
		MinCost: &result.MinCost{Rate: 22.5, PerRequest: 0.0000514}, Confirmed: true, LoadS: 751, Requests: 14212,
	}
	r.Checklist = checklistSample()
	return r
}

func checklistSample() []result.Item {
	return []result.Item{
		{Name: "warm-up", State: result.ItemYes, Field: "points[].window.warmup_s", Text: "10 s before every level"},
		{Name: "open loop", State: result.ItemYes, Field: "points[].load.mode"},
		{Name: "tails", State: result.ItemYes, Field: "points[4].latency.ttft_due_ms.firm", Text: "p99 is firm"},
		{Name: "duration", State: result.ItemNo, Field: "points[].window", Text: "3 of 8 levels lasted under a minute"},
		{Name: "batch", State: result.ItemUnknown, Field: "points[].server.running", Text: "the server does not say"},
	}
}

// wideSample is a search whose budget was too small.
func wideSample() *result.Result {
	r := limitSample()
	r.Limit.Standing, r.Limit.Interval, r.Limit.Confirmed, r.Limit.Held = result.LimitWide, [2]float64{16, 29}, false, nil
	r.Limit.Notes = []string{"the interval is wider than ±10%: give the search more time (--budget)"}
	r.Verdict.SLO, r.Sustained = "undecided", nil
	r.Points, r.Curve.Points = r.Points[:4], []int{0, 1, 2, 3}
	return r
}

// comparisonSample is ten rounds of two builds of one engine.
func comparisonSample() *result.Result {
	r := baseSample()
	r.ID, r.Label = "20260114-120000-ab", "0.11 against 0.12"
	r.Points = nil
	r.Comparison = &result.Comparison{
		Way: "live", Rounds: 10, Test: "paired t on log ratios", Alpha: 0.05, Standing: slo.Worse,
		A:       result.Side{Name: "a", Engine: "vllm 0.11.0", URL: "http://10.0.0.5:8000"},
		B:       result.Side{Name: "b", Engine: "vllm 0.12.0", URL: "http://10.0.0.6:8000"},
		Verdict: "B is worse: tpot:p50 slower by 5.1%; too close to call: ttft:p99",
		Metrics: []result.Change{
			{Name: "ttft:p99", Unit: "ms", A: new(163.0), B: new(171.0), Ratio: new(1.049), Interval: &[2]float64{0.96, 1.14}, P: new(0.24), PHolm: new(0.48),
				WilcoxonP: new(0.3), Effect: new(0.4), Detectable: new(0.12), Standing: slo.Undecided, Verdict: "too close to call: slower by 4.9% may be chance; from about 12% on it would have shown"},
			{Name: "tpot:p50", Unit: "ms", A: new(11.7), B: new(12.3), Ratio: new(1.051), Interval: &[2]float64{1.043, 1.059}, P: new(0.00002), PHolm: new(0.00006),
				Standing: slo.Worse, Verdict: "slower by 5.1%"},
			{Name: "throughput", Unit: "tokens/s", A: new(3748.0), B: new(3751.0), Ratio: new(1.0008), Interval: &[2]float64{0.996, 1.004}, PHolm: new(0.7),
				Standing: slo.Same, Verdict: "no difference larger than 0.4%"},
			{Name: "error:rate", Unit: "fraction", A: new(0.001), B: new(0.0012), Difference: new(0.0002), Interval: &[2]float64{-0.0005, 0.0009},
				Standing: slo.Same, Verdict: "no difference larger than 0.09%"},
		},
		Shapes: []result.Shape{{Name: "ttft", Unit: "ms", MeanA: new(84.0), MeanB: new(86.5), TailA: new(2.4), TailB: new(2.5)},
			{Name: "tpot", Unit: "ms", MeanA: new(11.8), MeanB: new(12.4), TailA: new(1.31), TailB: new(1.3)}},
		Flags:    []result.FlagPair{{Name: "kv-cache-dtype", B: "fp8"}, {Name: "max-num-seqs", A: "64", B: "128"}},
		Warnings: []result.Warning{{Figure: "hardware", Text: "the two run on different machines"}},
	}
	bothCurves(r.Comparison)
	return r
}

// matrixSample is three rows of a matrix, one of which surprised.
func matrixSample() *result.Result {
	r := baseSample()
	r.ID, r.Label = "20260114-140000-matrix", "matrix"
	r.Points = nil
	for i, row := range []result.Stage{
		{Name: "a-short-chat", Hypothesis: "a healthy server answers short chat at once", Question: "is the server healthy?", Expectation: "ttft p99 < 200 ms", Outcome: "ttft p99 104 ms", Agrees: new(true)},
		{Name: "b-long-prefill", Hypothesis: "long prompts are bound by compute", Question: "what does prefill cost?", Expectation: "ttft grows with the prompt, tpot stays", Outcome: "ttft p99 288 ms, tpot p99 +54%", Agrees: new(false)},
		{Name: "c-long-decode", Purpose: "decode alone", Outcome: "tpot p99 21.9 ms"},
	} {
		point := sweepLevels[i+1].point()
		point.Name, point.Objectives = row.Name, nil
		r.Points = append(r.Points, point)
		row.Dir, row.Point = "stages/0"+count(i)+"-"+row.Name, new(i)
		r.Stages = append(r.Stages, row)
	}
	return r
}

// repeatsSample is three runs of one plan, and all of them together.
func repeatsSample() *result.Result {
	r := metSample()
	r.ID, r.Label = "20260114-150000-repeat", "three times"
	run := r.Points[0]
	r.Points = []result.Point{run, run, run, run}
	for i := range 3 {
		r.Stages = append(r.Stages, result.Stage{Name: "run " + count(i+1), Dir: "stages/0" + count(i+1), Point: new(i), Purpose: "repeat"})
	}
	r.Points[3].Requests.Due, r.Points[3].Requests.Sent, r.Points[3].Requests.OK = 7239, 7239, 7235
	r.Repeats = &result.Repeats{Runs: 3, Point: new(3), Metrics: []result.Spread{
		{Name: "ttft:p99", Unit: "ms", N: 3, Mean: 163.4, Min: 158.1, Max: 168.9, CV: new(0.033), WithinCV: new(0.021), Interval: &[2]float64{150.1, 176.7}},
		{Name: "throughput", Unit: "tokens/s", N: 3, Mean: 3748, Min: 3741, Max: 3755, CV: new(0.0019)},
		{Name: "error:rate", Unit: "fraction", N: 3, Mean: 0.0016, Min: 0.0012, Max: 0.002},
	}}
	return r
}
