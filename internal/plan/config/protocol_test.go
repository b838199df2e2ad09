package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

func TestParseExpectation(t *testing.T) {
	t.Parallel()
	errors := must.Get(slo.Parse("error:rate<1%"))(t)
	for text, want := range map[string]Expectation{
		"ttft:p50 >= 4x A":         {Text: "ttft:p50 >= 4x A", Figure: "ttft:p50", Op: AtLeast, Factor: 4, Row: "A"},
		" ttft:p50  >  1.5x long ": {Text: "ttft:p50 > 1.5x long", Figure: "ttft:p50", Op: AtLeast, Factor: 1.5, Row: "long"},
		"throughput < 0.5x E-cold": {Text: "throughput < 0.5x E-cold", Figure: "throughput", Op: AtMost, Factor: 0.5, Row: "E-cold"},
		"tpot:mean within 20% of A": {Text: "tpot:mean within 20% of A", Figure: "tpot:mean", Op: Within, Factor: 0.2,
			Row: "A"},
		"error:rate<1%": {Text: "error:rate<1%", Objective: &errors},
		"objectives":    {Text: "objectives", ObjectivesMet: true},
	} {
		got, err := ParseExpectation(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(want, got), "%q (-want +got)", text)
	}
}

func TestParseExpectationSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"":                          "expected one such as",
		"faster":                    "expected one such as",
		"ttfd:p50 >= 4x A":          "did you mean ttft?",
		"ttft:p42 >= 4x A":          "expected one of ttft:p50, p75",
		"throughput:p50 >= 4x A":    `throughput has no "p50"; write throughput`,
		"ttft:p50 = 4x A":           "expected >=, <= or within",
		"ttft:p50 >= 0x A":          "above 0",
		"ttft:p50 >= NaNx A":        "above 0",
		"ttft:p50 within 4x of A":   "above 0",
		"ttft:p50 within twenty% A": "expected one such as",
	} {
		got, err := ParseExpectation(text)
		if err == nil {
			t.Errorf("%q is read as %+v, want an error", text, got)
		} else if !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want %q in it", text, err, part)
		}
	}
}

func FuzzExpectation(f *testing.F) {
	for _, text := range []string{"ttft:p50 >= 4x A", "tpot:p50 within 20% of A", "objectives", "error:rate<1%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpectation(text)
		if err != nil {
			return
		}
		again, err := ParseExpectation(e.Text)
		if err != nil {
			t.Fatalf("%q is spelled %q, which is an error: %v", text, e.Text, err)
		}
		expect.NoDiff(t, cmp.Diff(e, again, cmpopts.EquateNaNs()), "%q changes when it is read again", text)
	})
}

func TestConditions(t *testing.T) {
	t.Parallel()
	p := Protocol{Accept: []string{"limit>20", "limit >= 2.5", "batch", "cost:max<$2"}}
	got := must.Get(p.Conditions())(t)
	var shown []string
	for _, c := range got {
		shown = append(shown, c.Text)
	}
	want := []string{"limit>20", "limit >= 2.5", "ttft:p99<2s", "cost:max<$2"}
	expect.NoDiff(t, cmp.Diff(want, shown), "conditions (-want +got)")
	if got[0].Limit != 20 || got[1].Limit != 2.5 || got[2].Limit != 0 {
		t.Errorf("limits %v, %v, %v, want 20, 2.5 and none", got[0].Limit, got[1].Limit, got[2].Limit)
	}
}

func TestProtocolErrors(t *testing.T) {
	t.Parallel()
	for plan, part := range map[string]string{
		"experiment:\n  scale: 2":                                                                  "plan.yaml:2: experiment.scale: expected a share above 0 and up to 1",
		"experiment:\n  scale: 0":                                                                  "expected a share above 0",
		"experiment:\n  accept: [limit>many]":                                                      "as in limit>20",
		"experiment:\n  accept: [chatty]":                                                          "did you mean chat?",
		"experiment:\n  rows:\n    - {workload: chat}":                                             "name: expected a short word",
		"experiment:\n  rows:\n    - {name: a b}":                                                  "name: expected a short word",
		"experiment:\n  rows:\n    - {name: a}\n    - {name: a}":                                   "a is the name of another row",
		"experiment:\n  rows:\n    - {name: a, expectation: ['ttft:p50 > 2x b']}\n    - {name: b}": "no row above this one is named b",
		"experiment:\n  rows:\n    - {name: a, rate: -1}":                                          "rate: expected requests per second",
		"experiment:\n  rows:\n    - {name: a, generation: wild}":                                  "generation:",
		"experiment:\n  rows:\n    - {name: a, rate: 2, profile: burts}":                           "did you mean burst?",
		"experiment:\n  rows:\n    - {name: a, profile: burst}":                                    "rate: expected a number",
		"experiment:\n  rows:\n    - {name: a, profile: overload}":                                 "limit",
		"experiment:\n  rows:\n    - {name: a, profile: 'ramp(1..5,x)'}":                           "profile",
		"experiment:\n  rows:\n    - {name: a, concurrency: 2, profile: burst}":                    "a closed loop has no arrivals",
		"experiment:\n  rows:\n    - {name: a, workload: chatt}":                                   "did you mean chat?",
		"experiment:\n  variants:\n    - {name: a, sim: {tp: 7}}":                                  "tp: 7 does not divide",
		"experiment:\n  variants:\n    - {name: a}\n    - {name: a}":                               "a is the name of another variant",
		"experiment:\n  variants:\n    - {name: a, api_endpoint: ['ftp://x']}":                     "begins with http://",
		"experiment:\n  variants:\n    - {nam: a}":                                                 "name",
	} {
		_, err := Resolve(Input{PlanPath: writePlan(t, plan)})
		if err == nil {
			t.Errorf("no error for\n%s", plan)
		} else if !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q for\n%s", err, part, plan)
		}
	}
}

func TestRowsMayHaveProfiles(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{PlanPath: writePlan(t, `
load_profile: {rate: 2, limit: 20}
experiment:
  rows:
    - {name: a, rate: 2, profile: burst}
    - {name: b, profile: overload}
    - {name: c, profile: 'ramp(1..5,1m)', concurrency: 4}
`)})
	if n := len(c.Experiment.Rows); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

func TestVariantsStandInThePlaceOfTheTarget(t *testing.T) {
	t.Parallel()
	plan := writePlan(t, `
server: {sim: {gpu: A100}}
experiment:
  variants:
    - name: base
    - {name: big, model: llama-3.1-70b, sim: {tp: 4, gpu: H200}}
    - {name: real, api_endpoint: ['http://127.0.0.1:8000/v1/completions?key=sesame-123'], model: m}
`)
	c := mustResolve(t, Input{PlanPath: plan})
	type target struct {
		Model, GPU string
		TP         int
		URL, API   string
	}
	var got []target
	for i := range c.Experiment.Variants {
		v := must.Get(c.Variant(i))(t)
		if v.Experiment.Variants != nil {
			t.Errorf("variant %d still has variants", i)
		}
		one := target{Model: v.Provider.Model, API: v.Provider.API}
		if v.Embedded() {
			one = target{Model: v.Server.Sim.Model, GPU: v.Server.Sim.GPU, TP: v.Server.Sim.TP, API: v.Provider.API}
		} else {
			one.URL = v.Provider.URLs[0]
		}
		got = append(got, one)
	}
	want := []target{
		{Model: "llama-3.1-8b", GPU: "A100", TP: 1, API: "openai-chat"},
		{Model: "llama-3.1-70b", GPU: "H200", TP: 4, API: "openai-chat"},
		{Model: "m", URL: "http://127.0.0.1:8000/v1/completions?key=sesame-123", API: "openai-completions"},
	}
	expect.NoDiff(t, cmp.Diff(want, got), "variants (-want +got)")
	text := must.Get(c.YAML())(t)
	if strings.Contains(string(text), "sesame") {
		t.Errorf("the plan that is kept shows a secret:\n%s", text)
	}
}

// A plan with rows and variants says the same when it is read again, which is
// what going on with an experiment rests on.
func TestProtocolReadsBack(t *testing.T) {
	t.Parallel()
	first := mustResolve(t, Input{PlanPath: writePlan(t, `
experiment:
  scale: 0.5
  accept: [limit>3, chat]
  variants: [{name: one}, {name: two, sim: {tp: 2}}]
  rows:
    - {name: a, workload: 'in=fixed(256) out=fixed(128)', concurrency: 1, duration: 30s}
    - {name: b, workload: {prefix: {groups: 1, tokens: 512}, prompt: 64, output: 32}, rate: 2, expectation: ['ttft:p50 > 1x a']}
    - {name: c}
`)})
	text := must.Get(first.YAML())(t)
	second := mustResolve(t, Input{PlanPath: writePlan(t, string(text))})
	if diff := cmp.Diff(first, second, sameConfig); diff != "" {
		t.Errorf("read again (-first +second):\n%s\n%s", diff, text)
	}
	expect.NoDiff(t, cmp.Diff(first.RedactedMap(), second.RedactedMap()), "as a document (-first +second)")
}
