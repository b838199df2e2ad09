package experiment

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/answer/matrix"
	"redline/internal/answer/search"
	"redline/internal/answer/sweep"
	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
)

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

// TestLevelHasALength: a trace has one of its own, but not at another rate.
func TestLevelHasALength(t *testing.T) {
	t.Parallel()
	type bounds struct {
		Duration time.Duration
		Requests int
	}
	for _, tc := range []struct {
		name  string
		flags map[string][]string
		want  bounds
	}{
		{"neither", nil, bounds{Duration: time.Minute}},
		{"requests", map[string][]string{"requests": {"5"}}, bounds{Requests: 5}},
		{"duration", map[string][]string{"duration": {"7s"}}, bounds{Duration: 7 * time.Second}},
	} {
		tc.flags = with(tc.flags, "rates", "2,4")
		x := &conductor{Options: Options{}}
		x.Config = tracePlan(t, tc.flags)
		for _, stage := range []Stage{x.level("2/s", "level", sweep.Level{Rate: 2}.Apply), x.level("3 in flight", "level", sweep.Level{Concurrency: 3}.Apply)} {
			b := stage.Config.Load.Bounds
			expect.NoDiff(t, cmp.Diff(tc.want, bounds{b.Duration, b.TotalRequests}), "%s, %s (-want +got)", tc.name, stage.Name)
		}
	}
}

func with(flags map[string][]string, name, value string) map[string][]string {
	out := map[string][]string{name: {value}}
	for name, values := range flags {
		out[name] = values
	}
	return out
}

// TestLevelsHaveThePlansOwnWarmupAndDrain, and the search knows of them: both
// take time from its budget.
func TestLevelsHaveThePlansOwnWarmupAndDrain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		flags         map[string][]string
		warmup, drain *time.Duration
	}{
		{nil, nil, nil},
		{map[string][]string{"warmup": {"20s"}}, new(20 * time.Second), nil},
		{map[string][]string{"drain": {"90s"}}, nil, new(90 * time.Second)},
	} {
		c := must.Get(config.Resolve(config.Input{Flags: tc.flags, Seed: 7}))(t)
		spec := c.SearchSpec()
		expect.NoDiff(t, cmp.Diff([]*time.Duration{tc.warmup, tc.drain}, []*time.Duration{spec.Warmup, spec.Drain}), "%v (-want +got)", tc.flags)
	}
	c := must.Get(config.Resolve(config.Input{Seed: 7}))(t)
	x := &conductor{}
	x.Config = c
	stage := (&finder{conductor: x}).atLevel(search.Level{Rate: 2, Duration: time.Minute, Warmup: 8 * time.Second, Drain: 3 * time.Second, Purpose: search.Look, Draw: 4})
	if b := stage.Config.Load.Bounds; *b.Warmup != 8*time.Second || b.Duration != time.Minute || *b.Drain != 3*time.Second || stage.Config.Seed != 11 {
		t.Errorf("%+v with seed %d", b, stage.Config.Seed)
	}
}

// TestWarmUpOfConversations: a level of conversations warms up until their last
// turns come too.
func TestWarmUpOfConversations(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.yaml")
	text := "workload: {prompt: fixed(50), output: fixed(4), session: {turns: fixed(3), think: 5s}}\n"
	must.Write(t, path, text)
	c := must.Get(config.Resolve(config.Input{PlanPath: path, Seed: 7}))(t)
	target := must.Get(measure.Open(t.Context(), measure.Options{Config: c}))(t)
	defer target.Close()
	x := &conductor{target: target, e2e: time.Second}
	x.Config = c
	const third = 2 * (5 + 1) * time.Second // two replies and two pauses before the third turn
	if got := *x.level("", "level", sweep.Level{Rate: 1}.Apply).Config.Load.Bounds.Warmup; got != third {
		t.Errorf("a level of a sweep warms up for %v, want %v", got, third)
	}
	if spec := x.withForeknowledge(search.Spec{}); spec.Turns != 3 || spec.Settle != 10*time.Second {
		t.Errorf("a search knows of %g turns that take %v without replies, want 3 in 10 s", spec.Turns, spec.Settle)
	}
}

// TestRising: a ramp is a profile that a plan could have, without a warm-up.
func TestRising(t *testing.T) {
	t.Parallel()
	x := &conductor{}
	c := must.Get(config.Resolve(config.Input{}))(t)
	x.Config = c
	stage := (&finder{conductor: x}).rampStage(search.Level{From: 1, Rate: 1024, Duration: 12 * time.Second, Purpose: search.Ramp})
	load := stage.Config.Load
	if err := load.Spec.Validate(); err != nil || load.Peak() != 1024 || *load.Bounds.Warmup != 0 || stage.Measures() {
		t.Errorf("%+v: %v", load, err)
	}
}

// keptStage writes records as those of an experiment's only stage, whose window
// is that of the point.
func keptStage(t *testing.T, p result.Point, records ...record.Record) *conductor {
	t.Helper()
	path := t.TempDir()
	stage := must.Get((*store.Hold)(nil).Create(filepath.Join(path, "stages", "01-look"), false))(t)
	log := must.Get(stage.StartLog(record.Header{Schema: record.Schema}))(t)
	for i := range records {
		records[i].ID = i
		log.Add(&records[i])
	}
	must.Do(t, log.Close())
	res := &result.Result{Schema: result.Schema, Points: []result.Point{p}}
	must.Do(t, stage.WriteResult(res))
	return &conductor{dir: &store.Dir{Path: path},
		res: &result.Result{Points: []result.Point{p}, Stages: []result.Stage{{Dir: "stages/01-look", Point: new(0)}}}}
}

// TestSpent: what a budget pays for begins with the warm-up and ends with the
// last reply.
func TestSpent(t *testing.T) {
	t.Parallel()
	var records []record.Record
	for _, end := range []time.Duration{12 * time.Second, 31 * time.Second, 29 * time.Second} {
		records = append(records, record.Record{Phase: record.Measure, Due: int64(11 * time.Second), End: int64(end), Outcome: llm.OK})
	}
	p := result.Point{}
	p.Window = metric.Window{StartS: 10, EndS: 20, WarmupS: new(7.0)}
	if got, err := keptStage(t, p, records...).timeSpent(p); err != nil || got != 28*time.Second {
		t.Errorf("%v, %v; want 28 s, from 3 to 31", got, err)
	}
}

// TestJudgeAccepted: the stopping rule is held against every request that was
// due, whatever the plan's own objectives are.
func TestJudgeAccepted(t *testing.T) {
	t.Parallel()
	var records []record.Record
	for i := range 1000 {
		due := int64(10*time.Second) + int64(i)*int64(50*time.Millisecond)
		r := record.Record{ID: i, Phase: record.Measure, Try: 1, Due: due, Sent: due, End: due + int64(time.Second), Streamed: true, Outcome: llm.OK}
		r.First, r.Answer, r.Last = due+int64(100*time.Millisecond), due+int64(100*time.Millisecond), r.End
		if i%10 == 0 {
			r.Outcome, r.First, r.Answer, r.Last = llm.HTTP, 0, 0, 0
		}
		records = append(records, r)
	}
	p := result.Point{}
	p.Window = metric.Window{StartS: 10, EndS: 60}
	p.Objectives = []slo.Verdict{{Objective: "e2e:p50<9s", Standing: slo.Met}}
	x := keptStage(t, p, records...)
	x.Config = &config.Config{}
	x.Config.Experiment.Accept = []string{"limit>20", "e2e:p50<9s", "ttft:p99<500ms", "ttft:p50<500ms"}
	must.Do(t, x.judgeAccepted())
	got := map[string]slo.Standing{}
	for _, v := range x.res.Points[0].Objectives {
		got[v.Objective] = v.Standing
	}
	want := map[string]slo.Standing{"e2e:p50<9s": slo.Met, "ttft:p99<500ms": slo.Missed, "ttft:p50<500ms": slo.Met}
	expect.NoDiff(t, cmp.Diff(want, got), "objectives (-want +got)")
	if n := len(x.res.Points[0].Objectives); n != len(want) {
		t.Errorf("%d objectives, want each of %d once", n, len(want))
	}
}

// A median is decided though one of ten thousand requests failed, which is later
// than any limit; and missed where most failed.
func TestOneFailureLeavesAMedianDecided(t *testing.T) {
	t.Parallel()
	asked := []slo.Objective{}
	for _, text := range []string{"ttft:p50<500ms", "error:rate<1%"} {
		o := must.Get(slo.Parse(text))(t)
		asked = append(asked, o)
	}
	for failed, want := range map[int][]slo.Standing{1: {slo.Met, slo.Met}, 9000: {slo.Missed, slo.Missed}} {
		var records []record.Record
		for i := range 10_000 {
			due := int64(10*time.Second) + int64(i)*int64(5*time.Millisecond)
			first := due + int64(100*time.Millisecond) + int64(i%5-2)*int64(500*time.Microsecond)
			r := record.Record{Phase: record.Measure, Try: 1, Due: due, Sent: due, First: first, Answer: first, End: due + int64(time.Second), Last: due + int64(time.Second), Streamed: true, Outcome: llm.OK}
			if (i*7919)%10_000 < failed {
				r.Outcome, r.First, r.Answer, r.Last = llm.HTTP, 0, 0, 0
			}
			records = append(records, r)
		}
		p := result.Point{}
		p.Window = metric.Window{StartS: 10, EndS: 60}
		x := keptStage(t, p, records...)
		verdicts := must.Get(x.verdictsOn(&config.Config{}, asked))(t)
		for i, v := range verdicts {
			if v.Standing != want[i] {
				t.Errorf("%d of 10,000 failed: %s is %s (%s), want %s", failed, v.Objective, v.Standing, v.Note, want[i])
			}
		}
		row := config.Row{Expectation: []string{"ttft:p50<500ms", "error:rate<1%"}}
		if outcome, agrees := matrix.Answer(row, &p, verdicts, nil); agrees == nil || *agrees != (want[0] == slo.Met) {
			t.Errorf("%d of 10,000 failed: %q is not decided as its objectives are", failed, outcome)
		}
	}
}
