package experiment_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// disturbed is a server that others use during some stages, which makes a run
// invalid.
type disturbed struct {
	t      *testing.T
	engine *simserver.Running
	// during names the stages, by the end of their names.
	during []string

	lock  sync.Mutex
	stage string
	done  bool
	kept  []bool
}

func disturb(t *testing.T, during ...string) *disturbed {
	t.Helper()
	engine := must.Get(simserver.Start(context.WithoutCancel(t.Context()), sim.Spec{}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open}))(t)
	t.Cleanup(func() { _ = engine.Close() })
	return &disturbed{t: t, engine: engine, during: during}
}

func (d *disturbed) plan(out string, flags map[string][]string) *config.Config {
	given := map[string][]string{"url": {d.engine.URL()}, "slo": {"error:rate<50%"}, "out": {out}}
	for name, values := range flags {
		given[name] = values
	}
	return plan(d.t, given)
}

// options sends foreign requests once in each of the stages, when its own are
// being answered.
func (d *disturbed) options(c *config.Config) experiment.Options {
	return experiment.Options{
		Begin: func(s experiment.Stage, _ experiment.Progress) {
			d.lock.Lock()
			defer d.lock.Unlock()
			d.stage, d.done = s.Name, false
		},
		End: func(_ experiment.Stage, _ *result.Result, kept bool) { d.kept = append(d.kept, kept) },
		Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c, Live: func(s progress.Snapshot) {
			d.lock.Lock()
			defer d.lock.Unlock()
			if s.OK == 0 || d.done || !slices.ContainsFunc(d.during, func(end string) bool { return strings.HasSuffix(d.stage, end) }) {
				return
			}
			d.done = true
			for range 12 {
				d.request()
			}
		}},
	}
}

func (d *disturbed) request() {
	body := strings.NewReader(`{"model":"` + sim.DefaultModel + `","prompt":"hello","max_tokens":1}`)
	client := http.Client{Transport: &http.Transport{DialContext: network.Dial, DisableKeepAlives: true}}
	answer, err := client.Post(d.engine.URL()+"/v1/completions", "application/json", body)
	if err != nil {
		d.t.Error(err)
		return
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		d.t.Errorf("foreign request: %s", answer.Status)
	}
}

func leftOut(res *result.Result) []string {
	var list []string
	for _, s := range res.Stages {
		if s.LeftOut != "" {
			list = append(list, s.Name)
		}
	}
	return list
}

// A level that was disturbed once is repeated, and the whole is valid; one that
// is disturbed twice is left out and named.
func TestADisturbedLevelIsRepeatedThenLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "sweep")
		d := disturb(t, "2 in flight", "3 in flight", "3 in flight again")
		c := d.plan(out, map[string][]string{"concurrencies": {"1,2,3"}})
		res, _ := must.Get2(experiment.Sweep(t.Context(), d.options(c)))(t)
		if want := []string{"1 in flight", "2 in flight", "2 in flight again", "3 in flight", "3 in flight again"}; !slices.Equal(names(res), want) {
			t.Fatalf("stages %q, want %q", names(res), want)
		}
		if want := []string{"2 in flight", "3 in flight", "3 in flight again"}; !slices.Equal(leftOut(res), want) {
			t.Errorf("left out %q, want %q", leftOut(res), want)
		}
		if res.Verdict.Valid != result.Valid || len(res.Points) != 3 {
			t.Errorf("%s with %d points (%v), want a valid sweep of three", res.Verdict.Valid, len(res.Points), res.Verdict.Reasons)
		}
		for i, want := range []bool{false, false, true} {
			if marked := strings.Contains(res.Points[i].Invalid, "foreign traffic"); marked != want {
				t.Errorf("point %d is marked %q", i, res.Points[i].Invalid)
			}
		}
		if !slices.ContainsFunc(res.Warnings, func(w result.Warning) bool { return strings.HasPrefix(w.Text, "3 in flight: left out") }) {
			t.Errorf("warnings %+v do not name the level that is left out", res.Warnings)
		}

		// Whoever goes on knows which stages were left out, and runs none again.
		d.kept = nil
		o := d.options(keptPlan(t, out))
		o.Resume = out
		again, _ := must.Get2(experiment.Sweep(t.Context(), o))(t)
		if len(d.kept) != 5 || slices.Contains(d.kept, false) || !slices.Equal(leftOut(again), leftOut(res)) || len(again.Points) != 3 {
			t.Errorf("went on with %v, left out %q and %d points", d.kept, leftOut(again), len(again.Points))
		}
	})
}

// Strict repeats nothing and forgives nothing; anyway counts what there is.
func TestStrictAndAnywayLeaveNothingOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, flag := range []string{"strict", "anyway"} {
			d := disturb(t, "1 in flight")
			c := d.plan(filepath.Join(t.TempDir(), "sweep"), map[string][]string{"concurrencies": {"1,2"}, flag: {"true"}})
			res, _ := must.Get2(experiment.Sweep(t.Context(), d.options(c)))(t)
			if len(res.Stages) != 2 || len(leftOut(res)) != 0 || res.Verdict.Valid != result.Invalid {
				t.Errorf("--%s: %s with stages %q, left out %q; want an invalid sweep of two", flag, res.Verdict.Valid, names(res), leftOut(res))
			}
		}
	})
}

// One round of three that does not count leaves a comparison; where none
// counts it is invalid, and shows what was measured.
func TestAComparisonOfWhatRemains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			during []string
			rounds int
			valid  result.Validity
		}{
			{[]string{"round 1 A", "round 1 A again"}, 2, result.Valid},
			{[]string{"A", "A again"}, 0, result.Invalid},
		} {
			d := disturb(t, tt.during...)
			other := disturb(t)
			out := filepath.Join(t.TempDir(), "compare")
			flags := map[string][]string{"rate": {"20"}, "rounds": {"3"}}
			res, _ := must.Get2(experiment.Compare(t.Context(), d.options(d.plan(out, flags)), other.plan(out, flags)))(t)
			if res.Comparison.Rounds != tt.rounds || res.Verdict.Valid != tt.valid {
				t.Errorf("%v: %d rounds, %s (%v), want %d, %s", tt.during, res.Comparison.Rounds, res.Verdict.Valid, res.Verdict.Reasons, tt.rounds, tt.valid)
			}
			if len(res.Comparison.Metrics) == 0 || res.Comparison.Metrics[0].A == nil {
				t.Errorf("%v: the comparison is empty", tt.during)
			}
			said := 0
			for _, w := range append(slices.Clone(res.Comparison.Warnings), res.Warnings...) {
				if strings.Contains(w.Text, "round 1") {
					said++
				}
			}
			if said != 1 {
				t.Errorf("%v: %d warnings of round 1, want one:\n%v\n%v", tt.during, said, res.Comparison.Warnings, res.Warnings)
			}
			if res.Verdict.SLO != "met" && res.Verdict.SLO != "undecided" {
				t.Errorf("%v: objectives %s", tt.during, res.Verdict.SLO)
			}
		}
	})
}

// Repeats go on without the one that was disturbed; a matrix answers the rows
// that remain.
func TestWhatRemainsOfRepeatsAndRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := disturb(t, "run 2", "run 2 again")
		c := d.plan(filepath.Join(t.TempDir(), "repeat"), map[string][]string{"rate": {"20"}, "repeat": {"3"}})
		res, _ := must.Get2(experiment.Repeat(t.Context(), d.options(c)))(t)
		if res.Verdict.Valid != result.Valid || res.Repeats.Runs != 2 || len(res.Points) != 4 {
			t.Fatalf("%s, %d runs, %d points; want two of three, and both together", res.Verdict.Valid, res.Repeats.Runs, len(res.Points))
		}
		if both := res.Points[*res.Repeats.Point].Requests.Due; both != res.Points[0].Requests.Due+res.Points[2].Requests.Due {
			t.Errorf("together %d due, want those of the first and the third", both)
		}

		d = disturb(t, "one", "one again")
		rows := d.plan(filepath.Join(t.TempDir(), "matrix"), map[string][]string{"rate": {"20"}})
		rows.Experiment.Rows = []config.Row{
			{Name: "one", Concurrency: 1, Requests: 20, Expectation: []string{"error:rate<1%"}},
			{Name: "two", Concurrency: 2, Requests: 20, Expectation: []string{"ttft:p50 <= 9x one"}},
		}
		res, _ = must.Get2(experiment.Matrix(t.Context(), d.options(rows)))(t)
		last := res.Stages[len(res.Stages)-1]
		if res.Verdict.Valid != result.Valid || last.Agrees != nil || !strings.Contains(last.Outcome, "nothing was measured in one") {
			t.Errorf("%s (%v); the row that is held against one that is left out: %+v", res.Verdict.Valid, res.Verdict.Reasons, last)
		}
		if first := res.Stages[1]; !strings.HasPrefix(first.Outcome, "left out, not valid: foreign traffic") {
			t.Errorf("the row that is left out: %+v", first)
		}
	})
}

// A matrix of which most rows are left out is invalid, and says so.
func TestAMatrixWithoutMostOfItsRowsIsInvalid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := disturb(t, "one", "one again", "two", "two again")
		rows := d.plan(filepath.Join(t.TempDir(), "matrix"), map[string][]string{"rate": {"20"}})
		rows.Experiment.Rows = []config.Row{{Name: "one", Concurrency: 1, Requests: 20}, {Name: "two", Concurrency: 2, Requests: 20}, {Name: "three", Concurrency: 3, Requests: 20}}
		res, _ := must.Get2(experiment.Matrix(t.Context(), d.options(rows)))(t)
		if res.Verdict.Valid != result.Invalid || !strings.Contains(strings.Join(res.Verdict.Reasons, "; "), "2 of 3 rows are left out") {
			t.Errorf("%s: %q; want invalid, as 2 of 3 rows are left out", res.Verdict.Valid, res.Verdict.Reasons)
		}
	})
}

// A toggle of which no round counts is invalid, and shows what was measured.
func TestAToggleThatDoesNotCountIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, off := disturb(t, "on 1 prefix caching", "on 1 prefix caching again"), disturb(t)
		c := plan(t, map[string][]string{"toggle": {"prefix_caching"}, "rounds": {"1"}, "rate": {"20"}, "slo": {"error:rate<50%"},
			"on-url": {on.engine.URL()}, "off-url": {off.engine.URL()}, "out": {filepath.Join(t.TempDir(), "toggle")}})
		res, _ := must.Get2(experiment.Matrix(t.Context(), on.options(c)))(t)
		got := res.Toggles[0]
		if res.Verdict.Valid != result.Invalid || got.Rounds != 0 || len(got.Skipped) != 1 || !strings.Contains(got.Skipped[0], "foreign traffic") {
			t.Errorf("%s with %d rounds, skipped %q; want invalid, of none", res.Verdict.Valid, got.Rounds, got.Skipped)
		}
		if got.Requests == 0 || len(got.Metrics) == 0 || len(got.Buckets) == 0 {
			t.Fatalf("the table is empty: %+v", got)
		}
		for _, m := range got.Metrics {
			if m.Standing != slo.Undecided || !strings.HasPrefix(m.Verdict, "not judged") || !(m.WithMS > 0) {
				t.Errorf("%s: %s, %q; want its figures and no verdict", m.Name, m.Standing, m.Verdict)
			}
		}
		if !strings.Contains(strings.Join(res.Verdict.Reasons, "; "), "no round was valid on both sides") {
			t.Errorf("reasons %q", res.Verdict.Reasons)
		}
	})
}

// A search goes on without a level that was disturbed, and ends invalid where no
// level can be measured.
func TestASearchOfWhatRemains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			during []string
			found  bool
		}{
			{[]string{"look 20 requests/s"}, true},
			{[]string{"requests/s", "requests/s again"}, false},
		} {
			d := disturb(t, tt.during...)
			c := d.plan(filepath.Join(t.TempDir(), "limit"), map[string][]string{"find-limit": {"true"}, "start": {"20"}, "budget": {"12s"}, "drain": {"2s"}})
			c.Experiment.MinWindow, c.Experiment.Sustained, c.Experiment.Ceiling = time.Second, 2*time.Second, 20
			res, _ := must.Get2(experiment.Sweep(t.Context(), d.options(c)))(t)
			if found := res.Limit != nil; found != tt.found || (res.Verdict.Valid == result.Valid) != tt.found {
				t.Errorf("%v: limit %+v, %s (%q), stages %q; want one: %v", tt.during, res.Limit, res.Verdict.Valid, res.Verdict.Reasons, names(res), tt.found)
			}
			if len(leftOut(res)) == 0 || len(res.Points) == 0 {
				t.Errorf("%v: left out %q, %d points", tt.during, leftOut(res), len(res.Points))
			}
		}
	})
}

// What a ramp cut off may end at the server while the level after it is measured:
// that is no foreign traffic.
func TestRequestsThatWereCutOffAreOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := resolvePlan(t, `
server: {sim: {gpu: B200, tp: 4}}
workload: fixed(50,5)
load_profile: {rate: 20, warmup: 0s, drain: 5s}
experiment: {scale: 0.005, budget: 1s, rows: [{name: short, workload: 'fixed(20,4)', concurrency: 1}]}
`, filepath.Join(t.TempDir(), "bench"))
		stop, cut := make(chan struct{}), 0
		end := func(s experiment.Stage, res *result.Result, _ bool) {
			switch p := res.Points[0]; {
			case strings.HasPrefix(s.Name, "ramp"):
				cut = p.Requests.Censored
			case s.Searches():
				if cut == 0 || p.Invalid != "" {
					t.Errorf("%d were cut off, then %s is marked %q", cut, s.Name, p.Invalid)
				}
				close(stop)
			}
		}
		must.Get2(experiment.Bench(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Stop: stop, Config: c}, End: end}))(t)
	})
}
