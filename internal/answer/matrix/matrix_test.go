package matrix

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/config"
)

// dist is a distribution with its middle and its p99, both firm.
func dist(n int, p50, p99 float64) *metric.Dist {
	return &metric.Dist{N: n, Mean: p50, Max: p99, P: map[string]float64{"p50": p50, "p99": p99}, Firm: []string{"p50", "p99"},
		CI: map[string][2]float64{"p99": {p99 * 0.9, p99 * 1.1}}}
}

// pointOf is a point with these middles, in milliseconds.
func pointOf(ttft, tpot, throughput float64) *result.Point {
	p := &result.Point{}
	p.Latency.TTFTDue, p.Latency.TPOT = dist(1000, ttft, 2*ttft), dist(1000, tpot, 2*tpot)
	p.Throughput.Output = throughput
	p.Requests.Due, p.Requests.OK = 1000, 1000
	return p
}

// roughPoint is one of which an equal run's ttft may differ by a fifth.
func roughPoint(ttft float64) *result.Point {
	p := pointOf(ttft, 5, 100)
	p.StandardErrors = metric.StandardErrors{"ttft:p50": 0.2}
	return p
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	rows := map[string]*result.Point{"A": pointOf(10, 5, 100), "blind": {}, "rough": roughPoint(10)}
	kept := pointOf(50, 5, 400)
	kept.Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Met}}
	verdict := func(standing slo.Standing, value float64, note string) []slo.Verdict {
		return []slo.Verdict{{Objective: "error:rate<1%", Standing: standing, Value: &value, Unit: "fraction", Note: note}}
	}
	for _, c := range []struct {
		expectation string
		point       *result.Point
		verdicts    []slo.Verdict
		agrees      *bool
		outcome     string
	}{
		{"ttft:p50 >= 4x A", pointOf(50, 5, 100), nil, &yes, "ttft:p50 is 50 ms, 5x A (10)"},
		{"ttft:p50 >= 4x A", pointOf(39, 5, 100), nil, &no, "3.9x A"},
		{"ttft:p50 <= 0.5x A", pointOf(5, 5, 100), nil, &yes, "0.5x A"},
		{"ttft:p50 <= 0.5x A", pointOf(6, 5, 100), nil, &no, "0.6x A"},
		{"tpot:p50 within 20% of A", pointOf(50, 5.9, 100), nil, &yes, "1.18x A"},
		{"tpot:p50 within 20% of A", pointOf(50, 3.9, 100), nil, &no, "0.78x A"},
		{"tpot:mean within 20% of A", pointOf(50, 6.1, 100), nil, &no, "1.22x A"},
		{"throughput >= 3x A", pointOf(50, 5, 400), nil, &yes, "throughput is 400 tokens/s, 4x A (100)"},
		{"itl:p99 >= 3x A", pointOf(50, 5, 400), nil, nil, "itl:p99 was not measured"},
		{"ttft:p50 >= 4x rough", roughPoint(50), nil, nil, "x: too close to call"},
		{"ttft:p50 >= 4x rough", roughPoint(500), nil, &yes, "50x rough (10)"},
		{"ttft:p50 within 20% of rough", roughPoint(500), nil, &no, "50x rough (10)"},
		{"ttft:p50 >= 3x blind", pointOf(50, 5, 400), nil, nil, "was not measured in blind"},
		{"ttft:p50 >= 3x Z", pointOf(50, 5, 400), nil, nil, "nothing was measured in Z"},
		{"objectives", kept, nil, &yes, "ttft:p99<500ms met"},
		{"objectives", pointOf(50, 5, 400), nil, nil, "no objectives"},
		{"error:rate<1%", kept, verdict(slo.Met, 0, ""), &yes, "error:rate is 0"},
		{"error:rate<1%", kept, verdict(slo.Missed, 0.2, ""), &no, "error:rate is 0.2"},
		{"error:rate<1%", kept, verdict(slo.Undecided, 0, "about 99 more requests would decide"), nil, "error:rate is 0, about 99 more requests would decide"},
		{"error:rate<1%", kept, nil, nil, "error:rate was not measured"},
	} {
		outcome, agrees := Answer(config.Row{Expectation: []string{c.expectation}}, c.point, c.verdicts, rows)
		if diff := cmp.Diff(c.agrees, agrees); diff != "" || !strings.Contains(outcome, c.outcome) {
			t.Errorf("%s: %q, %s; want %q", c.expectation, outcome, diff, c.outcome)
		}
	}
}

// Rows that expect the objectives decide where they stand; what is left out makes
// the answer weaker.
func TestConclude(t *testing.T) {
	t.Parallel()
	c := &config.Config{}
	c.Experiment.Rows = []config.Row{{Name: "a"}, {Name: "b", Expectation: []string{"objectives"}}, {Name: "c"}}
	met, missed := &result.Point{}, &result.Point{}
	met.Objectives, missed.Objectives = []slo.Verdict{{Standing: slo.Met}}, []slo.Verdict{{Standing: slo.Missed}}
	for _, tc := range []struct {
		what     string
		points   map[string]*result.Point
		standing slo.Standing
		missing  []string
	}{
		{"all", map[string]*result.Point{"a": missed, "b": met, "c": missed}, slo.Met, nil},
		{"b misses", map[string]*result.Point{"a": met, "b": missed, "c": met}, slo.Missed, nil},
		{"b is left out", map[string]*result.Point{"a": met, "c": met}, slo.None, []string{"b, which asks for the objectives, is left out"}},
		{"two are left out", map[string]*result.Point{"b": met}, slo.Met, []string{"2 of 3 rows are left out"}},
	} {
		standing, missing := Conclude(c, Known{Over: 3, Points: tc.points})
		if standing != tc.standing || !slices.Equal(missing, tc.missing) {
			t.Errorf("%s: %s, %q; want %s, %q", tc.what, standing, missing, tc.standing, tc.missing)
		}
	}
}

// The built-in rows are data: they must be what the plan would accept.
func TestBuiltInRowsAreSound(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range Rows {
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

// The load of a row: its own where it says one, the plan's otherwise; the
// plan's cap holds for open rows.
func TestRowLoad(t *testing.T) {
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
		got := Plan(&c.plan, c.row)
		if got.Mode() != c.mode || got.Load.Rate != c.rate || got.Load.Bounds.MaxConcurrency != c.cap || got.Load.Process != c.process {
			t.Errorf("%s: %s, rate %v, cap %d, %q; want %s, %v, %d, %q", c.what, got.Mode(), got.Load.Rate,
				got.Load.Bounds.MaxConcurrency, got.Load.Process, c.mode, c.rate, c.cap, c.process)
		}
	}
}

// tracePlan is a plan of a trace and nothing else.
func tracePlan(t *testing.T, flags map[string][]string) *config.Config {
	t.Helper()
	path := must.File(t, "trace.csv", "timestamp,input_length,output_length\n0,10,5\n1000,10,5\n")
	given := map[string][]string{"workload": {path}}
	for name, values := range flags {
		given[name] = values
	}
	c := must.Get(config.Resolve(config.Input{Flags: given}))(t)
	return c
}

// TestRowOfATrace: a replay is as long as it is and its beginning is part of
// it, unless its row or its load says otherwise.
func TestRowOfATrace(t *testing.T) {
	t.Parallel()
	type bounds struct {
		Duration time.Duration
		Requests int
		Warmup   *time.Duration
	}
	second := new(time.Second)
	for _, tc := range []struct {
		name  string
		flags map[string][]string
		row   config.Row
		want  bounds
	}{
		{"as recorded", nil, config.Row{}, bounds{}},
		{"as the plan says", map[string][]string{"duration": {"7s"}, "warmup": {"1s"}}, config.Row{}, bounds{7 * time.Second, 0, second}},
		{"as long as the row says", nil, config.Row{Duration: 30 * time.Second}, bounds{Duration: 30 * time.Second}},
		{"as many as the row says", nil, config.Row{Requests: 9}, bounds{Requests: 9}},
		{"at a rate", nil, config.Row{Rate: 3}, bounds{Length, 0, new(Warmup)}},
		{"in a closed loop", nil, config.Row{Concurrency: 3, Requests: 8}, bounds{0, 8, new(Warmup)}},
	} {
		b := Plan(tracePlan(t, tc.flags), tc.row).Load.Bounds
		expect.NoDiff(t, cmp.Diff(tc.want, bounds{b.Duration, b.TotalRequests, b.Warmup}), "%s (-want +got)", tc.name)
	}
}

func TestScaled(t *testing.T) {
	t.Parallel()
	c := &config.Config{Experiment: config.Experiment{Protocol: config.Protocol{Scale: 0.1}}}
	for _, row := range []struct{ length, want time.Duration }{
		{time.Minute, 6 * time.Second}, {time.Second, shortest}, {0, 0}, {50 * time.Millisecond, 50 * time.Millisecond},
	} {
		if got := Scale(c, row.length); got != row.want {
			t.Errorf("%v becomes %v, want %v", row.length, got, row.want)
		}
	}
	for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 8: 2, 50: 5} {
		if got := fewer(c, n); got != want {
			t.Errorf("%d requests become %d, want %d", n, got, want)
		}
	}
	c.Experiment.Scale = 0
	if got := Scale(c, time.Minute); got != time.Minute || fewer(c, 50) != 50 {
		t.Errorf("without a scale a minute becomes %v", got)
	}
}
