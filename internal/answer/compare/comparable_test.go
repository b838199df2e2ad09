package compare

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// TestWhatIsNotComparableIsRefusedOrWarnedOf changes one thing at a time.
func TestWhatIsNotComparableIsRefusedOrWarnedOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		change  func(*result.Result)
		refused []string
		warned  []string
	}{
		{"nothing", func(*result.Result) {}, nil, nil},
		{"engine version", func(r *result.Result) { r.Engine.Version = "0.12" }, nil, nil},
		{"workload", func(r *result.Result) { r.Workload.Name = "rag" }, []string{"workload: chat against rag"}, nil},
		{"workload in the plan", func(r *result.Result) { r.Plan["workload"] = map[string]any{"prompt": 512} },
			[]string{`workload: "chat" against {"prompt":512}`}, nil},
		{"generation", func(r *result.Result) { r.Plan["generation"] = map[string]any{"temperature": 1} }, nil,
			[]string{`generation: not stated against {"temperature":1}`}},
		{"model", func(r *result.Result) { r.Model.Name = "llama-3.1-70b" }, []string{"model: llama-3.1-8b against llama-3.1-70b"}, nil},
		{"API", func(r *result.Result) { r.Engine.API = "openai-completions" }, []string{"API: openai-chat against openai-completions"}, nil},
		{"arrivals", func(r *result.Result) { r.Workload.Arrival = "constant" }, []string{"arrivals: Poisson against constant"}, nil},
		{"a bound was reached", func(r *result.Result) { r.Interrupted = "max tokens" }, nil, []string{"run b: it ended early: max tokens"}},
		{"accelerator", func(r *result.Result) { r.Hardware = result.Hardware{Accelerator: "H200", Count: 2} }, nil,
			[]string{"accelerator: not stated against 2 × H200: the difference may be the hardware's"}},
		{"tokenizer", func(r *result.Result) { r.Workload.Tokenizer = "server" }, nil,
			[]string{"tokenizer: o200k_base against server: prompts may differ in length"}},
		{"load machine", func(r *result.Result) { r.Client = result.Client{OS: "linux", Arch: "arm64", CPUs: 4} }, nil,
			[]string{"load machine: not stated against linux/arm64, 4 cores, elsewhere: the difference may be that of the machines that drove the load"}},
		{"seed", func(r *result.Result) { r.Seed = 99 }, nil,
			[]string{"the seeds differ, so the two runs sent different requests: part of the difference may come from that; run both with the same --seed"}},
		{"length", func(r *result.Result) { r.Points[0].Window.EndS = 310 }, nil,
			[]string{"the windows last from 60 to 300 s: the shorter ones saw fewer of the rare slow requests"}},
		{"a figure", func(r *result.Result) { r.Points[0].Latency.TPOT = p99Of(20) }, nil,
			[]string{"tpot:p99: measured on one side only"}},
		{"errors", func(r *result.Result) { r.Points[0].Requests = metric.Requests{Due: 100, OK: 98, Failed: 2} }, nil,
			[]string{"error:rate: measured on one side only", "reject:rate: measured on one side only",
				"more than 1% of the requests failed: latencies are those of the others, and look better for it"}},
	} {
		b := run("b", 100)
		c.change(b)
		got, err := Runs(one(run("a", 100)), one(b), Options{})
		var refused *Incomparable
		var reasons, warned []string
		if errors.As(err, &refused) {
			reasons = refused.Reasons
		} else {
			warned = texts(got.Warnings)
		}
		expect.NoDiff(t, cmp.Diff(c.refused, reasons), "%s: refused (-want +got)", c.what)
		expect.NoDiff(t, cmp.Diff(c.warned, warned), "%s: warnings (-want +got)", c.what)
	}
}

func texts(warnings []result.Warning) []string {
	var list []string
	for _, w := range warnings {
		list = append(list, w.Text)
	}
	return list
}

func TestWhatIsRefusedCanBeForced(t *testing.T) {
	t.Parallel()
	other := run("b", 150, func(r *result.Result) { r.Model.Name = "llama-3.1-70b" })
	_, err := Runs(one(run("a", 100)), one(other), Options{})
	const refusal = "not comparable: model: llama-3.1-8b against llama-3.1-70b: compare runs of one plan"
	if err == nil || err.Error() != refusal {
		t.Errorf("error %v, want %s", err, refusal)
	}
	got := must.Get(Runs(one(run("a", 100)), one(other), Options{Anyway: true}))(t)
	want := []string{"not comparable, but forced: model: llama-3.1-8b against llama-3.1-70b"}
	if diff := cmp.Diff(want, texts(got.Warnings)); diff != "" || !got.worse() {
		t.Errorf("forced: %s; warnings (-want +got):\n%s", got.Verdict, diff)
	}
	empty := run("b", 1, func(r *result.Result) { r.Points = nil })
	if _, err := Runs(one(run("a", 100)), one(empty), Options{Anyway: true}); err == nil {
		t.Error("a run without figures was compared")
	}
}

// The figures of runs that cannot be relied on are shown and marked; judged only
// where that is asked for.
func TestWhatIsNotValidIsShown(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(*result.Result)
		why    string
	}{
		"not valid": {func(r *result.Result) {
			r.Verdict = result.Verdict{Valid: result.Invalid, Reasons: []string{"lag: p99 7 ms, allowed ≤ 1 ms"}}
		}, "run b: it is not valid: lag: p99 7 ms, allowed ≤ 1 ms"},
		"interrupted": {func(r *result.Result) { r.Interrupted = result.ByUser }, "run b: it was cut short, so that it lacks its slowest requests"},
	} {
		for _, anyway := range []bool{false, true} {
			got := must.Get(Runs(one(run("a", 100)), one(run("b", 150, c.change)), Options{Anyway: anyway}))(t)
			m := got.Metrics[0]
			if len(got.Invalid) != 1 || got.Invalid[0] != c.why || m.A == nil || m.B == nil || math.Abs(*m.B-150) > 1e-6 {
				t.Errorf("%s: invalid for %q with %+v, want %q and both figures", what, got.Invalid, m, c.why)
			}
			if judged := got.worse(); judged != anyway {
				t.Errorf("%s, anyway %v: judged %v: %s", what, anyway, judged, got.Verdict)
			}
			if want := "not judged: " + c.why; !anyway && got.Verdict != want {
				t.Errorf("%s: %q, want %q", what, got.Verdict, want)
			}
		}
	}
}

// A level that a sweep left out is none of those compared.
func TestALevelThatWasLeftOutIsNotCompared(t *testing.T) {
	t.Parallel()
	two := func(id string, ttft float64) *result.Result {
		r := run(id, ttft, withLoads(5))
		r.Points = append(r.Points, run(id, ttft, withLoads(10)).Points...)
		return r
	}
	b := two("b", 150)
	b.Points[1].Invalid = "lag: p99 7 ms"
	got := must.Get(Runs(one(two("a", 100)), one(b), Options{}))(t)
	for _, m := range got.Metrics {
		if m.Load != "5/s" {
			t.Errorf("%s at %s is compared", m.Name, m.Load)
		}
	}
	if want := []string{"10/s is left out, because it is not valid on one of the sides"}; !cmp.Equal(texts(got.Warnings), want) {
		t.Errorf("warned %q, want %q", texts(got.Warnings), want)
	}
}

func TestGoodputUnderOtherObjectivesIsNotCompared(t *testing.T) {
	t.Parallel()
	a, b := run("a", 100, withCounts(2000, 0, 0.99, 4000)), run("b", 100, withCounts(2000, 0, 0.5, 4000))
	b.Points[0].Objectives = []slo.Verdict{{Objective: "class=rag ttft:p99<50ms", Scope: slo.Scope{Class: "rag"}}}
	got := must.Get(Runs(one(a), one(b), Options{}))(t)
	want := []string{"the objectives differ (ttft:p99<500ms against class=rag ttft:p99<50ms), so goodput is not compared"}
	expect.NoDiff(t, cmp.Diff(want, texts(got.Warnings)), "warnings (-want +got)")
}

func TestGoodputIsComparedWhateverTheOrderOfObjectives(t *testing.T) {
	t.Parallel()
	a, b := run("a", 100, withCounts(2000, 0, 0.99, 4000)), run("b", 100, withCounts(2000, 0, 0.5, 4000))
	first, second := slo.Verdict{Objective: "ttft:p99<500ms"}, slo.Verdict{Objective: "tpot:p99<50ms"}
	a.Points[0].Objectives, b.Points[0].Objectives = []slo.Verdict{first, second}, []slo.Verdict{second, first}
	got := must.Get(Runs(one(a), one(b), Options{}))(t)
	if !slices.ContainsFunc(got.Metrics, func(m Metric) bool { return m.Name == "good:fraction" }) {
		t.Errorf("goodput is not compared: %q", texts(got.Warnings))
	}
}

func TestEarlierRunsOfAnotherKindDoNotCount(t *testing.T) {
	t.Parallel()
	history := runsOf("h", 100, 101, 99)
	history[0].Model.Name, history[1].Verdict.Valid = "llama-3.1-70b", "no"
	a := run("a", 100)
	got := must.Get(Runs(one(a), one(run("b", 104)), Options{History: append(history, a)}))(t)
	want := []string{"2 of 4 earlier runs are not comparable and do not count", "of 1 earlier runs the spread is not known; it takes 3"}
	expect.NoDiff(t, cmp.Diff(want, texts(got.Warnings)), "warnings (-want +got)")
}

func TestRunsOfOneSeedShowOnlyTheServersSpread(t *testing.T) {
	t.Parallel()
	set := runsOf("b", 100, 101)
	set[1].Seed = set[0].Seed
	got := must.Get(Runs(runsOf("a", 100, 102), set, Options{}))(t)
	want := []string{"runs of one set share a seed: their spread shows the server's, not that of the requests"}
	expect.NoDiff(t, cmp.Diff(want, texts(got.Warnings)), "warnings (-want +got)")
}
