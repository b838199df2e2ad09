package experiment

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/plan/config"
	"redline/internal/traffic/workload"
)

// dist is a distribution with its middle and its p99, both firm.
func dist(n int, p50, p99 float64) *metric.Dist {
	return &metric.Dist{N: n, Mean: p50, Max: p99, P: map[string]float64{"p50": p50, "p99": p99}, Firm: []string{"p50", "p99"},
		CI: map[string][2]float64{"p99": {p99 * 0.9, p99 * 1.1}}}
}

// measured is a point with these middles, in milliseconds.
func measured(ttft, tpot, throughput float64) *result.Point {
	p := &result.Point{}
	p.Latency.TTFTDue, p.Latency.TPOT = dist(1000, ttft, 2*ttft), dist(1000, tpot, 2*tpot)
	p.Throughput.Output = throughput
	p.Requests.Due, p.Requests.OK = 1000, 1000
	return p
}

func TestWeigh(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	rows := map[string]*result.Point{"A": measured(10, 5, 100), "blind": {}}
	kept := measured(50, 5, 400)
	kept.Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Met}}
	failing := measured(50, 5, 400)
	failing.Requests.Failed = 200
	for _, c := range []struct {
		expectation string
		point       *result.Point
		agrees      *bool
		outcome     string
	}{
		{"ttft:p50 >= 4x A", measured(50, 5, 100), &yes, "ttft:p50 is 50 ms, 5x A (10)"},
		{"ttft:p50 >= 4x A", measured(39, 5, 100), &no, "3.9x A"},
		{"ttft:p50 <= 0.5x A", measured(5, 5, 100), &yes, "0.5x A"},
		{"ttft:p50 <= 0.5x A", measured(6, 5, 100), &no, "0.6x A"},
		{"tpot:p50 within 20% of A", measured(50, 5.9, 100), &yes, "1.18x A"},
		{"tpot:p50 within 20% of A", measured(50, 3.9, 100), &no, "0.78x A"},
		{"tpot:mean within 20% of A", measured(50, 6.1, 100), &no, "1.22x A"},
		{"throughput >= 3x A", measured(50, 5, 400), &yes, "throughput is 400 tokens/s, 4x A (100)"},
		{"itl:p99 >= 3x A", measured(50, 5, 400), nil, "itl:p99 was not measured"},
		{"ttft:p50 >= 3x blind", measured(50, 5, 400), nil, "was not measured in blind"},
		{"ttft:p50 >= 3x Z", measured(50, 5, 400), nil, "nothing was measured in Z"},
		{"objectives", kept, &yes, "ttft:p99<500ms met"},
		{"objectives", measured(50, 5, 400), nil, "no objectives"},
		{"error:rate<1%", kept, &yes, "error:rate is 0"},
		{"error:rate<1%", failing, &no, "error:rate is 0.2"},
	} {
		e, err := config.ParseExpectation(c.expectation)
		if err != nil {
			t.Fatal(err)
		}
		outcome, agrees := weigh(e, c.point, rows)
		if diff := cmp.Diff(c.agrees, agrees); diff != "" || !strings.Contains(outcome, c.outcome) {
			t.Errorf("%s: %q, %s; want %q", c.expectation, outcome, diff, c.outcome)
		}
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	limit := func(standing result.LimitStanding, rate, lo, hi float64) *result.Limit {
		return &result.Limit{Rate: rate, Interval: [2]float64{lo, hi}, Standing: standing}
	}
	for _, c := range []struct {
		rule     []string
		limit    *result.Limit
		standing string
	}{
		{nil, limit(result.LimitFound, 22, 21, 23), result.NotStated},
		{[]string{"limit>20"}, limit(result.LimitFound, 22, 21, 23), result.AcceptMet},
		{[]string{"limit>20"}, limit(result.LimitFound, 18, 17, 19), result.AcceptNot},
		{[]string{"limit>20"}, limit(result.LimitFound, 20.5, 19, 22), result.AcceptUndecided},
		{[]string{"limit>20"}, &result.Limit{Rate: 30, Interval: [2]float64{25, 30}, Standing: result.LimitAtLeast, Confirmed: true}, result.AcceptMet},
		{[]string{"limit>20"}, limit(result.LimitAtLeast, 30, 25, 30), result.AcceptUndecided}, // nothing broke, of too few
		{[]string{"limit>20"}, limit(result.LimitAtLeast, 15, 10, 15), result.AcceptUndecided},
		{[]string{"limit>20"}, limit(result.LimitBelow, 0, 0, 1), result.AcceptNot},
		{[]string{"limit>20"}, nil, result.AcceptUndecided},
		{[]string{"ttft:p99<500ms"}, nil, result.AcceptMet},       // 200 ms, at most 220
		{[]string{"ttft:p99<100ms"}, nil, result.AcceptNot},       // at least 180
		{[]string{"ttft:p99<210ms"}, nil, result.AcceptUndecided}, // between
		{[]string{"e2e:p99<1s"}, nil, result.AcceptUndecided},     // not measured
		{[]string{"class=rag ttft:p99<1s"}, nil, result.AcceptUndecided},
		{[]string{"throughput:min>45"}, nil, result.AcceptMet},
		{[]string{"throughput:min>450"}, nil, result.AcceptNot},
		{[]string{"limit>20", "ttft:p99<500ms"}, limit(result.LimitFound, 22, 21, 23), result.AcceptMet},
		{[]string{"limit>20", "ttft:p99<210ms"}, limit(result.LimitFound, 22, 21, 23), result.AcceptUndecided},
		{[]string{"ttft:p99<210ms", "limit>20"}, limit(result.LimitFound, 18, 17, 19), result.AcceptNot},
	} {
		cfg := &config.Config{Experiment: config.Experiment{Protocol: config.Protocol{Accept: c.rule}}}
		res := &result.Result{Limit: c.limit, Points: []result.Point{*measured(100, 5, 200)}, Sustained: new(0)}
		got := accept(cfg, res)
		if got.Standing != c.standing {
			t.Errorf("%v with %+v is %s, want %s: %+v", c.rule, c.limit, got.Standing, c.standing, got.Conditions)
		}
		if len(got.Conditions) != len(c.rule) {
			t.Errorf("%v has %d answers", c.rule, len(got.Conditions))
		}
	}
}

// TestAcceptCountsWhatFailed: a request that was not answered is later than any
// limit.
func TestAcceptCountsWhatFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule     string
		failed   int
		judged   []slo.Verdict
		standing string
	}{
		{"ttft:p99<500ms", 0, nil, result.AcceptMet},
		{"ttft:p99<500ms", 11, nil, result.AcceptNot},
		{"ttft:p99<500ms", 9, nil, result.AcceptUndecided},
		{"ttft:p99<100ms", 9, nil, result.AcceptNot},
		{"ttft:mean<500ms", 1, nil, result.AcceptUndecided},
		{"throughput:min>45", 11, nil, result.AcceptMet},
		{"ttft:p99<500ms", 9, []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Met}}, result.AcceptMet},
		{"class=rag ttft:p99<1s", 0, []slo.Verdict{{Objective: "ttft:p99<1s", Standing: slo.Missed},
			{Objective: "class=rag ttft:p99<1s", Scope: slo.Scope{Class: "rag"}, Standing: slo.Met}}, result.AcceptMet},
	} {
		p := measured(100, 5, 200)
		p.Requests.OK, p.Requests.Failed = p.Requests.Due-c.failed, c.failed
		p.Objectives = c.judged
		cfg := &config.Config{Experiment: config.Experiment{Protocol: config.Protocol{Accept: []string{c.rule}}}}
		got := accept(cfg, &result.Result{Points: []result.Point{*p}, Sustained: new(0)})
		if got.Standing != c.standing {
			t.Errorf("%s with %d failed is %s, want %s: %+v", c.rule, c.failed, got.Standing, c.standing, got.Conditions)
		}
	}
}

// Without a run that lasted at the limit, nothing is said of it.
func TestAcceptNeedsASustainedRun(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Experiment: config.Experiment{Protocol: config.Protocol{Accept: []string{"ttft:p99<500ms"}}}}
	if got := accept(cfg, &result.Result{}); got.Standing != result.AcceptUndecided {
		t.Errorf("%+v, want undecided", got)
	}
}

func TestFieldsSayWhatIsNotStated(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Metadata: config.Metadata{"rollback_risk": "weights stay, flags go back"}}
	cfg.Provider.URLs = []string{"http://127.0.0.1:1"}
	res := &result.Result{Hardware: result.Hardware{Accelerator: "H100", Count: 2, Driver: "570"}, Verdict: result.Verdict{SLO: "missed", Valid: "no"}}
	got := map[string]string{}
	for _, f := range fields(cfg, res) {
		if f.Field == "" {
			t.Errorf("%s does not say where it was read", f.Name)
		}
		got[f.Name] = f.Value
	}
	want := map[string]string{
		"Model and revision": "not stated", "Tokenizer and chat template": "not stated", "Runtime and version": "not stated",
		"Hardware and driver": "2 × H100, driver 570", "Precision": "not stated", "Serving flags": "not stated",
		"Traffic mix": workload.Spec{}.String(), "SLO target": "not stated", "Pass or fail": "fail, but the run is not valid",
		"Rollback risk": "weights stay, flags go back",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// The tokenizer is the model's own where it is stated, and a mix has its shares.
func TestFieldsNameTokenizerAndShares(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{}
	cfg.Workload.Preset = "chat_mix"
	res := &result.Result{Model: result.Model{Tokenizer: "llama-3"}, Workload: result.Workload{Tokenizer: "o200k_base"}}
	want := map[string]string{"Tokenizer and chat template": "llama-3 (tokens counted by o200k_base)",
		"Traffic mix": "chat_mix: chat 70%, conversation 30% (multi_turn_chat)"}
	for _, f := range fields(cfg, res) {
		if value, asked := want[f.Name]; asked && f.Value != value {
			t.Errorf("%s: %q, want %q", f.Name, f.Value, value)
		}
	}
	cfg.Workload = workload.Spec{Classes: []workload.Class{{Name: "chat", Weight: 3, Workload: workload.Part{Preset: "chat"}}, {Name: "rag", Workload: workload.Part{Preset: "rag_agent"}}}}
	if got, want := cfg.Workload.Mix(), "mix(chat:3,rag:1): chat 75%, rag 25% (rag_agent)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestApart(t *testing.T) {
	t.Parallel()
	made := []workload.Tenant{{Name: "hot"}, {Name: "quiet"}}
	two := []workload.Tenant{{Name: "a", Additions: llm.Additions{Key: "one"}}, {Name: "b", Share: 3, Additions: llm.Additions{Key: "two"}}}
	many := []workload.Tenant{{Name: "t", Count: 1_000_000, Additions: llm.Additions{Model: "m"}}}
	for _, c := range []struct {
		what string
		in   []workload.Tenant
		hot  string
		list []workload.Tenant
	}{
		{"no tenants", nil, "hot", made},
		{"one tenant", []workload.Tenant{{Name: "a"}}, "hot", made},
		{"two, whose keys are found by their places", two, "a", two},
		{"many of one kind, which stay one entry", many, "t-1", many},
	} {
		beside, without := hotAndOthers(workload.Spec{Tenants: c.in})
		if diff := cmp.Diff(&workload.HotSpot{Tenant: c.hot, Share: hotShare}, beside.HotSpot); diff != "" {
			t.Errorf("%s, beside (-want +got):\n%s", c.what, diff)
		}
		if diff := cmp.Diff(&workload.HotSpot{Tenant: c.hot, Excluded: true}, without.HotSpot); diff != "" {
			t.Errorf("%s, without (-want +got):\n%s", c.what, diff)
		}
		for _, w := range []workload.Spec{beside, without} {
			if diff := cmp.Diff(c.list, w.Tenants); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.what, diff)
			}
			if err := w.Validate(); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		}
	}
}

// The built-in rows are data: they must be what the plan would accept.
func TestBuiltInRowsAreSound(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range append(append([]config.Row{}, Rows...), settings...) {
		for _, text := range r.Expectation {
			e, err := config.ParseExpectation(text)
			if err != nil {
				t.Errorf("%s: %v", r.Name, err)
			}
			if e.Row != "" && !known[e.Row] {
				t.Errorf("%s is held against %s, which does not come before it", r.Name, e.Row)
			}
		}
		if r.Hypothesis == "" || r.Question == "" || len(r.Expectation) == 0 {
			t.Errorf("%s lacks a hypothesis, a question or an expectation", r.Name)
		}
		if _, err := r.Workload.Complete(); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		known[r.Name] = true
	}
	for _, name := range []string{"A", "B", "C", "D", "E", "F"} {
		if !known[name] {
			t.Errorf("row %s is missing", name)
		}
	}
}

func TestSmoked(t *testing.T) {
	t.Parallel()
	whole := result.Point{}
	whole.Requests.OK, whole.Tokens.Output, whole.Tokens.AskedOutput = 1, 64, 64
	whole.Tokens.Counted = map[string]int{"usage": 1}
	short := whole
	short.Requests.Short, short.Tokens.Output = 1, 3
	uncounted := whole
	uncounted.Tokens.Counted = nil
	failed := result.Point{}
	failed.Requests.Errors = []metric.ErrorCount{{Text: "connection reset", Count: 1}}
	for _, c := range []struct {
		points []result.Point
		ok     bool
		part   string
	}{
		{nil, false, "nothing was measured"},
		{[]result.Point{whole}, true, "ended in order with 64 of 64 tokens"},
		{[]result.Point{uncounted}, true, "does not say how many tokens"},
		{[]result.Point{short}, false, "3 tokens in place of 64"},
		{[]result.Point{failed}, false, "failed: connection reset"},
		{[]result.Point{{}}, false, "did not end in order"},
	} {
		outcome, ok := smoked(&result.Result{Points: c.points})
		if ok != c.ok || !strings.Contains(outcome, c.part) {
			t.Errorf("%q, %t, want %q, %t", outcome, ok, c.part, c.ok)
		}
	}
}

// The load of a row: its own where it says one, the plan's otherwise; the
// plan's cap holds for open rows.
func TestRowStageLoad(t *testing.T) {
	t.Parallel()
	open := config.Config{}
	open.Load.Rate, open.Load.Process = 10, "constant"
	capped := open
	capped.Load.Bounds.MaxConcurrency = 32
	closed := config.Config{}
	closed.Load.Bounds.MaxConcurrency = 32
	for _, c := range []struct {
		what    string
		plan    config.Config
		row     config.Row
		mode    string
		rate    float64
		cap     int
		process string
	}{
		{"the plan's open loop", open, config.Row{}, config.Open, 10, 0, "constant"},
		{"the plan's closed loop", closed, config.Row{}, config.Closed, 0, 32, ""},
		{"one at a time", open, config.Row{Concurrency: 1}, config.Closed, 0, 1, ""},
		{"a rate of its own", open, config.Row{Rate: 3}, config.Open, 3, 0, "constant"},
		{"a rate in a plan with a cap", capped, config.Row{Rate: 3}, config.Capped, 3, 32, "constant"},
		{"a rate in a plan of a closed loop", closed, config.Row{Rate: 3}, config.Capped, 3, 32, "poisson"},
		{"both", open, config.Row{Rate: 3, Concurrency: 2}, config.Capped, 3, 2, "constant"},
	} {
		x := &conductor{}
		x.Config = &c.plan
		got := x.rowStage(c.row).Config
		if got.Mode() != c.mode || got.Load.Rate != c.rate || got.Load.Bounds.MaxConcurrency != c.cap || got.Load.Process != c.process {
			t.Errorf("%s: %s, rate %v, cap %d, %q; want %s, %v, %d, %q", c.what, got.Mode(), got.Load.Rate,
				got.Load.Bounds.MaxConcurrency, got.Load.Process, c.mode, c.rate, c.cap, c.process)
		}
	}
}

func TestScaled(t *testing.T) {
	t.Parallel()
	x := &conductor{}
	x.Config = &config.Config{Experiment: config.Experiment{Protocol: config.Protocol{Scale: 0.1}}}
	for _, c := range []struct{ length, want time.Duration }{
		{time.Minute, 6 * time.Second}, {time.Second, shortest}, {0, 0}, {50 * time.Millisecond, 50 * time.Millisecond},
	} {
		if got := x.scaled(c.length); got != c.want {
			t.Errorf("%v becomes %v, want %v", c.length, got, c.want)
		}
	}
	for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 8: 2, 50: 5} {
		if got := x.fewer(n); got != want {
			t.Errorf("%d requests become %d, want %d", n, got, want)
		}
	}
	x.Config.Experiment.Scale = 0
	if got := x.scaled(time.Minute); got != time.Minute || x.fewer(50) != 50 {
		t.Errorf("without a scale a minute becomes %v", got)
	}
}
