package tune

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
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
			objectives, err := Objectives([]string{"max goodput", "tpot:p50"}, false)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Judge(run("a", 0.80, 10), c.after, Options{Objectives: objectives, Spread: c.spread})
			if err != nil {
				t.Fatal(err)
			}
			if got.Standing != c.want || got.Why != c.why {
				t.Errorf("%s: %s; want %s: %s", got.Standing, got.Why, c.want, c.why)
			}
		})
	}
}

// Whether a run that is not valid counts is decided before it is judged.
func TestJudgeTakesWhatItIsGiven(t *testing.T) {
	t.Parallel()
	after := run("b", 0.95, 10)
	after.Verdict.Valid = "no"
	objectives := []Objective{{Figure: "good:fraction", MoreIsBetter: true}}
	if got, err := Judge(run("a", 0.8, 10), after, Options{Objectives: objectives}); err != nil || got.Standing != slo.Better {
		t.Errorf("%s, %v; want better all the same", got.Standing, err)
	}
}

func TestObjectives(t *testing.T) {
	t.Parallel()
	got, err := Objectives([]string{"goodput", "min ttft:p99", "tbt:p95", "min cost", "max throughput", "errors"}, true)
	want := []Objective{{"good:fraction", true}, {"ttft:p99", false}, {"itl:p95", false}, {"cost", false}, {"throughput", true}, {"error:rate", false}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	unpriced, err := Objectives([]string{"cost"}, false)
	if diff := cmp.Diff([]Objective{{"throughput", true}}, unpriced); err != nil || diff != "" {
		t.Errorf("without a price: %v %s", err, diff)
	}
	for text, want := range map[string]string{"speed": "want one of ttft", "max ttft:p99": "asks for the worse",
		"min throughput": "asks for the worse", "best goodput": "min or max", "": "want one of ttft", "max cost": "asks for the worse"} {
		if _, err := Objectives([]string{text}, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestMovesHaveNoExponent(t *testing.T) {
	t.Parallel()
	before, after, ratio := 999.7, 1170.0, 1.1703
	const want = "+17%, from 1,000 to 1,170 ms"
	if got := move(&result.Change{A: &before, B: &after, Ratio: &ratio, Unit: "ms"}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	got := Spread([]*result.Result{run("a", 0.80, 10), run("b", 0.85, 11), {}, run("c", 0.82, 10.5)}, nil)
	if d := got["good:fraction"]; d < 0.0499 || d > 0.0501 {
		t.Errorf("good requests differ by %v, want 5 points", d)
	}
	if d := got["tpot:p50"]; d < 0.0999 || d > 0.1001 {
		t.Errorf("time per token differs by %v, want 10%%", d)
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	k := Knob{Name: "n", Baseline: "1", Values: []string{"1", "8", "8", "64"}}
	if diff := cmp.Diff([]string{"8", "64"}, k.Trials()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"n": "1"}, Spec{Knobs: []Knob{k}}.Baseline()); diff != "" {
		t.Error(diff)
	}
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
