package experiment_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/answer/protocol"
	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
)

// quick is a protocol of a few seconds: a fast engine, short shapes, and a
// scale at which every stage is as short as it gets.
const quick = `
server: {sim: {gpu: B200, tp: 8, jitter: 0}}
workload: in=lognormal(60,0.5,20..100) out=fixed(4)
sla_thresholds: ["ttft:p90<2s"]
load_profile: {rate: 20, warmup: 0s, drain: 5s}
experiment:
  scale: 0.002
  anyway: true
  budget: 1s
  ceiling: 20
  accept: ["limit>1", "error:rate<1%"]
  rows:
    - {name: short, workload: 'fixed(20,4)', concurrency: 1, question: What is the floor?}
    - {name: long, workload: 'fixed(400,4)', concurrency: 1, expectation: ["ttft:p50 >= 1x short", "tpot:p50 <= 100x short"]}
metadata: {rollback_risk: low, revision: r1}
`

// resolvePlan resolves a plan's text.
func resolvePlan(t *testing.T, text, out string) *config.Config {
	t.Helper()
	path := must.File(t, "plan.yaml", text)
	c := must.Get(config.Resolve(config.Input{PlanPath: path, Flags: map[string][]string{"out": {out}}, Seed: 7}))(t)
	return resolveDefaults(t, c)
}

func resolveDefaults(t *testing.T, c *config.Config) *config.Config {
	t.Helper()
	full := must.Get(protocol.Defaults(c))(t)
	return full
}

func readPlan(t *testing.T, dir string) *config.Config {
	t.Helper()
	return resolveDefaults(t, keptPlan(t, dir))
}

// recordTimes says when each stage's records were written last.
func recordTimes(t *testing.T, dir string, res *result.Result) map[string]time.Time {
	t.Helper()
	times := map[string]time.Time{}
	for _, s := range res.Stages {
		about := must.Get(os.Stat(filepath.Join(dir, s.Dir, "records.jsonl")))(t)
		times[s.Dir] = about.ModTime()
	}
	return times
}

// TestBenchGoesOn cuts a protocol short again and again, within a stage and
// between any two, until it is through: no stage is run twice, and the whole is
// that of one without interruption.
func TestBenchGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "bench")
		o := experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: resolvePlan(t, quick, out)}}
		var res *result.Result
		before := map[string]time.Time{}
		for attempt := 0; ; attempt++ {
			if attempt > 40 {
				t.Fatalf("does not come to an end: %v", names(res))
			}
			stop, ran := make(chan struct{}), 0
			halt := sync.OnceFunc(func() { close(stop) })
			o.Stop = stop
			if attempt == 2 {
				o.Begin = func(experiment.Stage, experiment.Progress) { time.AfterFunc(30*time.Millisecond, halt) } // within a stage
			}
			o.End = func(_ experiment.Stage, _ *result.Result, kept bool) {
				if !kept {
					ran++
				}
				if ran > attempt {
					halt()
				}
			}
			got, _, err := experiment.Bench(t.Context(), o)
			if err != nil {
				t.Fatalf("attempt %d: %v", attempt, err)
			}
			res = got
			now := recordTimes(t, out, res)
			for dir, at := range before {
				if !now[dir].Equal(at) {
					t.Errorf("attempt %d ran %s again", attempt, dir)
				}
			}
			before = now
			if res.Interrupted == "" {
				break
			}
			o = experiment.Options{Resume: out, Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: readPlan(t, out)}}
		}
		checkBench(t, res)
	})
}

// checkBench looks at the answers of a quick protocol.
func checkBench(t *testing.T, res *result.Result) {
	t.Helper()
	var got []string
	for _, s := range res.Stages {
		name, _, _ := strings.Cut(s.Name, " ")
		if !slices.Contains(got, name) {
			got = append(got, name)
		}
	}
	want := []string{"smoke", "warm-up", "short", "long", "deterministic", "product", "mix", "ramp", "look", "burst", "overload", "hot-tenant", "others-alone"}
	expect.NoDiff(t, cmp.Diff(want, got), "stages (-want +got)")
	if res.Limit == nil || res.Sustained == nil || res.Curve == nil || res.Protocol == nil {
		t.Fatalf("limit %v, sustained %v, curve %v, protocol %v: want all of them", res.Limit, res.Sustained, res.Curve, res.Protocol)
	}
	for _, i := range res.Curve.Points {
		if name := res.Points[i].Name; !strings.HasPrefix(name, "look ") && !strings.HasPrefix(name, "sustain ") {
			t.Errorf("%s is a point of the curve", res.Points[i].Name)
		}
	}
	if p := res.Points[*res.Sustained]; !strings.HasPrefix(p.Name, "sustain") && !strings.HasPrefix(p.Name, "look ") {
		t.Errorf("the sustained point is %s", p.Name)
	}
	p := res.Protocol
	if p.Scale != 0.002 || p.Neighbour == nil || p.Neighbour.Hot != "hot" || p.Neighbour.Tenant != "quiet" {
		t.Errorf("scale %v, neighbour %+v, want 0.002 and the quiet one beside the hot", p.Scale, p.Neighbour)
	}
	stated := map[string]string{}
	for _, f := range p.Fields {
		stated[f.Name] = f.Value
	}
	for name, want := range map[string]string{"Model and revision": "llama-3.1-8b, r1", "Rollback risk": "low", "SLO target": "ttft:p90<2s",
		"Traffic mix": "in=lognormal(60,0.5,20..100) out=fixed(4)"} {
		if stated[name] != want {
			t.Errorf("%s is %q, want %q", name, stated[name], want)
		}
	}
	if len(p.Acceptance.Conditions) != 2 || p.Acceptance.Standing == slo.NotStated {
		t.Errorf("the stopping rule is answered by %+v", p.Acceptance)
	}
	if at := res.Sustained; at == nil || !slices.ContainsFunc(res.Points[*at].Objectives, func(v slo.Verdict) bool { return v.Objective == "error:rate<1%" }) {
		t.Error("the sustained run is not held against the stopping rule")
	}
	if len(res.Checklist) != 10 {
		t.Errorf("%d items on the checklist, want 10", len(res.Checklist))
	}
}

// TestMatrix: a row's outcome stands beside what was expected of it, and a row
// that says nothing of its load has the plan's.
func TestMatrix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "matrix")
		c := resolvePlan(t, `
workload: fixed(50,4)
sla_thresholds: ["ttft:p90<10s"]
load_profile: {rate: 20, warmup: 0s, drain: 5s}
experiment:
  rows:
    - {name: short, workload: 'fixed(20,3)', concurrency: 1, requests: 6, hypothesis: It is the floor., question: How low?}
    - {name: long, workload: 'fixed(6000,3)', concurrency: 1, requests: 6, expectation: ["ttft:p50 >= 2x short"]}
    - {name: wrong, workload: 'fixed(6000,3)', concurrency: 1, requests: 6, expectation: ["ttft:p50 <= 1x short", "itl:p999 <= 1x long"]}
    - {name: few, workload: 'fixed(6000,3)', concurrency: 1, requests: 5, expectation: ["ttft:p50 >= 0.01x short", "error:rate<1%"]}
    - {name: own, requests: 10, expectation: ["e2e:p50 >= 0.001x short"]}
`, out)
		res, _ := must.Get2(experiment.Matrix(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}))(t)
		type answer struct {
			Name   string
			Agrees string
			Mode   string
			OK     int
		}
		var got []answer
		for _, s := range res.Stages {
			agrees := "undecided"
			if s.Agrees != nil {
				agrees = fmt.Sprint(*s.Agrees)
			}
			p := res.Points[*s.Point]
			got = append(got, answer{s.Name, agrees, p.Load.Mode, p.Requests.OK})
		}
		want := []answer{{"short", "undecided", "closed", 6}, {"long", "true", "closed", 6}, {"wrong", "false", "closed", 6},
			{"few", "undecided", "closed", 5}, {"own", "true", "open", 10}}
		expect.NoDiff(t, cmp.Diff(want, got), "rows (-want +got)")
		if few := res.Stages[3].Outcome; strings.Count(few, "of only 5 requests: not decided") != 1 || !strings.Contains(few, "too few requests: 5 of 299 needed") {
			t.Errorf("five requests came to %q", few)
		}
		first := res.Stages[0]
		if first.Hypothesis != "It is the floor." || first.Question != "How low?" {
			t.Errorf("the first row became %+v", first)
		}
		if res.Workload.Name != "fixed(50,4)" {
			t.Errorf("the matrix is said to be about %s, want the plan's own workload", res.Workload.Name)
		}
	})
}

// TestBenchVariants: every variant is a protocol of its own, in a directory
// that can be read alone.
func TestBenchVariants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if testing.Short() {
			t.Skip("two protocols")
		}
		out := filepath.Join(t.TempDir(), "bench")
		text := strings.Replace(quick, "experiment:\n", "experiment:\n  variants: [{name: eight}, {name: four, sim: {tp: 4}}]\n", 1)
		stop := make(chan struct{})
		seen := 0
		halt := func(s experiment.Stage, _ *result.Result, _ bool) {
			if s.Name == "warm-up" {
				if seen++; seen == 2 {
					close(stop) // in the second variant
				}
			}
		}
		res, path, err := experiment.Bench(t.Context(), experiment.Options{End: halt,
			Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: resolvePlan(t, text, out), Stop: stop}})
		if err != nil || res.Interrupted != result.ByUser {
			t.Fatalf("%v, interrupted %q, want the user's stop", err, res.Interrupted)
		}
		var kept, fresh []string
		res, path = must.Get2(experiment.Bench(t.Context(), experiment.Options{Resume: out, Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: readPlan(t, path)},
			End: func(s experiment.Stage, _ *result.Result, was bool) {
				if was {
					kept = append(kept, s.Name)
				} else {
					fresh = append(fresh, s.Name)
				}
			}}))(t)
		if diff := cmp.Diff([]string{"smoke", "warm-up"}, kept); diff != "" || len(fresh) == 0 || fresh[0] != "short" {
			t.Errorf("kept %v of the second variant and ran %v anew, want all after the warm-up", kept, fresh)
		}
		if path != out || res.Protocol == nil || len(res.Protocol.Variants) != 2 || len(res.Points) != 2 {
			t.Fatalf("%s: %d points, protocol %+v; want two variants", path, len(res.Points), res.Protocol)
		}
		for i, want := range []string{"eight", "four"} {
			v := res.Protocol.Variants[i]
			if v.Name != want || v.Limit == nil || v.Acceptance.Standing == "" {
				t.Errorf("variant %d is %+v, want %s with a limit", i, v, want)
			}
			if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(v.Dir), "result.json")); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestSmokeEndsTheProtocol: where one request fails, load tells nothing.
func TestSmokeEndsTheProtocol(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "bench")
		text := strings.Replace(quick, "jitter: 0", "jitter: 0, faults: ['truncated:90%']", 1)
		_, _, err := experiment.Bench(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: resolvePlan(t, text, out)}})
		if err == nil {
			t.Error("a server that breaks off its replies went through the protocol")
		}
	})
}

func TestBenchDefaults(t *testing.T) {
	t.Parallel()
	bare := must.Get(config.Resolve(config.Input{}))(t)
	full := resolveDefaults(t, bare)
	if got := full.Workload.String(); got != "mix" {
		t.Errorf("workload %q, want a mix", got)
	}
	var objectives []string
	for _, o := range full.Objectives {
		objectives = append(objectives, o.Text)
	}
	expect.NoDiff(t, cmp.Diff([]string{"ttft:p95<1s", "tpot:p95<40ms", "e2e:p99<15s"}, objectives), "objectives")
	estimate := must.Get(experiment.Foresee("bench", full))(t)
	if estimate.Load < 10*time.Minute || estimate.Load > 3*time.Hour || estimate.Stages < 15 {
		t.Errorf("estimate %v, want some tens of minutes", estimate)
	}
	given := resolvePlan(t, quick, filepath.Join(t.TempDir(), "x"))
	if got := given.Workload.String(); got != "in=lognormal(60,0.5,20..100) out=fixed(4)" || len(given.Objectives) != 1 {
		t.Errorf("what the plan says became %q and %d objectives", got, len(given.Objectives))
	}
}
