package experiment_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/answer/search"
	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// network is that of the tests in virtual time, whose servers have ports of
// their own.
var network pipe.Network

// plan resolves flags that make every stage a second long.
func plan(t *testing.T, flags map[string][]string) *config.Config {
	t.Helper()
	given := map[string][]string{"workload": {"fixed(50,5)"}, "duration": {"1s"}, "warmup": {"0s"}, "drain": {"5s"}}
	for name, values := range flags {
		given[name] = values
	}
	c := must.Get(config.Resolve(config.Input{Flags: given, Seed: 7}))(t)
	return c
}

func names(res *result.Result) []string {
	var list []string
	for _, s := range res.Stages {
		list = append(list, s.Name)
	}
	return list
}

func TestSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "sweep")
		o := experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plan(t, map[string][]string{"rates": {"20,10"}, "out": {out}})}}
		res, path := must.Get2(experiment.Sweep(t.Context(), o))(t)
		if path != out {
			t.Errorf("kept in %s, want %s", path, out)
		}
		expect.NoDiff(t, cmp.Diff([]string{"10 requests/s", "20 requests/s"}, names(res)), "stages")
		if res.Curve == nil || !slices.Equal(res.Curve.Points, []int{0, 1}) || res.Curve.By != "rate" {
			t.Errorf("curve %+v, want both points by rate", res.Curve)
		}
		for i, p := range res.Points {
			if !p.Probe || p.Requests.OK == 0 || p.Name != names(res)[i] {
				t.Errorf("point %d: %q, probe %v, %d ok, want a probe with answers", i, p.Name, p.Probe, p.Requests.OK)
			}
		}
		for _, s := range res.Stages {
			if _, err := os.Stat(filepath.Join(out, s.Dir, "records.jsonl")); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestConcurrencies: a sweep of closed loops has its axis in flight.
func TestConcurrencies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plan(t, map[string][]string{"concurrencies": {"1,3"}, "out": {filepath.Join(t.TempDir(), "sweep")}})
		res, _ := must.Get2(experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}))(t)
		if res.Curve.By != "concurrency" || len(res.Points) != 2 || *res.Points[1].Load.Concurrency != 3 || res.Points[1].Load.Mode != "closed" {
			t.Errorf("curve %+v over %d points, want two closed loops", res.Curve, len(res.Points))
		}
	})
}

// TestResume: a sweep that was stopped after its first level goes on with the
// second, and does not run the first again.
func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "sweep")
		stop := make(chan struct{})
		o := experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plan(t, map[string][]string{"rates": {"10,20"}, "out": {out}}), Stop: stop},
			End: func(experiment.Stage, *result.Result, bool) { close(stop) }}
		res, _, err := experiment.Sweep(t.Context(), o)
		if err != nil || res.Interrupted != result.ByUser || len(res.Stages) != 1 {
			t.Fatalf("%v, interrupted %q after %v; want one stage and the user's stop", err, res.Interrupted, names(res))
		}
		first := must.Get(os.Stat(filepath.Join(out, res.Stages[0].Dir, "records.jsonl")))(t)
		path := must.Get(experiment.Reopen(out))(t)
		again := must.Get(config.Resolve(config.Input{PlanPath: path}))(t)
		var kept []bool
		res, _ = must.Get2(experiment.Sweep(t.Context(), experiment.Options{Resume: out, Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: again},
			End: func(_ experiment.Stage, _ *result.Result, was bool) { kept = append(kept, was) }}))(t)
		if !slices.Equal(kept, []bool{true, false}) || res.Interrupted != "" || len(res.Points) != 2 {
			t.Errorf("kept %v, interrupted %q, %d points; want the first kept, the second run", kept, res.Interrupted, len(res.Points))
		}
		now := must.Get(os.Stat(filepath.Join(out, res.Stages[0].Dir, "records.jsonl")))(t)
		if !now.ModTime().Equal(first.ModTime()) {
			t.Error("the first level was run again")
		}
	})
}

// TestFindLimit: a search under a generous objective and a small ceiling ends
// with what was seen, in one answer.
func TestFindLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plan(t, map[string][]string{"find-limit": {"true"}, "slo": {"ttft:p90<10s"}, "start": {"20"}, "sustained": {"5s"},
			"budget": {"12s"}, "drain": {"2s"}, "out": {filepath.Join(t.TempDir(), "limit")}})
		c.Experiment.MinWindow = time.Second
		must.Get(experiment.Foresee("sweep", c))(t)
		believed := 0
		begin := func(s experiment.Stage, at experiment.Progress) {
			if at.Limit == nil {
				return
			}
			believed++
			// Whoever kills it now finds what is known.
			if was, err := measure.Rebuild(c.Output.Dir); err != nil || was.Interrupted != result.Killed || was.Limit == nil || was.Limit.Requests != at.Limit.Requests {
				t.Errorf("before %s the directory holds %+v (%v), want %+v", s.Name, was, err, at.Limit)
			}
		}
		res, _ := must.Get2(experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}, Begin: begin}))(t)
		if want := len(res.Stages) - 2; believed != want { // before all but the ramp and the first level
			t.Errorf("a belief before %d of %d stages, want %d", believed, len(res.Stages), want)
		}
		if res.Limit == nil || len(res.Stages) == 0 || res.Limit.Requests == 0 || res.Curve == nil {
			t.Fatalf("limit %+v after %v", res.Limit, names(res))
		}
		if res.Stages[0].Purpose != search.Ramp || res.Stages[0].Outcome == "" || slices.Contains(res.Curve.Points, 0) || len(res.Curve.Standing) != len(res.Curve.Points) {
			t.Errorf("stages %+v, curve %+v: want a ramp that is no level", res.Stages, res.Curve)
		}
	})
}

// TestFindLimitNeedsAnObjective: without one there is nothing to search for.
func TestFindLimitNeedsAnObjective(t *testing.T) {
	t.Parallel()
	if _, err := experiment.Foresee("sweep", plan(t, map[string][]string{"find-limit": {"true"}})); err == nil {
		t.Error("a search without objectives has a plan")
	}
}

// TestDeadTarget leaves nothing behind.
func TestDeadTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "sweep")
		c := plan(t, map[string][]string{"rates": {"1"}, "url": {"http://127.0.0.1:1"}, "out": {out}})
		_, _, err := experiment.Sweep(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}})
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("error %v, want one that names the address", err)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%s was left behind", out)
		}
	})
}

// TestCompare: both sides of every round get the same requests.
func TestCompare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var plans []*config.Config
		out := filepath.Join(t.TempDir(), "compare")
		for range 2 {
			engine := must.Get(simserver.Start(context.WithoutCancel(t.Context()), sim.Spec{}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open}))(t)
			t.Cleanup(func() { _ = engine.Close() })
			plans = append(plans, plan(t, map[string][]string{"url": {engine.URL()}, "rate": {"20"}, "rounds": {"2"}, "out": {out}}))
		}
		res, _ := must.Get2(experiment.Compare(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plans[0]}}, plans[1]))(t)
		expect.NoDiff(t, cmp.Diff([]string{"round 1 A", "round 1 B", "round 2 B", "round 2 A"}, names(res)), "stages")
		if res.Comparison == nil || res.Comparison.A.URL == res.Comparison.B.URL {
			t.Fatalf("comparison %+v, want two servers", res.Comparison)
		}
		a, b := res.Points[0], res.Points[1]
		if a.Requests.Due != b.Requests.Due || a.Tokens.AskedPrompt != b.Tokens.AskedPrompt || a.Tokens.AskedOutput != b.Tokens.AskedOutput {
			t.Errorf("round 1: A got %d requests of %d tokens, B %d of %d; want the same", a.Requests.Due, a.Tokens.AskedPrompt,
				b.Requests.Due, b.Tokens.AskedPrompt)
		}
	})
}

// A gateway leads to the cache of the server that is asked directly: each side has prompts
// of its own, of the same lengths, and all rounds count.
func TestCompareAGatewayWithItsServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := must.Get(simserver.Start(context.WithoutCancel(t.Context()), sim.Spec{}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open}))(t)
		t.Cleanup(func() { _ = engine.Close() })
		behind := strings.TrimPrefix(engine.URL(), "http://")
		dial := func(ctx context.Context, kind, address string) (net.Conn, error) {
			if address == "gateway:80" {
				address = behind
			}
			return network.Dial(ctx, kind, address)
		}
		out := filepath.Join(t.TempDir(), "compare")
		flags := func(url string) map[string][]string {
			return map[string][]string{"url": {url}, "rate": {"20"}, "rounds": {"2"}, "out": {out}, "workload": {"fixed(400,20)"}}
		}
		o := experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: dial, Open: network.Open, Config: plan(t, flags(engine.URL()))}}
		res, _ := must.Get2(experiment.Compare(t.Context(), o, plan(t, flags("http://gateway:80"))))(t)
		expect.NoDiff(t, cmp.Diff([]string{"round 1 A", "round 1 B", "round 2 B", "round 2 A"}, names(res)), "stages")
		if res.Verdict.Valid != result.Valid || res.Comparison.Rounds != 2 {
			t.Errorf("%s (%v) with %d rounds, want two that count", res.Verdict.Valid, res.Verdict.Reasons, res.Comparison.Rounds)
		}
		for i := range res.Points {
			if p := &res.Points[i]; p.Tokens.Cached > 0 || p.Tokens.AskedPrompt != res.Points[i/2*2].Tokens.AskedPrompt {
				t.Errorf("point %d: %d tokens of %d were in the cache, want none of as many", i, p.Tokens.Cached, p.Tokens.AskedPrompt)
			}
		}
	})
}

// TestRepeat: every run has its own seed, and all of them together are a point.
func TestRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plan(t, map[string][]string{"rate": {"20"}, "repeat": {"2"}, "out": {filepath.Join(t.TempDir(), "repeat")}})
		res, _ := must.Get2(experiment.Repeat(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}))(t)
		if len(res.Points) != 3 || res.Repeats == nil || *res.Repeats.Point != 2 {
			t.Fatalf("%d points, repeats %+v, want two runs and both together", len(res.Points), res.Repeats)
		}
		one, two, both := res.Points[0].Requests, res.Points[1].Requests, res.Points[2].Requests
		if both.Due != one.Due+two.Due || both.OK != one.OK+two.OK {
			t.Errorf("together %d due, %d ok, want %d and %d", both.Due, both.OK, one.Due+two.Due, one.OK+two.OK)
		}
		if cmp.Equal(res.Points[0].Latency.TTFT.Mean, res.Points[1].Latency.TTFT.Mean) && one.Due == two.Due {
			t.Error("two runs are one and the same")
		}
	})
}

// TestStoppedInItsFirstStage: what was recorded stays, with the plan that goes
// on with it.
func TestStoppedInItsFirstStage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "sweep")
		stop := make(chan struct{})
		var once sync.Once
		o := experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Stop: stop,
			Config: plan(t, map[string][]string{"rates": {"50"}, "duration": {"30s"}, "out": {out}}),
			Live: func(s progress.Snapshot) {
				if s.OK > 0 {
					once.Do(func() { close(stop) })
				}
			}}}
		res, path, err := experiment.Sweep(t.Context(), o)
		if res != nil || path != out || !errors.Is(err, context.Canceled) {
			t.Fatalf("result %v in %q, %v; want none, in %s", res, path, err, out)
		}
		if _, err := experiment.Reopen(out); err != nil {
			t.Errorf("it cannot be gone on with: %v", err)
		}
	})
}

// A stage that ends before anything is measured ends the experiment with the
// cause and what to do.
func TestAStageThatMeasuresNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := plan(t, map[string][]string{"rate": {"100"}, "warmup": {"60s"}, "max-error-rate": {"0.1"}, "fault": {"reset:30%"}, "out": {filepath.Join(t.TempDir(), "matrix")}})
		c.Server.Sim.Seed = 3 // which spares the requests before the load
		c.Experiment.Rows = []config.Row{{Name: "broken", Rate: 100, Duration: time.Second}}
		_, _, err := experiment.Matrix(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}})
		for _, part := range []string{"broken: nothing was measured: ", "more than --max-error-rate 0.1", "offer less load"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v, want %q in it", err, part)
			}
		}
	})
}
