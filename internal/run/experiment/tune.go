package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/answer/tune"
	"redline/internal/judge/result"
	"redline/internal/launch"
	"redline/internal/plan/config"
)

// tuner launches a server with the settings that a walk over its knobs asks for.
type tuner struct {
	*conductor
	rig  *rig
	walk *tune.Walk
}

// Tune launches a server with one setting after another changed, keeps what is
// better, and compares the winner with the baseline, interleaved.
func Tune(ctx context.Context, o Options) (*result.Result, string, error) {
	x := &conductor{Options: o, kind: "tune", used: o.Used}
	if err := x.checkDir(); err != nil {
		return nil, "", err
	}
	settled := *o.Config
	if settled.Server.Port == 0 {
		port, err := launch.FreePorts(2)
		if err != nil {
			return nil, "", err
		}
		settled.Server.Port = port
	}
	if len(settled.Tune.Objective) == 0 {
		settled.Tune.Objective = tune.Usual(len(settled.Objectives) > 0)
	}
	x.Config = &settled
	objectives, err := tune.Objectives(settled.Tune.Objective, settled.Cost.Given())
	if err != nil {
		return nil, "", err
	}
	if err := x.settle(nil); err != nil {
		return nil, "", err
	}
	plan := tunePlan(x.Config)
	plan.Objectives = objectives
	// The template without secrets.
	server, _ := x.Config.RedactedMap()["server"].(map[string]any)
	plan.Command, _ = server["command"].(string)
	t := &tuner{conductor: x, rig: &rig{x: x, spec: settled.Server.Spec, places: 1, running: map[int]*running{}},
		walk: tune.NewWalk(plan)}
	defer t.rig.release()
	return x.finish(t.conduct(ctx))
}

// conduct is the whole walk. What it has found so far is kept after every step.
func (t *tuner) conduct(ctx context.Context) (err error) {
	defer t.note()
	for {
		step, more := t.walk.Next()
		if !more {
			t.walk.Close(t.rig.took)
		}
		switch {
		case !more && t.walk.Best == nil:
			t.adopt("baseline", t.walk.Last)
			t.invalidate("no run of the baseline counts")
			return nil
		case !more:
			return nil
		case step.Rounds > 0:
			err = t.confirm(ctx, step)
		default:
			err = t.measure(ctx, step)
		}
		if err != nil {
			if errors.Is(err, errStopped) {
				t.walk.Record.Stopped = "interrupted"
			}
			return err
		}
	}
}

// note puts what the walk has found into the result.
func (t *tuner) note() {
	if t.res == nil {
		return
	}
	t.walk.Record.TookS = t.rig.took.Seconds()
	t.res.Tuning = t.walk.Record
	if t.walk.Best != nil {
		t.res.Verdict.SLO = t.walk.Best.Verdict.SLO
	}
}

// measure runs one stage on a fresh server with the settings of a step.
func (t *tuner) measure(ctx context.Context, step tune.Step) error {
	n := t.rig.hold(maps.Clone(step.Values), 0)
	n.keepFailure = step.Purpose == tune.PurposeTrial
	res, err := t.run(ctx, Stage{Name: step.Name, Purpose: step.Purpose, Config: t.rig.config(step.Values, 0), launched: n})
	t.rig.release()
	seen := tune.Seen{Result: res, StartUp: n.startUp, Took: n.took, All: t.rig.took}
	var failure *launch.Failure
	switch failed := errors.As(err, &failure); {
	case failed && n.keepFailure:
		seen.Result, seen.Failed, seen.Log = nil, failure.Why, failure.Log
	case failed && t.res == nil:
		return fmt.Errorf("the baseline cannot be measured: %w", err)
	case err != nil:
		return err
	default:
		seen.Point = t.last().Point
	}
	if err := t.walk.Observe(step, seen); err != nil {
		return err
	}
	t.note()
	if step.Purpose == tune.PurposeBaseline {
		return nil
	}
	tried := t.walk.Record.Steps[len(t.walk.Record.Steps)-1]
	t.say("%s %s=%s: %s", tried.Decision, tried.Knob, tried.To, tried.Why)
	return t.keep(result.Killed)
}

// confirm compares the winner with the baseline, interleaved.
func (t *tuner) confirm(ctx context.Context, step tune.Step) error {
	if t.walk.SideBySide {
		t.rig.places = 2
	}
	begin, record := t.walk.Baseline(), t.walk.Record
	a := side{name: "A", config: t.rig.config(begin, 0), rig: t.rig, values: begin, label: "baseline, " + tune.Words(record.Baseline)}
	b := side{name: "B", config: t.rig.config(step.Values, 1), rig: t.rig, values: step.Values, place: 1,
		label: "winner, " + tune.Words(record.Winner)}
	_, _, err := t.compare(ctx, a, b, step.Rounds, t.walk.Objectives, compare.Live)
	var failure *launch.Failure
	switch {
	case errors.As(err, &failure):
		t.walk.FailConfirmation(failure)
		return nil
	case err != nil:
		return err
	}
	t.walk.Confirm(t.res.Comparison, step.Rounds, neededRounds(step.Rounds))
	return nil
}

// tunePlan is what the plan says of a tuning.
func tunePlan(c *config.Config) tune.Plan {
	e := c.Experiment
	return tune.Plan{Spec: c.Tune, Runs: cmp.Or(e.Repeat, tune.BaselineRuns), Rounds: cmp.Or(e.Rounds, tune.Rounds), Budget: e.Budget, Anyway: e.Anyway,
		Options: tune.Options{Tolerance: cmp.Or(e.Tolerance, compare.DefaultTolerance)}}
}

// planTune estimates a tuning: the baseline, every value once, and the turns, as far as
// the budget goes.
func planTune(c *config.Config) (Estimate, error) {
	e, plan := Estimate{What: "run"}, tunePlan(c)
	var names []string
	for n := range plan.Runs {
		names = append(names, tune.BaselineName(n+1))
	}
	for _, t := range plan.Trials() {
		names, e.Expect = append(names, t.Name()), append(e.Expect, t.Expectation(c.Server.Command))
	}
	for _, name := range append(names, turnNames(plan.Rounds)...) {
		e.add(name, warmupOf(c, firstWarmup(c, c.Load.Rate)), windowOf(c)) // every server is a fresh one
		e.Clock += likelyLaunch
	}
	if stage := e.Clock / time.Duration(e.Stages); plan.Budget > 0 && plan.Budget < e.Clock {
		if short := plan.TooShort(stage); short != "" {
			e.Warnings = append(e.Warnings, short)
		}
		fits := max(plan.Runs, int(plan.Budget/stage))
		e.Load = e.Load / time.Duration(e.Stages) * time.Duration(fits)
		e.Stages, e.Clock = fits, time.Duration(fits)*stage
	}
	return e, nil
}
