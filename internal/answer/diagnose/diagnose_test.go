package diagnose

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
)

func spreadOf(p50, p99 float64) *metric.Dist {
	return &metric.Dist{N: 200, Mean: p50, Max: p99, P: map[string]float64{"p50": p50, "p75": p50, "p90": p99, "p95": p99, "p99": p99}, Firm: []string{"p50", "p99"}}
}

// slow is a result of one load whose tokens come every 30 ms, where an
// objective of 20 ms is missed and the bandwidth allows 28.
func slow() *result.Result {
	p := result.Point{Load: result.Load{Mode: "closed", Concurrency: new(1)}, Summary: metric.Summary{
		Requests: metric.Requests{Due: 200, OK: 200}, Concurrency: metric.Concurrency{Mean: 1},
		Latency:    metric.Latency{TTFT: spreadOf(50, 60), TPOT: spreadOf(30, 33), ITL: spreadOf(30, 35), Stall: spreadOf(35, 40), E2E: spreadOf(6000, 7000)},
		Tokens:     metric.Tokens{PromptLengths: spreadOf(300, 400), OutputLengths: spreadOf(200, 220)},
		Objectives: []slo.Verdict{{Objective: "tpot:p50<20ms", Standing: slo.Missed, Value: new(30.0), Limit: 20}},
	}, Prediction: &result.Prediction{Model: "llama-3.1-8b", Accelerator: "L40S", Count: 1, Precision: "bf16",
		Steady: result.Steady{TPOT: 28}}}
	return &result.Result{Verdict: result.Verdict{Valid: "yes"}, Points: []result.Point{p}, Engine: result.Engine{Name: "sglang", URL: "http://a"}}
}

// overload makes a point of one that has 25 requests/s completed of so many.
func overload(p *result.Point, rate float64) {
	p.Load, p.Rates = result.Load{Mode: "open", Rate: &rate}, metric.Rates{Offered: rate, Ended: 25}
	p.Requests, p.Window.EndS, p.Concurrency = metric.Requests{Due: 1200, OK: 11, Censored: 1189}, 20, metric.Concurrency{Mean: 2600, Max: 3000}
	p.Objectives[0].Objective = "ttft:p99<500ms"
	p.Server = &telemetry.ServerUse{Samples: 9, Preemptions: new(46.0), KVUsage: &telemetry.Gauge{Mean: 1, Max: 1}, Running: &telemetry.Gauge{Mean: 450, Max: 470},
		Waiting: &telemetry.Gauge{Mean: 2200, Max: 2600}, Queue: &telemetry.Timing{Mean: 25_000}, TTFT: &telemetry.Timing{Mean: 25_100}}
	p.Latency.ITL = spreadOf(56, 190)
}

func names(findings []result.Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, f.Regime+" "+f.Confidence)
	}
	return all
}

// What a rule may say depends on what was counted, and nothing is said where
// there is nothing to explain or too little to explain it with.
func TestFindings(t *testing.T) {
	t.Parallel()
	active := func(share float64) *telemetry.AcceleratorUse {
		return &telemetry.AcceleratorUse{DRAMActive: &telemetry.Gauge{Mean: share, Max: 1}}
	}
	for name, c := range map[string]struct {
		change func(*result.Result, *result.Point)
		want   []string
	}{
		"slow tokens near the prediction": {func(*result.Result, *result.Point) {}, []string{"decode-memory-bound likely"}},
		"too dear a token": {func(_ *result.Result, p *result.Point) {
			p.Objectives = []slo.Verdict{{Objective: "cost:max<$2.50", Standing: slo.Missed, Value: new(4.4), Limit: 2.5}}
		}, nil},
		"and a busy memory":       {func(_ *result.Result, p *result.Point) { p.Accelerator = active(0.8) }, []string{"decode-memory-bound certain"}},
		"and an idle memory":      {func(_ *result.Result, p *result.Point) { p.Accelerator = active(0.2) }, []string{"long-decode possible"}},
		"far from the prediction": {func(_ *result.Result, p *result.Point) { p.Prediction.Steady.TPOT = 10 }, []string{"inefficient-decode likely"}},
		"far from it, with an idle memory": {func(_ *result.Result, p *result.Point) {
			p.Prediction.Steady.TPOT, p.Accelerator = 10, active(0.2)
		}, []string{"inefficient-decode certain"}},
		"no prediction":                      {func(_ *result.Result, p *result.Point) { p.Prediction = nil }, []string{"slow-decode possible"}},
		"no prediction, with an idle memory": {func(_ *result.Result, p *result.Point) { p.Prediction, p.Accelerator = nil, active(0.2) }, []string{"slow-decode likely"}},
		"no prediction, no objective, slow": {func(_ *result.Result, p *result.Point) {
			p.Prediction, p.Objectives, p.Latency.TPOT = nil, nil, spreadOf(60, 66)
		}, []string{"slow-decode possible"}},
		"no prediction, several at once": {func(_ *result.Result, p *result.Point) { p.Prediction, p.Concurrency.Max = nil, 4 }, []string{"long-decode possible"}},
		"an invalid run":                 {func(r *result.Result, _ *result.Point) { r.Verdict.Valid = "no" }, nil},
		"too few":                        {func(_ *result.Result, p *result.Point) { p.Requests.OK = 29 }, nil},
		"too few, of agents too":         {func(_ *result.Result, p *result.Point) { p.Requests.OK, p.Jobs = 9, &metric.Jobs{LiveMean: 6} }, nil},
		"few turns of agents, and a small cache": {func(_ *result.Result, p *result.Point) {
			p.Requests.OK, p.Jobs, p.Concurrency.Mean = 20, &metric.Jobs{LiveMean: 6, IdealFraction: new(0.93)}, 5
			p.Objectives = []slo.Verdict{{Objective: "ttft:p95<2s", Standing: slo.Missed, Value: new(33_000.0), Limit: 2000}}
			p.Cache = &result.Cache{Server: new(0.07), LiveTokens: new(57_000.0), RoomTokens: new(144_000.0)}
		}, []string{"session-cache certain"}},
		"objectives met": {func(_ *result.Result, p *result.Point) { p.Objectives[0].Standing = slo.Met }, nil},
		"undecided, far beyond the limit": {func(_ *result.Result, p *result.Point) { p.Objectives[0].Standing = slo.Undecided },
			[]string{"decode-memory-bound likely"}},
		"undecided, near the limit": {func(_ *result.Result, p *result.Point) {
			p.Objectives[0].Standing, p.Objectives[0].Value = slo.Undecided, new(21.0)
		}, nil},
		// A class's tokens are slow: what its first ones wait for is no cause.
		"an objective of a class": {func(_ *result.Result, p *result.Point) {
			p.Objectives[0].Objective, p.Objectives[0].Scope = "class=rag tpot:p50<20ms", slo.Scope{Class: "rag"}
			p.Server = &telemetry.ServerUse{Samples: 9, TTFT: &telemetry.Timing{Mean: 5}}
		}, []string{"decode-memory-bound likely"}},
		"no objective":     {func(_ *result.Result, p *result.Point) { p.Objectives = nil }, nil},
		"with and without": {func(r *result.Result, _ *result.Point) { r.Toggles = []result.Toggle{{}} }, nil},
		"a comparison":     {func(r *result.Result, _ *result.Point) { r.Comparison = &result.Comparison{} }, nil},
		// The full cache explains the pace and the queue; the first token is
		// not what was missed, so nothing is said of it.
		"preemptions as well": {func(_ *result.Result, p *result.Point) {
			p.Server = &telemetry.ServerUse{Samples: 9, Preemptions: new(40.0), KVUsage: &telemetry.Gauge{Mean: 0.9, Max: 1},
				Waiting: &telemetry.Gauge{Mean: 5, Max: 9}, Queue: &telemetry.Timing{Mean: 900}, TTFT: &telemetry.Timing{Mean: 1000}}
		}, []string{"kv-pressure certain"}},
		"one page of metrics is no account": {func(_ *result.Result, p *result.Point) {
			p.Server = &telemetry.ServerUse{Samples: 1, Preemptions: new(40.0)}
		}, []string{"decode-memory-bound likely"}},
		// Half of each step the accelerator waits; the cache is full, and almost
		// nobody waits for it.
		"an idle accelerator": {func(_ *result.Result, p *result.Point) {
			p.Accelerator = &telemetry.AcceleratorUse{Utilization: &telemetry.Gauge{Mean: 0.5, Max: 1}}
			p.Server = &telemetry.ServerUse{Samples: 9, Running: &telemetry.Gauge{Mean: 60, Max: 64}, Steps: new(400.0), CoveredS: 12,
				KVUsage: &telemetry.Gauge{Mean: 0.7, Max: 1}, Waiting: &telemetry.Gauge{Mean: 1.5, Max: 9}, Queue: &telemetry.Timing{Mean: 8}}
		}, []string{"host-bound certain"}},
		"an idle accelerator, and a cache that is short": {func(_ *result.Result, p *result.Point) {
			p.Accelerator = &telemetry.AcceleratorUse{Utilization: &telemetry.Gauge{Mean: 0.5, Max: 1}}
			p.Server = &telemetry.ServerUse{Samples: 9, Running: &telemetry.Gauge{Mean: 60, Max: 64}, Preemptions: new(120.0),
				KVUsage: &telemetry.Gauge{Mean: 0.9, Max: 1}, Waiting: &telemetry.Gauge{Mean: 30, Max: 60}, Queue: &telemetry.Timing{Mean: 1000}}
		}, []string{"kv-pressure certain", "host-bound likely"}},
		"a busy accelerator": {func(_ *result.Result, p *result.Point) {
			p.Accelerator = &telemetry.AcceleratorUse{Utilization: &telemetry.Gauge{Mean: 0.95, Max: 1}}
			p.Server = &telemetry.ServerUse{Samples: 9, Running: &telemetry.Gauge{Mean: 60, Max: 64}, Steps: new(400.0), CoveredS: 12}
		}, []string{"decode-memory-bound likely"}},
		"a device that the prompts of others fill": {func(_ *result.Result, p *result.Point) { p.Prediction.MFU = new(0.5) }, []string{"long-decode possible"}},
		"a busy front end": {func(_ *result.Result, p *result.Point) {
			p.Objectives[0].Objective = "ttft:p50<20ms"
			p.Server = &telemetry.ServerUse{Samples: 9, TTFT: &telemetry.Timing{Mean: 45}, Queue: &telemetry.Timing{Mean: 1}, Prefill: &telemetry.Timing{Mean: 20},
				FrontEndCores: new(0.8)}
		}, []string{"front-end-bound certain"}},
		"an idle front end": {func(_ *result.Result, p *result.Point) {
			p.Objectives[0].Objective = "ttft:p50<20ms"
			p.Server = &telemetry.ServerUse{Samples: 9, TTFT: &telemetry.Timing{Mean: 45}, Queue: &telemetry.Timing{Mean: 1}, Prefill: &telemetry.Timing{Mean: 20},
				FrontEndCores: new(0.2)}
		}, []string{"long-first-token possible"}},
		// As many run as the client has in flight, and the prompts of some wait.
		"a batch of the client's own size": {func(_ *result.Result, p *result.Point) {
			p.Objectives[0].Objective, p.Load.Concurrency, p.Concurrency = "ttft:p50<20ms", new(32), metric.Concurrency{Mean: 32, Max: 32}
			p.Server = &telemetry.ServerUse{Samples: 9, Running: &telemetry.Gauge{Mean: 30.5, Max: 32}, Waiting: &telemetry.Gauge{Mean: 1.5, Max: 4},
				TTFT: &telemetry.Timing{Mean: 49}, Queue: &telemetry.Timing{Mean: 30}, Prefill: &telemetry.Timing{Mean: 18}}
		}, []string{"long-queue possible"}},
		"the server's own batch": {func(_ *result.Result, p *result.Point) {
			p.Objectives[0].Objective, p.Load.Concurrency, p.Concurrency = "ttft:p50<20ms", new(64), metric.Concurrency{Mean: 64, Max: 64}
			p.Server = &telemetry.ServerUse{Samples: 9, Running: &telemetry.Gauge{Mean: 30.5, Max: 32}, Waiting: &telemetry.Gauge{Mean: 33, Max: 34}}
		}, []string{"scheduler-saturation likely"}},
		// Most of the window's own requests never end; the cache is full of those before.
		"more than twice as much as the device can do": {func(_ *result.Result, p *result.Point) { overload(p, 60) },
			[]string{"queueing certain"}},
		"and many answered": {func(_ *result.Result, p *result.Point) {
			overload(p, 60)
			p.Requests.OK = 300
		}, []string{"queueing certain", "kv-pressure certain"}},
		"more than a cache has room for, on a device that has": {func(_ *result.Result, p *result.Point) {
			overload(p, 60)
			p.Requests.OK, p.Latency.ITL = 300, spreadOf(15, 20)
		}, []string{"kv-pressure certain"}},
		"a slow replica with most of the violations": {func(_ *result.Result, p *result.Point) {
			p.Requests.Due, p.Goodput = 200, &metric.Goodput{Fraction: 0.7}
			p.Replicas = []metric.Group{{Name: "a", Requests: metric.Requests{Due: 100}, Goodput: &metric.Goodput{Fraction: 0.99}},
				{Name: "b", Requests: metric.Requests{Due: 100}, Goodput: &metric.Goodput{Fraction: 0.41}}}
			p.Fleet = &metric.Fleet{Slow: []metric.SlowReplica{{Name: "b", Figure: "tpot", Factor: 1.4}}}
		}, []string{"bad-replica certain"}},
		"some rejected": {func(_ *result.Result, p *result.Point) {
			p.Requests.Rejected, p.Requests.Due = 50, 250
		}, []string{"rate-limited likely", "decode-memory-bound likely"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := slow()
			c.change(res, &res.Points[0])
			expect.Same(t, c.want, names(Find(res)))
		})
	}
	if got := Find(nil); got != nil {
		t.Errorf("of no result: %v", got)
	}
	if got := Find(&result.Result{}); got != nil {
		t.Errorf("of an empty one: %v", got)
	}
}

// A latency that was missed is followed by the phase that takes most of it, with
// what to try, where no rule explains it.
func TestDominantPhase(t *testing.T) {
	t.Parallel()
	parts := func(queue, prefill float64) *telemetry.ServerUse {
		return &telemetry.ServerUse{Samples: 9, Queue: &telemetry.Timing{Mean: queue}, Prefill: &telemetry.Timing{Mean: prefill}}
	}
	owned := func(ttft, queue, prefill float64) *telemetry.ServerUse {
		u := parts(queue, prefill)
		u.TTFT = &telemetry.Timing{Mean: ttft}
		return u
	}
	const heldUp = 145.0 // at best 35 ms
	for _, c := range []struct {
		objective string
		ttft      float64
		server    *telemetry.ServerUse
		inFlight  int
		want      string
	}{
		{"e2e:p90<4s", 50, nil, 4, "long-decode: decode takes most of the time: 5,950 ms of a mean e2e of 6,000 ms"},
		{"e2e:p90<4s", 4000, nil, 4, "long-first-token: the first token takes 4,000 ms on average: queueing, prefill or network"},
		{"e2e:p90<4s", 4000, parts(3000, 900), 4, "long-queue: queueing takes most of ttft: 3,000 ms of 4,000 ms on average"},
		{"ttft:p99<40ms", 50, parts(10, 30), 4, "long-prefill: prefill takes most of ttft: 30 ms of 50 ms on average"},
		{"ttft:p99<40ms", 50, parts(5, 10), 4, "long-first-token: the first token takes 50 ms on average: queueing, prefill or network"},
		{"tpot:p50<20ms", 50, nil, 4, "long-decode: decode is slow: the mean tpot is 30 ms"},
		{"good:fraction>99%", 50, nil, 4, "long-decode: decode takes most of the time: 5,950 ms of a mean e2e of 6,000 ms"},
		{"error:rate<1%", 50, nil, 4, ""},
		{"ttft:p99<40ms", 50, nil, 1, "long-first-token: the first token takes 50 ms on average: prefill or network"},
		{"e2e:p90<4s", 50, nil, 1, "long-decode: decode takes most of the time: 5,950 ms of a mean e2e of 6,000 ms"},
		{"tpot:p50<20ms", 50, nil, 1, "slow-decode: one stream alone takes 30 ms a token: decode is memory-bound or inefficient"},
		// The client adds what is too little for a far server, or what its own machine may have added.
		{"ttft:p99<10ms", 12, owned(5, 2, 2), 4, "long-way: the server says 5 ms of a mean ttft of 12 ms; the rest is the network or this machine"},
		{"ttft:p99<40ms", heldUp, owned(33.5, 1, 30), 4, "long-here: the server says 33.5 ms of a mean ttft of 145 ms; the rest is this machine, whose hold-ups took up to 110 ms, or the network"},
	} {
		res := slow()
		p := &res.Points[0]
		p.Prediction, p.Server, p.Latency.TTFT, p.Concurrency.Max = nil, c.server, spreadOf(c.ttft, c.ttft), c.inFlight
		if c.ttft == heldUp {
			p.Latency.TTFT.Low = map[string]float64{"mean": 35}
		}
		p.Objectives = []slo.Verdict{{Objective: c.objective, Standing: slo.Missed}}
		got := ""
		for _, f := range Find(res) {
			got += f.Regime + ": " + f.Title
			if len(f.Response) == 0 || f.Confirm == "" || f.Settled == "" || f.Confidence != possible {
				t.Errorf("%s: something is left out of %+v", c.objective, f)
			}
			if said := strings.Join(append(f.Response, f.Title, f.Settled), " "); c.inFlight == 1 && (strings.Contains(said, "queue") || strings.Contains(said, "at once") || strings.Contains(said, "offer less")) {
				t.Errorf("%s with one in flight: %q speaks of other requests", c.objective, said)
			}
		}
		if got != c.want {
			t.Errorf("%s with a ttft of %v ms: %q, want %q", c.objective, c.ttft, got, c.want)
		}
	}
}

func TestOneRequestIsSingular(t *testing.T) {
	t.Parallel()
	res := slow()
	res.Points[0].Server = &telemetry.ServerUse{Samples: 9, KVUsage: &telemetry.Gauge{Mean: 0.9, Max: 1}, Waiting: &telemetry.Gauge{Mean: 1, Max: 2}}
	found := Find(res)
	if want := "the KV cache is 100% full and 1 request waits for room"; len(found) == 0 || found[0].Title != want {
		t.Errorf("got %+v, want %q", found, want)
	}
}

// A finding says everything that a reader needs, in the engine's own words.
func TestFindingIsWhole(t *testing.T) {
	t.Parallel()
	f := Find(slow())[0]
	want := result.Finding{Regime: "decode-memory-bound", Title: "decode is memory-bound: 30 ms a token, 28 ms is what the bandwidth allows", Confidence: likely,
		Evidence: []result.Evidence{
			{Field: "points[0].latency.itl_ms.p50", Text: "30 ms a token"},
			{Field: "points[0].prediction.steady.tpot_ms", Text: "28 ms predicted from the accelerator's bandwidth"},
			{Field: "points[0].accelerator.dram_active", Text: "no bandwidth counter was read"}},
		Confirm: "redline run --url http://a --workload 'in=fixed(256) out=fixed(512)' --concurrency 1 --requests 30",
		Settled: "a single stream is as slow: nothing but fewer bytes or more bandwidth helps",
		Response: []string{"fewer bytes a token: quantize weights and cache; speculative decoding; or more bandwidth",
			"sglang: --quantization fp8, --kv-cache-dtype fp8_e5m2, --speculative-algorithm EAGLE, --tp up"},
		Advice: "short-context chat: a stack tuned for decode: fast memory before compute, and a smaller precision; lower: cheaper compute is enough, and memory bandwidth is used well"}
	expect.Same(t, want, f)
}

// Every regime has a first response in the words of every engine, and explains
// only regimes that there are.
func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for i := range Rules {
		known[Rules[i].Regime] = true
	}
	for i := range Rules {
		r := &Rules[i]
		for _, other := range r.Explains {
			if !known[other] || other == r.Regime {
				t.Errorf("%s explains %s", r.Regime, other)
			}
		}
		if len(r.Response) == 0 {
			t.Errorf("%s: no response for any engine", r.Regime)
		}
	}
	for _, e := range engine.All() {
		if e.Advice == nil {
			continue
		}
		has := advisedRegimes(e)
		if !has["prefill-pool"] && !has["decode-pool"] { // an engine that serves from one pool alone
			has["prefill-pool"], has["decode-pool"] = true, true
		}
		if !maps.Equal(known, has) {
			t.Errorf("%s has responses for %v", e.Name, has)
		}
	}
}

func advisedRegimes(e *engine.Engine) map[string]bool {
	has := map[string]bool{}
	for regime, flags := range e.Advice {
		has[regime] = flags != ""
	}
	return has
}

// lookUp follows the path of a piece of evidence through the document.
func lookUp(t *testing.T, res *result.Result, path string) error {
	t.Helper()
	text := must.Get(json.Marshal(res))(t)
	var at any
	must.Do(t, json.Unmarshal(text, &at))
	for _, key := range strings.Split(strings.ReplaceAll(strings.ReplaceAll(path, "[", "."), "]", ""), ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i < len(v) {
				at = v[i]
			} else {
				at = nil
			}
		}
		if at == nil {
			return fmt.Errorf("%s: nothing at %s", path, key)
		}
	}
	return nil
}

// After a search for the limit, the command that would settle it is a longer one.
func TestASearchIsConfirmedByALongerOne(t *testing.T) {
	t.Parallel()
	res := &result.Result{Points: make([]result.Point, 1)}
	res.Engine.URL = "http://h:8000"
	s := &scene{res: res, point: &res.Points[0]}
	if got := confirmLimit(s); strings.Contains(got, "--budget") {
		t.Errorf("without a search before: %s", got)
	}
	res.Limit = &result.Limit{LoadS: 179.8}
	if got := confirmLimit(s); !strings.Contains(got, "--find-limit --budget 9m ") {
		t.Errorf("after a search of three minutes: %s", got)
	}
}
