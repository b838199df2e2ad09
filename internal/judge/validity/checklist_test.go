package validity

import (
	"fmt"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// dist is a distribution with its median and its p99, both with confidence.
func dist(n int, p50, p99 float64) *metric.Dist {
	return &metric.Dist{N: n, Mean: p50, Max: p99, P: map[string]float64{"p50": p50, "p99": p99}, Firm: []string{"p50", "p99"}}
}

// level is a point of an open loop over a window of so many seconds.
func level(rate, seconds float64) result.Point {
	p := result.Point{Load: result.Load{Mode: "open", Rate: &rate}}
	p.Latency.TTFTDue, p.Latency.TPOT = dist(1000, 50, 100), dist(1000, 5, 10)
	p.Requests.Due, p.Requests.OK = 1000, 1000
	p.Window = metric.Window{StartS: 10, EndS: 10 + seconds, WarmupS: new(10.0)}
	p.Tokens.PromptLengths = dist(1000, 500, 3000)
	p.Concurrency = metric.Concurrency{Mean: 4.5, Max: 12}
	return p
}

// wellDone is a sweep of which everything is known and well done.
func wellDone() *result.Result {
	return &result.Result{Points: []result.Point{level(1, 60), level(2, 60), level(4, 300)},
		Curve: &result.Curve{By: "rate", Points: []int{0, 1, 2}}, Sustained: new(2),
		Hardware: result.Hardware{Accelerator: "H100", Count: 4, Interconnect: "NVLink"}, Model: result.Model{Precision: "fp8"},
		Workload: result.Workload{Arrival: "Poisson"}}
}

// answers lists the items as "name: state, field".
func answers(items []result.Item) map[string]string {
	out := map[string]string{}
	for _, i := range items {
		out[i.Name] = fmt.Sprintf("%s, %s", i.State, i.Field)
	}
	return out
}

func TestChecklistOfASoundSweep(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"warm-up":           "yes, points[0].window.warmup_s",
		"open loop":         "yes, points[0].load.mode",
		"tails":             "yes, points[0].latency.ttft_due_ms",
		"realistic prompts": "yes, points[0].tokens.prompt_lengths",
		"sweep":             "yes, curve.points",
		"duration":          "yes, points[2].window.end_s",
		"hardware context":  "yes, hardware.accelerator",
		"precision":         "yes, model.precision",
		"batch":             "yes, points[2].concurrency.mean",
		"both phases":       "yes, points[0].latency",
	}
	expect.Same(t, want, answers(Checklist(wellDone())))
}

// Each flaw is found by the item that asks for it.
func TestChecklistFindsEachFlaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		spoil func(*result.Result)
		item  string
		want  string
	}{
		{"no warm-up", func(r *result.Result) { r.Points[0].Window.WarmupS = new(0.0) }, "warm-up", "no, points[0].window.warmup_s"},
		{"warm-up not noted", func(r *result.Result) { r.Points[0].Window.WarmupS = nil }, "warm-up", "unknown, points[0].window.warmup_s"},
		{"warm-up as a stage", func(r *result.Result) {
			r.Points[0].Window.WarmupS = nil
			r.Stages = []result.Stage{{Name: "warm-up", Purpose: result.PurposeWarmUp, Point: new(0)}}
		}, "warm-up", "yes, stages[0].purpose"},
		{"closed loop", func(r *result.Result) { r.Points[1].Load.Mode = "closed" }, "open loop", "no, points[1].load.mode"},
		{"weak tails", func(r *result.Result) {
			for i := range r.Points {
				r.Points[i].Latency.TTFTDue.Firm = []string{"p50"}
			}
		}, "tails", "no, points[0].latency.ttft_due_ms"},
		{"no tails", func(r *result.Result) {
			for i := range r.Points {
				delete(r.Points[i].Latency.TTFTDue.P, "p99")
			}
		}, "tails", "no, points[0].latency.ttft_due_ms"},
		{"no first tokens at all", func(r *result.Result) {
			for i := range r.Points {
				r.Points[i].Latency.TTFTDue = nil
			}
		}, "tails", "unknown, points[0].latency.ttft_due_ms"},
		{"one length", func(r *result.Result) { r.Points[0].Tokens.PromptLengths = dist(1000, 500, 500) }, "realistic prompts",
			"no, points[0].tokens.prompt_lengths"},
		{"lengths not counted", func(r *result.Result) {
			for i := range r.Points {
				r.Points[i].Tokens.PromptLengths = nil
			}
		}, "realistic prompts", "unknown, points[].tokens.prompt_lengths"},
		{"two levels", func(r *result.Result) { r.Curve.Points = []int{0, 1} }, "sweep", "no, curve.points"},
		{"one load", func(r *result.Result) { r.Curve = nil }, "sweep", "no, curve"},
		{"short sustained run", func(r *result.Result) { r.Points[2].Window.EndS = 40 }, "duration", "no, points[2].window.end_s"},
		{"a short level", func(r *result.Result) { r.Sustained, r.Points[1].Window.EndS = nil, 40 }, "duration", "no, points[1].window.end_s"},
		{"hardware not said", func(r *result.Result) { r.Hardware = result.Hardware{} }, "hardware context", "unknown, hardware.accelerator"},
		{"how many not said", func(r *result.Result) { r.Hardware.Count = 0 }, "hardware context", "unknown, hardware.count"},
		{"what joins them not said", func(r *result.Result) { r.Hardware.Interconnect = "" }, "hardware context", "unknown, hardware.interconnect"},
		{"49 requests of warm-up", func(r *result.Result) { r.Points[0].Window.WarmupRequests = new(49) }, "warm-up", "no, points[0].window.warmup_requests"},
		{"50 requests of warm-up", func(r *result.Result) { r.Points[0].Window.WarmupRequests = new(50) }, "warm-up", "yes, points[0].window.warmup_requests"},
		{"a weak p99.9 that was asked for", func(r *result.Result) {
			r.Plan = map[string]any{"metrics": map[string]any{"percentiles": []any{50.0, 99.9}}}
			for i := range r.Points {
				r.Points[i].Latency.TTFTDue.P["p999"] = 400
			}
		}, "tails", "no, points[0].latency.ttft_due_ms"},
		{"precision not said", func(r *result.Result) { r.Model.Precision = "" }, "precision", "unknown, model.precision"},
		{"only how the weights are stored", func(r *result.Result) {
			r.Model.Precision, r.Model.Quantization = "", "awq"
		}, "precision", "yes, model.precision"},
		{"nothing in flight", func(r *result.Result) { r.Points[2].Concurrency = metric.Concurrency{} }, "batch", "no, points[2].concurrency.mean"},
		{"no decode", func(r *result.Result) { r.Points[0].Latency.TPOT = nil }, "both phases", "no, points[0].latency"},
	} {
		res := wellDone()
		c.spoil(res)
		got := answers(Checklist(res))
		if got[c.item] != c.want {
			t.Errorf("%s: %s is %q, want %q", c.what, c.item, got[c.item], c.want)
		}
	}
}

// An empty result is unknown in all that would have been measured.
func TestChecklistOfNothing(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"warm-up": "unknown, points", "open loop": "unknown, points", "tails": "unknown, points",
		"realistic prompts": "unknown, points[].tokens.prompt_lengths", "sweep": "no, curve", "duration": "unknown, points",
		"hardware context": "unknown, hardware.accelerator", "precision": "unknown, model.precision",
		"batch": "unknown, points", "both phases": "unknown, points",
	}
	expect.Same(t, want, answers(Checklist(&result.Result{})))
}

// Stages that only prepared the way carry no claim.
func TestChecklistLeavesOutTheSmoke(t *testing.T) {
	t.Parallel()
	smoke := level(1, 1)
	smoke.Load.Mode = "closed"
	res := &result.Result{Points: []result.Point{smoke, level(2, 60)},
		Stages: []result.Stage{{Name: "smoke", Purpose: result.PurposeSmoke, Point: new(0)}, {Name: "mix", Point: new(1)}}}
	got := answers(Checklist(res))
	if got["open loop"] != "yes, points[1].load.mode" || got["duration"] != "yes, points[1].window.end_s" {
		t.Errorf("%v, want the second point alone", got)
	}
}

func TestChecklistIsForClaims(t *testing.T) {
	t.Parallel()
	if list := Checklist(&result.Result{Comparison: &result.Comparison{}}); list != nil {
		t.Errorf("a comparison is asked %+v", list)
	}
	if list := Checklist(&result.Result{Repeats: &result.Repeats{}}); list != nil {
		t.Errorf("repeats are asked %+v", list)
	}
	if list := Checklist(&result.Result{}); len(list) == 0 {
		t.Error("a single run is asked nothing")
	}
}
