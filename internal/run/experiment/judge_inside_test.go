package experiment

import (
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/store"
)

// pointOf is a point with these middles, in milliseconds.
func pointOf(ttft, tpot, throughput float64) *result.Point {
	p := &result.Point{}
	p.Latency.TTFTDue, p.Latency.TPOT = &metric.Dist{N: 1000, Mean: ttft, P: map[string]float64{"p50": ttft}}, &metric.Dist{N: 1000, Mean: tpot, P: map[string]float64{"p50": tpot}}
	p.Throughput.Output = throughput
	p.Requests.Due, p.Requests.OK = 1000, 1000
	return p
}

// failedResult is the result of a stage that failed a check.
func failedResult(check result.Check) *result.Result {
	p := pointOf(10, 5, 100)
	p.Window.EndS, p.Invalid = 12, check.Reason()
	return &result.Result{Points: []result.Point{*p}, Verdict: result.Verdict{Valid: result.Invalid, Checks: []result.Check{check}}}
}

var (
	late  = result.Check{Name: "lag", Figure: "p99 9 ms", Threshold: "≤ 1 ms"}
	short = result.Check{Name: "output lengths", Figure: "mean 9 tokens", Threshold: "± 10%", Setup: true}
)

func newConductor() *conductor {
	x := &conductor{res: &result.Result{Verdict: result.Verdict{Valid: result.Valid}}, dir: &store.Dir{Path: "x"}}
	x.Config = &config.Config{}
	return x
}

// A stage that fails a check which may pass the next time is left out; one that
// fails what no repetition mends counts, and so does every one where the plan
// says so: then the whole is not valid.
func TestWhichStagesAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		check   result.Check
		purpose string
		plan    func(*config.Config)
		leftOut string
		valid   result.Validity
	}{
		{"late", late, "level", func(*config.Config) {}, "lag: p99 9 ms, allowed ≤ 1 ms", result.Valid},
		{"late in a round", late, roundPurpose, func(*config.Config) {}, "lag: p99 9 ms, allowed ≤ 1 ms", result.Valid},
		{"of a setup", short, "level", func(*config.Config) {}, "", result.Invalid},
		{"late and strict", late, "level", func(c *config.Config) { c.Strict = true }, "", result.Invalid},
		{"late but counted anyway", late, "level", func(c *config.Config) { c.Experiment.Anyway = true }, "", result.Invalid},
		{"a warm-up, which is not measured", late, result.PurposeWarmUp, func(*config.Config) {}, "", result.Valid},
	} {
		x := newConductor()
		c.plan(x.Config)
		x.add(Stage{Name: "8 requests/s", Purpose: c.purpose}, "x/stages/01", failedResult(c.check))
		if x.leftOut != c.leftOut || x.res.Stages[0].LeftOut != c.leftOut {
			t.Errorf("%s: left out %q and %q, want %q", c.what, x.leftOut, x.res.Stages[0].LeftOut, c.leftOut)
		}
		if x.res.Verdict.Valid != c.valid {
			t.Errorf("%s: the whole is %q, want %q", c.what, x.res.Verdict.Valid, c.valid)
		}
		// What is not measured is not judged either.
		if len(x.res.Points) != 1 || (x.res.Points[0].Invalid != "") != (c.purpose != result.PurposeWarmUp) {
			t.Errorf("%s: the point is not shown, or not marked as it should be", c.what)
		}
	}
}

// The repetition takes the place of what it repeats, under its name and with
// prompts of its own.
func TestTheRepetitionTakesTheFirstAttemptsPlace(t *testing.T) {
	t.Parallel()
	x := newConductor()
	x.add(Stage{Name: "4 requests/s", Purpose: "level"}, "x/stages/01", &result.Result{Points: []result.Point{*pointOf(10, 5, 100)}, Verdict: result.Verdict{Valid: result.Valid}})
	first := Stage{Name: "8 requests/s", Purpose: "level", Config: &config.Config{}}
	first.Config.Workload.Salt = "7-0"
	x.add(first, "x/stages/02", failedResult(late))
	x.withdraw()
	second := x.again(first)
	if second.Name != "8 requests/s again" || second.Config.Workload.Salt != "7-0-again" || first.Config.Workload.Salt != "7-0" {
		t.Errorf("repeated as %q with salt %q", second.Name, second.Config.Workload.Salt)
	}
	if x.lost < 12*time.Second {
		t.Errorf("the first attempt took %v, want its window's end at least", x.lost)
	}
	x.add(second, "x/stages/03", failedResult(late))
	if len(x.res.Points) != 2 || x.res.Points[1].Name != "8 requests/s" || x.res.Stages[1].Point != nil || *x.res.Stages[2].Point != 1 {
		t.Errorf("%d points, the last is %q; stages %+v", len(x.res.Points), x.res.Points[1].Name, x.res.Stages)
	}
	if got := x.countedPoints(0); len(got) != 1 || got[0].Name != "4 requests/s" {
		t.Errorf("%d points count, want the first alone", len(got))
	}
	if w := x.res.Warnings; len(w) != 1 || !strings.Contains(w[0].Text, "8 requests/s: left out") || !strings.Contains(w[0].Text, "lag: p99 9 ms") {
		t.Errorf("warnings %+v, want the stage by its name, and why", w)
	}
	x.invalidate("%d of %d levels count", 1, 2)
	// A stage that follows takes nothing of that back.
	x.add(Stage{Name: "2 requests/s", Purpose: "level"}, "x/stages/04", &result.Result{Points: []result.Point{*pointOf(10, 5, 100)}, Verdict: result.Verdict{Valid: result.Valid}})
	want := []string{"lag: 8 requests/s: p99 9 ms, allowed ≤ 1 ms", "1 of 2 levels count"}
	if v := x.res.Verdict; v.Valid != result.Invalid || !slices.Equal(v.Reasons, want) {
		t.Errorf("%s for %q, want invalid for %q", v.Valid, v.Reasons, want)
	}
}

// Of a round only what its failed checks spoil is left out.
func TestARoundIsLeftOutInPart(t *testing.T) {
	t.Parallel()
	limited, whole, judged := late, result.Check{Name: "foreign traffic", Figure: "900", Threshold: "≤ 9"}, late
	limited.Spoils, judged.Spoils = []string{"ttft", "e2e"}, []string{"ttft:p99<200ms"}
	for _, c := range []struct {
		what    string
		failed  []result.Check
		purpose string
		spoilt  []string
		skipped bool
	}{
		{"late", []result.Check{limited}, roundPurpose, []string{"e2e", "ttft"}, false},
		{"late for an objective", []result.Check{judged}, roundPurpose, []string{"good", "ttft"}, false},
		{"late beside others", []result.Check{limited, whole}, roundPurpose, nil, true},
		{"a level", []result.Check{limited}, "level", nil, true},
	} {
		x := newConductor()
		res := failedResult(c.failed[0])
		res.Verdict.Checks = c.failed
		x.add(Stage{Name: "round 1 A again", repeats: "round 1 A", Purpose: c.purpose}, "x/stages/02", res)
		if x.leftOut == "" || !slices.Equal(x.spoilt, c.spoilt) {
			t.Errorf("%s: left out for %q, spoilt %q, want %q", c.what, x.leftOut, x.spoilt, c.spoilt)
		}
		var round compare.Round
		x.note(side{name: "A"}, &round, res, nil)
		if (round.Skip != "") != c.skipped || len(round.Spoilt) != len(c.spoilt) || len(round.A) == 0 {
			t.Errorf("%s: round %+v", c.what, round)
		}
	}
}

func TestNeededRounds(t *testing.T) {
	t.Parallel()
	for planned, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 2, 5: 3, 10: 5} {
		if got := neededRounds(planned); got != want {
			t.Errorf("of %d rounds %d are needed, want %d", planned, got, want)
		}
	}
}

// B's objectives are missed or met where they are in most of its rounds.
func TestStandingOfASide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds []slo.Standing
		want   slo.Standing
	}{
		{nil, slo.None},
		{[]slo.Standing{slo.Missed, slo.Missed, slo.Met}, slo.Missed},
		{[]slo.Standing{slo.Met, slo.Met, slo.Undecided}, slo.Met},
		{[]slo.Standing{slo.Met, slo.Missed}, slo.Undecided},
		{[]slo.Standing{slo.Undecided, slo.Undecided, slo.Met}, slo.Undecided},
	} {
		if got := mostly(c.rounds, true); got != c.want {
			t.Errorf("%v: %s, want %s", c.rounds, got, c.want)
		}
	}
	if got := mostly([]slo.Standing{slo.None, slo.Missed}, false); got != slo.None {
		t.Errorf("without objectives: %s", got)
	}
}
