package protocol

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/answer/matrix"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/plan/config"
	"redline/internal/traffic/workload"
)

// The rows of the protocol are data: their expectations must be what the plan
// would accept, of rows that come before them.
func TestStepsAreSound(t *testing.T) {
	t.Parallel()
	known, expectations := map[string]bool{}, 0
	for _, s := range Steps(&config.Config{}, Known{Limit: &result.Limit{Rate: 10}}) {
		for _, text := range s.Expectation {
			if e, err := config.ParseExpectation(text); err != nil || e.Row != "" && !known[e.Row] {
				t.Errorf("%s expects %q: %v", s.Name, text, err)
			}
			expectations++
		}
		known[s.Name] = true
	}
	if expectations == 0 {
		t.Error("no step expects anything")
	}
}

// What is not known yet is not planned: without a limit the search is the last
// step, and a search that held its limit needs no sustained run.
func TestNext(t *testing.T) {
	t.Parallel()
	c := &config.Config{}
	c.Experiment.Rows = []config.Row{{Name: "own"}}
	names := func(k Known) (list []string) {
		for {
			step, more := Next(c, k)
			if !more {
				return list
			}
			list = append(list, step.Name)
			k.Over++
		}
	}
	before := []string{"smoke", "warm-up", "own", "deterministic", "product", "mix", ""}
	after := []string{"burst", "overload", "hot-tenant", "others-alone"}
	for _, tc := range []struct {
		what  string
		known Known
		want  []string
	}{
		{"nothing known", Known{}, before},
		{"no limit", Known{Limit: &result.Limit{Standing: result.LimitBelow}}, before},
		{"a limit", Known{Limit: &result.Limit{Rate: 10}}, slices.Concat(before, after, []string{"sustained"})},
		{"a limit that was held", Known{Limit: &result.Limit{Rate: 10}, Sustained: true}, slices.Concat(before, after)},
	} {
		expect.NoDiff(t, cmp.Diff(tc.want, names(tc.known)), "%s (-want +got)", tc.what)
	}
	product := &result.Point{}
	product.Rates.Completed = 3
	steps := Steps(c, Known{Known: matrix.Known{Points: map[string]*result.Point{"product": product}}})
	if mix := steps[5]; mix.Rate != 3 {
		t.Errorf("the mix is offered at %g, want the rate that the closed loop completed", mix.Rate)
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	limit := func(standing result.LimitStanding, rate, lo, hi float64) *result.Limit {
		return &result.Limit{Rate: rate, Interval: [2]float64{lo, hi}, Standing: standing}
	}
	judged := result.Point{}
	judged.Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Met, Value: new(200.0), Unit: "ms"},
		{Objective: "class=rag ttft:p99<500ms", Scope: slo.Scope{Class: "rag"}, Standing: slo.Missed},
		{Objective: "ttft:p99<100ms", Standing: slo.Missed}, {Objective: "ttft:p99<210ms", Standing: slo.Undecided}}
	for _, c := range []struct {
		rule     []string
		limit    *result.Limit
		standing slo.Standing
	}{
		{nil, limit(result.LimitFound, 22, 21, 23), slo.NotStated},
		{[]string{"limit>20"}, limit(result.LimitFound, 22, 21, 23), slo.Met},
		{[]string{"limit>20"}, limit(result.LimitFound, 18, 17, 19), slo.NotMet},
		{[]string{"limit>20"}, limit(result.LimitFound, 20.5, 19, 22), slo.Undecided},
		{[]string{"limit>20"}, &result.Limit{Rate: 30, Interval: [2]float64{25, 30}, Standing: result.LimitAtLeast, Confirmed: true}, slo.Met},
		{[]string{"limit>20"}, limit(result.LimitAtLeast, 30, 25, 30), slo.Undecided}, // nothing broke, of too few
		{[]string{"limit>20"}, limit(result.LimitAtLeast, 15, 10, 15), slo.Undecided},
		{[]string{"limit>20"}, limit(result.LimitBelow, 0, 0, 1), slo.NotMet},
		{[]string{"limit>20"}, nil, slo.Undecided},
		{[]string{"ttft:p99<500ms"}, nil, slo.Met},
		{[]string{"ttft:p99<100ms"}, nil, slo.NotMet},
		{[]string{"ttft:p99<210ms"}, nil, slo.Undecided},
		{[]string{"e2e:p99<1s"}, nil, slo.Undecided},            // not judged
		{[]string{"class=rag ttft:p99<500ms"}, nil, slo.NotMet}, // whatever all requests together do
		{[]string{"limit>20", "ttft:p99<500ms"}, limit(result.LimitFound, 22, 21, 23), slo.Met},
		{[]string{"limit>20", "ttft:p99<210ms"}, limit(result.LimitFound, 22, 21, 23), slo.Undecided},
		{[]string{"ttft:p99<210ms", "limit>20"}, limit(result.LimitFound, 18, 17, 19), slo.NotMet},
	} {
		cfg := &config.Config{Experiment: config.Experiment{Protocol: config.Protocol{Accept: c.rule}}}
		res := &result.Result{Limit: c.limit, Points: []result.Point{judged}, Sustained: new(0)}
		got := accept(cfg, res)
		if got.Standing != c.standing {
			t.Errorf("%v with %+v is %s, want %s: %+v", c.rule, c.limit, got.Standing, c.standing, got.Conditions)
		}
		if len(got.Conditions) != len(c.rule) {
			t.Errorf("%v has %d answers", c.rule, len(got.Conditions))
		}
	}
}

// Without a run that lasted at the limit, nothing is said of it.
func TestAcceptNeedsASustainedRun(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Experiment: config.Experiment{Protocol: config.Protocol{Accept: []string{"ttft:p99<500ms"}}}}
	if got := accept(cfg, &result.Result{}); got.Standing != slo.Undecided {
		t.Errorf("%+v, want undecided", got)
	}
}

func TestFieldsSayWhatIsNotStated(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Metadata: config.Metadata{"rollback_risk": "weights stay, flags go back"}}
	cfg.Provider.URLs = []string{"http://127.0.0.1:1"}
	res := &result.Result{Hardware: result.Hardware{Accelerator: "H100", Count: 2, Driver: "570"}, Verdict: result.Verdict{SLO: "missed", Valid: "no"}}
	got := map[string]string{}
	for _, f := range Fields(cfg, res) {
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
	expect.NoDiff(t, cmp.Diff(want, got), "fields (-want +got)")
}

// The tokenizer is the model's own where it is stated, and a mix has its shares.
func TestFieldsNameTokenizerAndShares(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{}
	cfg.Workload.Preset = "chat_mix"
	res := &result.Result{Model: result.Model{Tokenizer: "llama-3"}, Workload: result.Workload{Tokenizer: "o200k_base"}}
	want := map[string]string{"Tokenizer and chat template": "llama-3 (tokens counted by o200k_base)",
		"Traffic mix": "chat_mix: chat 70%, conversation 30% (multi_turn_chat)"}
	for _, f := range Fields(cfg, res) {
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
		expect.NoDiff(t, cmp.Diff(&workload.HotSpot{Tenant: c.hot, Share: hotShare}, beside.HotSpot), "%s, beside (-want +got)", c.what)
		expect.NoDiff(t, cmp.Diff(&workload.HotSpot{Tenant: c.hot, Excluded: true}, without.HotSpot), "%s, without (-want +got)", c.what)
		for _, w := range []workload.Spec{beside, without} {
			expect.NoDiff(t, cmp.Diff(c.list, w.Tenants), "%s (-want +got)", c.what)
			if err := w.Validate(); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		}
	}
}

func TestSmoke(t *testing.T) {
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
		outcome, ok := Smoke(&result.Result{Points: c.points})
		if ok != c.ok || !strings.Contains(outcome, c.part) {
			t.Errorf("%q, %t, want %q, %t", outcome, ok, c.part, c.ok)
		}
	}
}
