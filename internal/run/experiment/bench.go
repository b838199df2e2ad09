package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redline/internal/answer/matrix"
	"redline/internal/answer/protocol"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/judge/validity"
	"redline/internal/plan/config"
	"redline/internal/run/doctor"
	"redline/internal/text"
)

// Bench goes through the whole protocol: a preflight, and then its steps. The plan
// is one that protocol.Defaults has completed.
func Bench(ctx context.Context, o Options) (*result.Result, string, error) {
	if len(o.Config.Experiment.Variants) > 0 {
		return benchVariants(ctx, o)
	}
	found, err := preflight(ctx, o)
	if err != nil {
		return nil, "", err
	}
	x, err := begin(ctx, o, "bench")
	if err != nil {
		return nil, "", err
	}
	var known protocol.Known
	err = x.bench(ctx, &known)
	if x.res != nil {
		x.conclude(found, known)
	}
	return x.finish(err)
}

// preflight looks at this machine and at the endpoint; one that is not fit for
// a run is an error. It ends at once when the user stops it: there is nothing to
// keep yet. In virtual time there is no machine to look at.
func preflight(ctx context.Context, o Options) ([]result.PreflightFinding, error) {
	if o.Clock != nil {
		return nil, nil
	}
	ctx, cancel := untilStopped(ctx, o.Stop, nil)
	defer cancel()
	look := doctor.Options{Telemetry: o.Config.Telemetry, Say: func(line string) { o.say("%s", line) }}
	if !o.Config.Embedded() {
		look.Target = o.Config.Provider
	}
	if o.Config.Experiment.Scale > 0 && o.Config.Experiment.Scale < 1 {
		look.Pace = doctor.Pace{Sleeps: 20, RoundTrips: 200, Step: 50 * time.Millisecond, Steps: 2,
			Requests: 100 * time.Millisecond, Endpoint: 10 * time.Second}
	}
	report, err := doctor.Run(ctx, look)
	if err != nil {
		return nil, err
	}
	var found []result.PreflightFinding
	for _, f := range report.Findings {
		if f.Mark != validity.Warn && f.Mark != validity.Bad {
			continue
		}
		found = append(found, result.PreflightFinding{Check: f.Check, About: f.About, Mark: string(f.Mark), Figure: f.Figure, Cure: f.Cure})
		if f.Mark == validity.Bad && f.About != validity.AboutMachine {
			return nil, fmt.Errorf("preflight: %w", f)
		}
	}
	return found, nil
}

func (x *conductor) bench(ctx context.Context, known *protocol.Known) error {
	for {
		step, more := protocol.Next(x.Config, *known)
		if !more {
			return nil
		}
		plan := protocol.Plan(x.Config, step, *known)
		var err error
		switch {
		case step.Search:
			whole := x.Config
			x.Config = plan
			err = x.findLimit(ctx)
			x.Config = whole
			known.Add("", nil)
			known.Limit, known.Sustained = x.res.Limit, x.res.Sustained != nil
		case step.Purpose != "":
			err = x.prepare(ctx, step, plan)
			known.Add("", nil)
		default:
			err = x.benchRow(ctx, step, plan, known)
		}
		if err != nil {
			return err
		}
	}
}

// errSmoke ends a protocol whose single request already went wrong.
var errSmoke = errors.New("the single request did not end as it should, so no load would tell anything")

// prepare runs a step that no figure is taken from: a single request, which is
// looked at alone, or a warm-up.
func (x *conductor) prepare(ctx context.Context, step protocol.Step, plan *config.Config) error {
	stage := Stage{Name: matrix.Name(step.Row), Purpose: step.Purpose, Config: plan}
	if step.Purpose != result.PurposeSmoke {
		_, err := x.run(ctx, stage)
		return err
	}
	stage.sound = func(res *result.Result) bool {
		_, ok := protocol.Smoke(res)
		return ok
	}
	res, err := x.run(ctx, stage)
	if err != nil {
		return err
	}
	entry := x.last()
	entry.Question = "Does one request come back whole?"
	entry.Expectation = "it ends in order, with the length asked for, and the server counts its tokens"
	var agrees bool
	entry.Outcome, agrees = protocol.Smoke(res)
	entry.Agrees = &agrees
	if !agrees {
		return fmt.Errorf("%w: %s", errSmoke, entry.Outcome)
	}
	return nil
}

func (x *conductor) benchRow(ctx context.Context, step protocol.Step, plan *config.Config, known *protocol.Known) error {
	if err := x.row(ctx, step.Row, plan, &known.Known); err != nil {
		return err
	}
	switch {
	case step.Name == protocol.OthersRow:
		entry := x.last()
		entry.Outcome = text.Join("; ", protocol.NeighborWords(x.Config, *known), entry.Outcome)
	case step.Name == protocol.SustainedRow && x.cut == "" && x.leftOut == "":
		x.res.Sustained = new(len(x.res.Points) - 1)
		return x.judgeAccepted()
	}
	return nil
}

// conclude answers what the protocol asks at its end.
func (x *conductor) conclude(found []result.PreflightFinding, known protocol.Known) {
	p, reasons := protocol.Conclude(x.Config, x.res, known)
	p.Preflight = found
	if p.Scale > 0 {
		x.warn("every stage was shortened to %s of its length: what was measured shows the way and is no claim", text.Number(p.Scale))
	}
	switch p.Acceptance.Standing {
	case slo.NotMet:
		x.res.Verdict.SLO = slo.Missed
	case slo.Met, slo.Undecided:
		x.res.Verdict.SLO = p.Acceptance.Standing
	}
	x.res.Verdict.Reasons = append(x.res.Verdict.Reasons, reasons...)
	p.Fields = protocol.Fields(x.Config, x.res)
	x.res.Protocol = p
}
