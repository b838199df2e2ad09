package capacity

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

var near = cmpopts.EquateApprox(0, 1e-9)

// at is one load: 400 prompt and 100 output tokens a request, a p99 of ttft and
// where its objective stands.
func at(rate, ttft float64, standing slo.Standing) result.Point {
	dist := &metric.Dist{N: 100, Mean: ttft / 4, P: map[string]float64{"p50": ttft / 5, "p99": ttft}}
	return result.Point{Load: result.Load{Rate: &rate}, Summary: metric.Summary{
		Window: metric.Window{EndS: 60}, Requests: metric.Requests{Due: 100, OK: 100}, Rates: metric.Rates{Completed: rate},
		Tokens:     metric.Tokens{Prompt: 40_000, Output: 10_000},
		Latency:    metric.Latency{TTFT: dist, TTFTDue: dist, E2E: &metric.Dist{N: 100, Mean: 2000}},
		Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: standing, Value: &ttft, Unit: "ms", Limit: 500}}}}
}

func sweep(points ...result.Point) Configuration {
	return Configuration{Name: "run", Result: &result.Result{Points: points, Hardware: result.Hardware{Accelerator: "H100", Count: 2}}}
}

func planOf(t *testing.T, d Demand, c Configuration, o Options) result.CapacityPlan {
	t.Helper()
	plan := must.Get(Plan(context.Background(), d, []Configuration{c}, o))(t)
	return plan.CapacityPlan
}

func TestInstances(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                  string
		rate, limit, headroom float64
		spare                 int
		alone, roomy, toRun   int
	}{
		{"the published example", 100, 22, 0.2, 0, 5, 6, 6},
		{"one more may fail", 100, 22, 0.2, 1, 5, 6, 7},
		{"no headroom", 100, 25, 0, 0, 4, 4, 4},
		{"a hair of rounding buys none", 100, 24, 0.2, 0, 5, 5, 5},
		{"far less than one", 0.1, 22, 0.2, 0, 1, 1, 1},
	} {
		p := planOf(t, Demand{Rate: tt.rate}, Configuration{Limit: tt.limit}, Options{Headroom: tt.headroom, Spare: tt.spare})
		got := []int{p.Instances, p.InstancesWithHeadroom, p.InstancesToRun}
		expect.NoDiff(t, cmp.Diff([]int{tt.alone, tt.roomy, tt.toRun}, got), "%s (-want +got)", tt.name)
	}
}

// Without a search, the highest load that met its objectives is the limit; a
// load that is not decided counts only where its figure is within.
func TestLimitOfASweep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		run   Configuration
		rate  float64
		basis string
	}{
		{"met", sweep(at(5, 50, slo.Met), at(20, 450, slo.Undecided), at(10, 90, slo.Met)), 10, result.LimitKept},
		{"met above a miss", sweep(at(5, 50, slo.Met), at(10, 600, slo.Missed), at(20, 90, slo.Met)), 5, result.LimitKept},
		{"met above misses only", sweep(at(5, 700, slo.Missed), at(10, 90, slo.Met)), 10, result.LimitKept},
		{"met above what is not decided", sweep(at(5, 700, slo.Undecided), at(10, 90, slo.Met)), 10, result.LimitKept},
		{"met on both sides of it", sweep(at(5, 50, slo.Met), at(10, 600, slo.Undecided), at(20, 90, slo.Met)), 20, result.LimitKept},
		{"undecided", sweep(at(5, 50, slo.Undecided), at(10, 90, slo.Undecided), at(20, 900, slo.Undecided)), 10, result.LimitUndecided},
	} {
		p := planOf(t, Demand{Rate: 1}, tt.run, Options{})
		want := result.CapacityLimit{Rate: tt.rate, Basis: tt.basis, Objectives: []string{"ttft:p99<500ms"}}
		expect.NoDiff(t, cmp.Diff(want, p.Limit), "%s (-want +got)", tt.name)
		if said, is := strings.Contains(strings.Join(p.Notes, "\n"), "a lower load missed"), tt.name == "met above misses only"; said != is {
			t.Errorf("%s: notes %q", tt.name, p.Notes)
		}
	}
	p := planOf(t, Demand{Rate: 1}, sweep(at(1, 812, slo.Missed), at(5, 990, slo.Missed)), Options{})
	if want := "no load that was measured meets ttft:p99<500ms: ttft p99 is 812 ms even at 1 request/s; less was not tried: redline sweep --find-limit does"; p.Impossible != want {
		t.Errorf("an objective that no load keeps: %q, want %q", p.Impossible, want)
	}
}

// Levels that are all too close to call say nothing, though their figures lie beyond.
func TestNothingIsPlannedByUndecidedLevels(t *testing.T) {
	t.Parallel()
	p := planOf(t, Demand{Rate: 1}, sweep(at(1, 812, slo.Undecided), at(5, 990, slo.Undecided)), Options{})
	if p.Limit.Basis != result.LimitUndecided || !strings.Contains(p.Impossible, "shows whether ttft:p99<500ms is met") {
		t.Errorf("the basis is %s: %s", p.Limit.Basis, p.Impossible)
	}
}

// A share is written as one, not as a fraction.
func TestAShareThatNoLoadMeets(t *testing.T) {
	t.Parallel()
	c, share := sweep(at(1, 50, slo.Met)), 0.125
	c.Result.Points[0].Objectives = []slo.Verdict{{Objective: "error:rate<1%", Unit: "fraction", Standing: slo.Missed, Value: &share, Limit: 0.01}}
	p := planOf(t, Demand{Rate: 1}, c, Options{})
	if want := "error rate is 12.5% even at 1 request/s"; !strings.Contains(p.Impossible, want) {
		t.Errorf("got %q, want %q in it", p.Impossible, want)
	}
}

// A price that no load keeps is nearest to being kept at the highest.
func TestTooDearAtEveryLoad(t *testing.T) {
	t.Parallel()
	c := sweep(at(1, 50, slo.Met), at(20, 60, slo.Met))
	for i, price := range []float64{40, 4.4} {
		c.Result.Points[i].Objectives = []slo.Verdict{{Objective: "cost:max<$2.5", Unit: "$/1M tokens", Standing: slo.Missed, Value: &price, Limit: 2.5}}
	}
	p := planOf(t, Demand{Rate: 1}, c, Options{})
	if want := "no load that was measured meets cost:max<$2.5: cost max is 4.4 $/1M tokens even at 20 requests/s; " +
		"a token is cheaper at a higher load: redline sweep --rates"; p.Impossible != want {
		t.Errorf("got %q, want %q", p.Impossible, want)
	}
}

// A limit below every rate offered has no number of instances.
func TestLimitBelow(t *testing.T) {
	t.Parallel()
	c := sweep(at(1, 812, slo.Missed))
	c.Result.Limit = &result.Limit{Standing: result.LimitBelow, Binding: "ttft:p99<500ms"}
	p := planOf(t, Demand{Rate: 10}, c, Options{})
	if p.InstancesToRun != 0 || !strings.Contains(p.Impossible, "ttft p99 is 812 ms even at 1 request/s") {
		t.Errorf("%d instances: %q", p.InstancesToRun, p.Impossible)
	}
}

// A search that missed nothing has not measured the limit.
func TestLimitAtLeast(t *testing.T) {
	t.Parallel()
	c := sweep(at(1, 12, slo.Met), at(29, 138, slo.Met))
	c.Result.Limit = &result.Limit{Rate: 29, Standing: result.LimitAtLeast}
	p := planOf(t, Demand{Rate: 100}, c, Options{})
	if p.Limit.Rate != 29 || p.Limit.Basis != result.LimitBound {
		t.Errorf("%+v, want what was met at the highest rate", p.Limit)
	}
}

// A run of conversations has its limit in sessions: ten of them with three
// requests each are thirty requests, as many as were offered, whichever number of
// sessions happened to begin in the window.
func TestSessionsAreManyRequests(t *testing.T) {
	t.Parallel()
	point := at(10, 90, slo.Met)
	due := int(30 * point.Window.Seconds())
	point.Requests = metric.Requests{Due: due, OK: due, Sessions: due / 4}
	if p := planOf(t, Demand{Rate: 60}, sweep(point), Options{}); p.Limit.Rate != 30 || p.Instances != 2 {
		t.Errorf("one instance carries %g, and %d carry 60", p.Limit.Rate, p.Instances)
	}
}

// Between 10 and 20 requests/s lies 15, half way; what lies outside is said.
func TestExpectedLatency(t *testing.T) {
	t.Parallel()
	m := sweep(at(20, 400, slo.Met), at(10, 100, slo.Met)).curve(false)
	for _, tt := range []struct {
		rate, p99 float64
		beyond    string
	}{{15, 250, ""}, {10, 100, ""}, {20, 400, ""}, {4, 100, "below"}, {21, 400, "above"}} {
		e := m.at(tt.rate)
		i := slices.IndexFunc(e.Figures, func(f result.ExpectedFigure) bool { return f.Name == "ttft_due_ms" && f.Stat == "p99" })
		if e.Figures[i].MS != tt.p99 || e.Beyond != tt.beyond {
			t.Errorf("at %g: %g ms %q, want %g ms %q", tt.rate, e.Figures[i].MS, e.Beyond, tt.p99, tt.beyond)
		}
	}
}

// A protocol measures more than its curve: rows of other requests are no levels
// of the load that is planned for.
func TestOnlyTheCurveCounts(t *testing.T) {
	t.Parallel()
	other := at(15, 4000, slo.Missed)
	other.Tokens = metric.Tokens{Prompt: 4_000_000, Output: 100}
	c := sweep(other, at(10, 100, slo.Met), at(20, 400, slo.Met))
	c.Result.Curve = &result.Curve{By: "rate", Points: []int{1, 2}}
	c.Prices = price.Spec{PerHour: 72}
	p := planOf(t, Demand{Rate: 15}, c, Options{})
	if i := slices.IndexFunc(p.Expected.Figures, func(f result.ExpectedFigure) bool { return f.Name == "ttft_due_ms" && f.Stat == "p99" }); p.Expected.Figures[i].MS != 250 {
		t.Errorf("p99 of ttft %g ms at 15 requests/s, want 250", p.Expected.Figures[i].MS)
	}
	// $72 for 54,000 requests of 500 tokens.
	if diff := cmp.Diff(new(72/27.0), p.Cost.Per1mTokens, near); diff != "" || p.Limit.Rate != 20 {
		t.Errorf("a limit of %g, and per 1M tokens (-want +got):\n%s", p.Limit.Rate, diff)
	}
}

func TestSpecsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]Spec{
		"":                            {},
		"rate: expected requests":     {Rate: -1},
		"rate: expected requests per": {Spare: 1},
		"users: a rate is given too":  {Rate: 1, Users: 5, Think: time.Second},
		"think: expected the time":    {Users: 5},
		"think: is the time between":  {Rate: 1, Think: time.Second},
		"mean_rate: must be at most":  {Rate: 1, MeanRate: 2},
		"headroom: expected a share":  {Rate: 1, Headroom: new(-0.5)},
		"spare: must be 0 to 1000":    {Rate: 1, Spare: -1},
	} {
		err := spec.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", spec, err, want)
		}
	}
}

// 340 users who think 15 s and wait 2 s for each answer send 20 requests/s.
func TestUsers(t *testing.T) {
	t.Parallel()
	d := Demand{Users: 340, Think: 15 * time.Second}
	if p := planOf(t, d, sweep(at(10, 90, slo.Met)), Options{}); p.Demand.Rate != 20 || p.Instances != 2 {
		t.Errorf("%g requests/s by %d instances", p.Demand.Rate, p.Instances)
	}
	if p := planOf(t, d, Configuration{Limit: 10}, Options{}); p.Demand.Rate != 340.0/15 {
		t.Errorf("without a run %g requests/s", p.Demand.Rate)
	}
}

// Four instances of two accelerators at $1.25 are $10 an hour; 36,000 requests
// of 500 tokens come in it.
func TestCost(t *testing.T) {
	t.Parallel()
	c := sweep(at(5, 90, slo.Met))
	c.Prices = price.Spec{PerAcceleratorHour: 1.25, ReservedPerAcceleratorHour: 1}
	p := planOf(t, Demand{Rate: 20, Mean: 10}, c, Options{})
	want := &result.CapacityCost{PerHour: 10, PerMonth: 7300, ReservedPerHour: new(8.0), ReservedPerMonth: new(5840.0), AtRate: 10,
		PerRequest: 10.0 / 36_000, Per1kTokens: new(10.0 / 18_000), Per1mTokens: new(10.0 / 18), Per1mOutput: new(10.0 / 3.6)}
	expect.Same(t, want, p.Cost, near)
	if p.UtilizationAtPeak != 1 || *p.UtilizationAtMean != 0.5 {
		t.Errorf("busy %g at peak, %g on average", p.UtilizationAtPeak, *p.UtilizationAtMean)
	}
}

// At its limit of 20/s, with 25 ms for a prompt alone, an instance spends half of
// its time on prompts: half as long again they take a quarter more, so 16/s.
func TestSensitivity(t *testing.T) {
	t.Parallel()
	p := planOf(t, Demand{Rate: 80}, sweep(at(10, 100, slo.Met), at(20, 100, slo.Met)), Options{})
	want := []result.Sensitivity{
		{Name: "traffic −20%", InstancesToRun: 4, GPUsToRun: 8},
		{Name: "traffic +20%", InstancesToRun: 5, GPUsToRun: 10},
		{Name: "prompts +50%", InstancesToRun: 5, GPUsToRun: 10},
	}
	expect.Same(t, want, p.Sensitivity)
}

// Of two configurations the cheaper one is chosen where both prices are in one
// currency, and it is said where their limits do not mean the same.
func TestChoice(t *testing.T) {
	t.Parallel()
	with := func(name, currency string, hour, limit float64, objectives ...string) Configuration {
		c := Configuration{Name: name, Prices: price.Spec{PerHour: hour, Currency: currency}, Result: &result.Result{
			Limit: &result.Limit{Rate: limit, Standing: result.LimitFound, Confirmed: true, ByObjective: map[string]result.Bound{}}}}
		for _, o := range objectives {
			c.Result.Limit.ByObjective[o] = result.Bound{}
		}
		return c
	}
	ttft, tpot := "ttft:p99<500ms", "tpot:p95<50ms"
	for _, tt := range []struct {
		name      string
		a, b      Configuration
		best, why string
	}{
		{"dollars by another name", with("a", "", 8, 20, ttft), with("b", "USD", 3, 10, ttft), "b", "the cheapest of those measured"},
		{"two currencies", with("a", "EUR", 8, 20, ttft), with("b", "USD", 3, 10, ttft), "a",
			"the fewest accelerators: prices in several currencies cannot be compared"},
		{"two promises", with("a", "", 8, 20, ttft, tpot), with("b", "", 3, 10, ttft), "b",
			"the cheapest of those measured; their limits are not under the same objectives"},
	} {
		plan := must.Get(Plan(t.Context(), Demand{Rate: 20}, []Configuration{tt.a, tt.b}, Options{}))(t)
		if plan.Name != tt.best || plan.Chosen != tt.why {
			t.Errorf("%s: %s, %q; want %s, %q", tt.name, plan.Name, plan.Chosen, tt.best, tt.why)
		}
	}
}

func TestQuestionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		demand Demand
		limit  float64
		want   string
	}{
		{Demand{Rate: 10, Mean: 11}, 5, "mean-rate: must be at most the peak of 10 requests/s, got 11"},
		{Demand{Users: 30, Think: 10 * time.Second, Mean: 4}, 5, "mean-rate: must be at most the peak of 3 requests/s, got 4"},
		{Demand{Rate: 100}, 1e-300, "100 requests/s take more than 1,000,000 instances"},
	} {
		if _, err := Plan(t.Context(), tt.demand, []Configuration{{Limit: tt.limit}}, Options{}); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v at %g: %v, want %q", tt.demand, tt.limit, err, tt.want)
		}
	}
}

// The mean load is named as an assumption for every utilisation, also where a
// product over its factor is not quite the other one.
func TestPlannedUseIsAnAssumption(t *testing.T) {
	t.Parallel()
	for percent := 1; percent < 60; percent++ {
		p := planOf(t, Demand{Rate: 100}, Configuration{Limit: 22, Prices: price.Spec{PerHour: 1, Utilization: float64(percent) / 100}}, Options{Headroom: 0.2})
		if !slices.ContainsFunc(p.Assumptions, func(s string) bool { return strings.HasSuffix(s, "(cost.utilization)") }) {
			t.Errorf("%d %%: not among %q", percent, p.Assumptions)
		}
	}
}

func TestBusiestMinute(t *testing.T) {
	t.Parallel()
	every := func(gap time.Duration, n int) []int64 {
		list := make([]int64, n)
		for i := range list {
			list[i] = int64(i) * int64(gap)
		}
		return list
	}
	// A minute of ten a second lies across two minutes of the clock.
	burst := every(time.Second, 30)
	for i := range 600 {
		burst = append(burst, int64(30*time.Second)+int64(i)*int64(100*time.Millisecond))
	}
	burst = append(burst, int64(10*time.Minute))
	for _, tt := range []struct {
		name       string
		times      []int64
		rate, mean float64
	}{
		{"even", every(time.Second, 601), 1, 1},
		{"short", every(time.Second, 11), 1, 0},
		{"a burst", burst, 10, 630.0 / 600},
	} {
		d, err := Busiest(tt.name, slices.Values(tt.times))
		if err != nil || d.Rate != tt.rate || d.Mean != tt.mean {
			t.Errorf("%s: %g, mean %g, %v; want %g, mean %g", tt.name, d.Rate, d.Mean, err, tt.rate, tt.mean)
		}
	}
	for _, times := range [][]int64{{}, {5}, {5, 5}} {
		if d, err := Busiest("few", slices.Values(times)); err == nil {
			t.Errorf("%v have a rate of %g", times, d.Rate)
		}
	}
}

// A rehearsal gets the plan, and what it saw stands in the answer.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	o := Options{Spare: 1, Rehearse: func(_ context.Context, c Configuration, trial Trial) (*result.Rehearsal, error) {
		return &result.Rehearsal{Planned: result.FleetRehearsal{Instances: trial.Instances, Requests: int64(trial.Rate)}}, nil
	}}
	p := planOf(t, Demand{Rate: 20}, sweep(at(10, 90, slo.Met)), o)
	want := &result.Rehearsal{Planned: result.FleetRehearsal{Instances: 3, Requests: 20}}
	expect.Same(t, want, p.Rehearsal)
}
