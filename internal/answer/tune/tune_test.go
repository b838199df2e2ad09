package tune

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// run is a run of 2,000 requests with a share of good ones and a time per token,
// known to a percent.
func run(id string, good, tpot float64) *result.Result {
	p := result.Point{Load: result.Load{Mode: "open", Rate: new(10.0)}}
	p.Requests = metric.Requests{Due: 2000, OK: 2000}
	p.Goodput = &metric.Goodput{Fraction: good}
	p.Latency.TPOT = &metric.Dist{N: 2000, P: map[string]float64{"p50": tpot}}
	p.StandardErrors = metric.StandardErrors{"good:fraction": 0.002, "tpot:p50": 0.0015}
	return &result.Result{ID: id, Points: []result.Point{p}, Verdict: result.Verdict{Valid: "yes", SLO: "met"}}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	broken := run("b", 0.99, 10)
	broken.Verdict.SLO = "missed"
	broken.Points[0].Objectives = []slo.Verdict{{Objective: "ttft:p99<1s", Standing: slo.Missed}}
	vague := run("b", 0.80, 20)
	vague.Points[0].StandardErrors = nil
	for _, c := range []struct {
		name   string
		after  *result.Result
		spread map[string]float64
		want   slo.Standing
		why    string
	}{
		{"more good requests", run("b", 0.95, 10), nil, slo.Better, "good:fraction +15 points, from 80% to 95% (p<0.001)"},
		{"fewer good requests, though faster", run("b", 0.60, 5), nil, slo.Worse, "good:fraction −20 points, from 80% to 60% (p<0.001)"},
		{"as good, and faster", run("b", 0.81, 8), nil, slo.Better, "tpot:p50 −20%, from 10 to 8 ms (p<0.001)"},
		{"as good, and slower", run("b", 0.80, 12), nil, slo.Worse, "tpot:p50 +20%, from 10 to 12 ms (p<0.001)"},
		{"nothing", run("b", 0.80, 10.2), nil, slo.Same, "nothing that counts moved by more than 5%"},
		{"less than baselines differ by", run("b", 0.95, 10), map[string]float64{"good:fraction": 0.2}, slo.Same, "nothing that counts moved by more than 5%"},
		{"too few to be sure", vague, nil, slo.Undecided, "tpot:p50 +100%, from 10 to 20 ms, but the runs are too short to show how sure that is"},
		{"a promise is broken", broken, nil, slo.Worse, "breaks ttft:p99<1s, which was not broken before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objectives := must.Get(Objectives([]string{"max goodput", "tpot:p50"}, false))(t)
			standing, why, _, err := Judge(run("a", 0.80, 10), c.after, Options{Objectives: objectives, Spread: c.spread})
			if err != nil || standing != c.want || why != c.why {
				t.Errorf("%s: %s, %v; want %s: %s", standing, why, err, c.want, c.why)
			}
		})
	}
}

// Whether a run that is not valid counts is decided before it is judged.
func TestJudgeTakesWhatItIsGiven(t *testing.T) {
	t.Parallel()
	after := run("b", 0.95, 10)
	after.Verdict.Valid = "no"
	if got, _, _, err := Judge(run("a", 0.8, 10), after, Options{Objectives: []string{"good:fraction"}}); err != nil || got != slo.Better {
		t.Errorf("%s, %v; want better all the same", got, err)
	}
}

func TestObjectives(t *testing.T) {
	t.Parallel()
	got, err := Objectives([]string{"goodput", "min ttft:p99", "tbt:p95", "min cost", "max throughput", "errors"}, true)
	want := []string{"good:fraction", "ttft:p99", "itl:p95", "cost", "throughput", "error:rate"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	unpriced, err := Objectives([]string{"cost"}, false)
	if diff := cmp.Diff([]string{"throughput"}, unpriced); err != nil || diff != "" {
		t.Errorf("without a price: %v %s", err, diff)
	}
	for text, want := range map[string]string{"speed": "expected one of ttft", "max ttft:p99": "asks for the worse",
		"min throughput": "asks for the worse", "best goodput": "min or max", "": "expected one of ttft", "max cost": "asks for the worse"} {
		if _, err := Objectives([]string{text}, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	k := Knob{Name: "n", Baseline: "1", Values: []string{"1", "8", "8", "64"}}
	expect.Same(t, []string{"8", "64"}, k.Trials())
	expect.Same(t, map[string]string{"n": "1"}, Spec{Knobs: []Knob{k}}.Baseline())
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Knobs: []Knob{k}}, ""},
		{Spec{Knobs: []Knob{{Values: []string{"1"}}}}, "name: is missing"},
		{Spec{Knobs: []Knob{k, k}}, "another knob"},
		{Spec{Knobs: []Knob{{Name: "n", Baseline: "1", Values: []string{"1"}}}}, "beside its baseline"},
		{Spec{Knobs: make([]Knob, 21)}, "at most 20"},
		{Spec{Objective: []string{"joy"}}, `objective: unknown figure "joy"`},
	} {
		err := c.spec.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}
