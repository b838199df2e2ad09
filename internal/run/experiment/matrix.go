package experiment

import (
	"context"
	"slices"
	"strings"

	"redline/internal/answer/matrix"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
)

// Matrix runs one row after another and compares each with what was expected
// of it; or, where the plan names optimizations, each with and without; or
// classes alone and together.
func Matrix(ctx context.Context, o Options) (*result.Result, string, error) {
	return conduct(ctx, o, "matrix", func(x *conductor) error {
		if len(o.Config.Experiment.Toggles) > 0 {
			return x.toggles(ctx)
		}
		if o.Config.Experiment.Isolation {
			return x.isolation(ctx)
		}
		return x.matrix(ctx)
	})
}

func (x *conductor) matrix(ctx context.Context) error {
	var known matrix.Known
	for {
		row, more := matrix.Next(x.Config, known)
		if !more {
			break
		}
		if err := x.row(ctx, row, matrix.Plan(x.Config, row), &known); err != nil {
			return err
		}
		x.res.Verdict.SLO, _ = matrix.Conclude(x.Config, known)
	}
	_, missing := matrix.Conclude(x.Config, known)
	for _, why := range missing {
		x.invalidate("%s", why)
	}
	return nil
}

// row runs one row by its plan and answers its expectations.
func (x *conductor) row(ctx context.Context, r config.Row, plan *config.Config, known *matrix.Known) error {
	res, err := x.figuresOf(ctx, Stage{Name: matrix.Name(r), Purpose: "row", Config: plan})
	if err != nil {
		return err
	}
	point, entry := &res.Points[0], x.last()
	entry.Row, entry.Hypothesis, entry.Question = r.Name, r.Hypothesis, r.Question
	entry.Expectation = strings.Join(r.Expectation, "; ")
	if x.leftOut != "" {
		entry.Outcome = "left out, not valid: " + x.leftOut
		known.Add(r.Name, nil)
		return x.keep(result.Killed)
	}
	verdicts, err := x.verdictsOn(plan, matrix.Objectives(r))
	if err != nil {
		return err
	}
	entry.Outcome, entry.Agrees = matrix.Answer(r, point, verdicts, known.Points)
	known.Add(r.Name, point)
	if matrix.Own(r) {
		// Of all rows these are the ones that the whole is about.
		x.res.Workload = res.Workload
		x.res.Workload.Point = len(x.res.Points) - 1
	}
	return x.keep(result.Killed)
}

// verdictsOn are the verdicts of the last stage, and beside them what its records
// say of objectives that its plan does not have.
func (x *conductor) verdictsOn(c *config.Config, asked []slo.Objective) ([]slo.Verdict, error) {
	own := x.res.Points[len(x.res.Points)-1].Objectives
	beside := slices.DeleteFunc(slices.Clone(asked), func(o slo.Objective) bool {
		_, known := o.Verdict(own)
		return known
	})
	if len(beside) == 0 {
		return own, nil
	}
	verdicts, err := measure.Judge(c, x.lastDir(), beside)
	return slices.Concat(own, verdicts), err
}

// judgeAccepted adds to the last point what its records say of the stopping
// rule's objectives. They are no objectives of the stage itself, whose goodput
// is that of the plan's.
func (x *conductor) judgeAccepted() error {
	conditions, err := x.Config.Experiment.Conditions()
	if err != nil {
		return err
	}
	var asked []slo.Objective
	for _, c := range conditions {
		if c.Limit == 0 {
			asked = append(asked, c.Objective)
		}
	}
	p := &x.res.Points[len(x.res.Points)-1]
	p.Objectives, err = x.verdictsOn(x.Config, asked)
	return err
}
