package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"redline/internal/answer/tune"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/launch"
	"redline/internal/text"
)

// The purposes of a tuning's stages beside the rounds of its last comparison.
const (
	baselinePurpose = "baseline"
	trialPurpose    = "trial"
)

const (
	// baselineRuns is how often the baseline is measured, to see by how much
	// runs of the same settings differ.
	baselineRuns = 2
	// tuneRounds is how often winner and baseline take turns.
	tuneRounds = 8
	// fewestTurns is how many rounds a budget must leave room for.
	fewestTurns = 3
)

// tuner walks over the knobs of a server, one value at a time, from a baseline.
type tuner struct {
	*conductor
	rig     *rig
	spec    tune.Spec
	options tune.Options
	record  *result.Tuning
	// values are the settings that are best so far, and best is their run.
	values map[string]string
	best   *result.Result
	// step is the time that the last stage took, unjudged how many values came
	// out without a verdict.
	step     time.Duration
	unjudged int
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
	x.figures = tune.Figures(objectives)
	if err := x.settle(nil); err != nil {
		return nil, "", err
	}
	t := &tuner{conductor: x, spec: settled.Tune, values: settled.Tune.Baseline(),
		options: tune.Options{Objectives: objectives,
			Tolerance: cmp.Or(settled.Experiment.Tolerance, tune.DefaultTolerance)},
		rig: &rig{x: x, spec: settled.Server.Spec, places: 1, running: map[int]*running{}}}
	t.record = &result.Tuning{Command: x.serverCommand(), Objective: settled.Tune.Objective, Tolerance: t.options.Tolerance,
		Baseline: t.flags(t.values), Winner: t.flags(t.values), Steps: []result.TuningStep{}}
	defer t.rig.release()
	return x.finish(t.conduct(ctx))
}

// serverCommand is the template without secrets.
func (x *conductor) serverCommand() string {
	server, _ := x.Config.Resolved()["server"].(map[string]any)
	command, _ := server["command"].(string)
	return command
}

// flags lists settings in the order of the knobs.
func (t *tuner) flags(values map[string]string) []result.Flag {
	list := make([]result.Flag, len(t.spec.Knobs))
	for i, k := range t.spec.Knobs {
		list[i] = result.Flag{Name: k.Name, Value: values[k.Name]}
	}
	return list
}

// conduct is the whole walk. What it has found so far is kept after every step.
func (t *tuner) conduct(ctx context.Context) error {
	err := t.walk(ctx)
	if t.res != nil {
		t.record.TookS = t.rig.took.Seconds()
		t.res.Tuning = t.record
	}
	return err
}

func (t *tuner) walk(ctx context.Context) error {
	if err := t.baseline(ctx); err != nil || t.best == nil {
		return err
	}
	stopped, err := t.knobs(ctx)
	if err != nil {
		return err
	}
	t.record.Stopped = stopped
	if len(t.changed()) == 0 {
		t.nothingBetter()
		return nil
	}
	return t.confirm(ctx)
}

// baseline measures the settings at the beginning, several times.
func (t *tuner) baseline(ctx context.Context) error {
	var sound []*result.Result
	var last *result.Result
	for n := range cmp.Or(t.Config.Experiment.Repeat, baselineRuns) {
		res, _, err := t.measure(ctx, baselineName(n+1), baselinePurpose, t.values)
		var failure *launch.Failure
		switch {
		case errors.As(err, &failure) && t.res == nil:
			return fmt.Errorf("the baseline cannot be measured: %w", err)
		case err != nil:
			return err
		}
		last = res
		if t.counts(res) {
			sound = append(sound, res)
			t.record.BaselineRuns = len(sound)
			if t.best == nil {
				t.best, t.record.BaselinePoint = res, t.last().Point
				t.record.WinnerPoint, t.res.Verdict.SLO = t.record.BaselinePoint, res.Verdict.SLO
			}
		}
	}
	if len(sound) == 0 {
		t.record.Stopped = "no run of the baseline was sound, so nothing can be compared with it"
		if len(last.Points) > 0 && last.Points[0].Requests.OK == 0 {
			t.record.Stopped = "the baseline finished none of its requests: lower the load, or begin with a value that keeps up"
		}
		t.rule(result.TuningUndecided, "nothing was decided: %s", t.record.Stopped)
		t.adopt("baseline", last)
		t.unsupported("no run of the baseline counts")
		return nil
	}
	t.options.Spread = tune.Spread(sound, t.options.Objectives)
	if spread, ok := t.options.Spread[t.options.Objectives[0].Figure]; ok && len(sound) > 1 {
		t.record.Spread = &spread
	}
	return nil
}

func baselineName(n int) string { return fmt.Sprintf("baseline %d", n) }

// counts reports whether a run can be judged.
func (t *tuner) counts(res *result.Result) bool {
	sound := res.Verdict.Valid != result.Invalid || t.Config.Experiment.Anyway
	return sound && len(res.Points) > 0 && res.Points[0].Requests.OK > 0
}

// measure runs one stage on a fresh server with the given settings.
func (t *tuner) measure(ctx context.Context, name, purpose string, values map[string]string) (res *result.Result, n *rented, err error) {
	n = t.rig.hold(maps.Clone(values), 0)
	n.keepFailure = purpose == trialPurpose
	res, err = t.conductor.run(ctx, Stage{Name: name, Purpose: purpose, Config: t.rig.config(values, 0), launched: n})
	t.rig.release()
	t.step = max(n.took, time.Second)
	return res, n, err
}

// knobs goes through all values and says why it stopped.
func (t *tuner) knobs(ctx context.Context) (stopped string, err error) {
	left, turns := 0, 2*min(fewestTurns, cmp.Or(t.Config.Experiment.Rounds, tuneRounds))
	for _, k := range t.spec.Knobs {
		for _, value := range k.Trials() {
			if left > 0 || !t.affords(1+turns) {
				left++
				continue
			}
			if err := t.try(ctx, k, value); err != nil {
				return "", err
			}
		}
	}
	if left > 0 {
		return fmt.Sprintf("the budget of %s leaves no time for the other values (%d)", t.Config.Experiment.Budget, left), nil
	}
	return "every value was tried", nil
}

// affords reports whether the budget has room for so many stages more.
func (t *tuner) affords(stages int) bool {
	budget := t.Config.Experiment.Budget
	return budget == 0 || t.rig.took+time.Duration(stages)*t.step <= budget
}

// try measures one value in the place of another and decides.
func (t *tuner) try(ctx context.Context, k tune.Knob, value string) error {
	values := maps.Clone(t.values)
	values[k.Name] = value
	step := result.TuningStep{Knob: k.Name, From: t.values[k.Name], To: value, Settings: t.flags(values)}
	step.Hypothesis, step.Risk = k.Expect(t.record.Command, step.From, value)
	res, n, err := t.measure(ctx, k.Name+"="+value, trialPurpose, values)
	step.StartUpS = n.startUp
	var failure *launch.Failure
	switch {
	case errors.As(err, &failure):
		step.Decision, step.Why, step.Log = result.StepFailed, "the server "+failure.Why, failure.Log
	case err != nil:
		return err
	default:
		if err := t.decide(&step, res); err != nil {
			return err
		}
	}
	t.record.Steps = append(t.record.Steps, step)
	if step.Decision == result.StepAccepted {
		t.values, t.best, t.record.WinnerPoint = values, res, step.Point
		t.record.Winner, t.res.Verdict.SLO = t.flags(values), res.Verdict.SLO
	}
	t.res.Tuning, t.record.TookS = t.record, t.rig.took.Seconds()
	t.say("%s %s=%s: %s", step.Decision, step.Knob, step.To, step.Why)
	return t.keep(result.Killed)
}

// decide judges a value by its run.
func (t *tuner) decide(step *result.TuningStep, res *result.Result) error {
	step.Point = t.last().Point
	switch {
	case res.Verdict.Valid == result.Invalid && !t.Config.Experiment.Anyway:
		t.unjudged++
		step.Decision, step.Why = result.StepUndecided, "not judged, its run is not valid: "+strings.Join(res.Verdict.Reasons, "; ")
		return nil
	case !t.counts(res):
		step.Decision, step.Why = result.StepRejected, "no request succeeded"
		return nil
	}
	v, err := tune.Judge(t.best, res, t.options)
	if err != nil {
		return err
	}
	step.Why, step.Moves = v.Why, v.Moves
	switch v.Standing {
	case result.Better:
		step.Decision = result.StepAccepted
	case result.Undecided:
		t.unjudged++
		step.Decision = result.StepUndecided
	default:
		step.Decision = result.StepRejected
	}
	return nil
}

// changed are the settings that are no longer those of the baseline.
func (t *tuner) changed() []result.Flag {
	var list []result.Flag
	for i, f := range t.record.Winner {
		if f != t.record.Baseline[i] {
			list = append(list, f)
		}
	}
	return list
}

// nothingBetter words that the baseline stands, and how sure that is.
func (t *tuner) nothingBetter() {
	keep := words(t.record.Baseline)
	switch {
	case len(t.record.Steps) == 0:
		t.rule(result.TuningUndecided, "keep the baseline for now, %s: no other value was tried", keep)
	case t.unjudged > 0:
		t.rule(result.TuningUndecided, "keep the baseline for now, %s: no value is shown to be better, and %d could not be judged", keep, t.unjudged)
	default:
		t.rule(result.TuningKept, "keep the baseline, %s: no value tried is better", keep)
	}
}

// rule is the answer of the tuning.
func (t *tuner) rule(standing, format string, args ...any) {
	t.record.Standing, t.record.Verdict = standing, fmt.Sprintf(format, args...)
}

// words are settings as a command line has them.
func words(flags []result.Flag) string {
	list := text.Each(flags, func(f result.Flag) string { return f.Name + "=" + f.Value })
	return strings.Join(list, " ")
}

// planTune estimates a tuning: the baseline, every value once, and the turns.
func planTune(c *config.Config) Estimate {
	e := Estimate{What: "run"}
	e.Names = numbered(baselineName, cmp.Or(c.Experiment.Repeat, baselineRuns))
	for _, k := range c.Tune.Knobs {
		for _, value := range k.Trials() {
			e.Names, e.Expect = append(e.Names, k.Name+"="+value), append(e.Expect, expectation(c.Server.Command, k, value))
		}
	}
	e.Names = append(e.Names, turnNames(cmp.Or(c.Experiment.Rounds, tuneRounds))...)
	e.add(len(e.Names), warmupOf(c, likelyWarmup), cmp.Or(c.Load.Bounds.Duration, levelLength))
	if b := c.Experiment.Budget; b > 0 {
		e.Load, e.Clock = min(e.Load, b), min(e.Clock, b)
	}
	return e
}

// expectation says what a value should do in the place of the present one, and what
// it risks.
func expectation(command string, k tune.Knob, value string) string {
	hypothesis, risk := k.Expect(command, k.Baseline, value)
	hypothesis = cmp.Or(hypothesis, "what it should do is not known: write it down as tune.knobs.hypothesis before you look")
	if risk != "" {
		hypothesis += "; risk: " + risk
	}
	return fmt.Sprintf("%s=%s in place of %s: %s", k.Name, value, cmp.Or(k.Baseline, "nothing"), hypothesis)
}
