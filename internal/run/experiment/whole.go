package experiment

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"redline/internal/answer/diagnose"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/judge/validity"
	"redline/internal/run/measure"
	"redline/internal/text"
)

// add takes a stage's points, verdict and warnings into the whole.
func (x *conductor) add(s Stage, path string, res *result.Result) {
	if x.res == nil {
		x.res = x.blank(res)
	}
	x.bill(res)
	x.leftOut = x.reject(s, res)
	x.addWorkers(s, res)
	entry := result.Stage{Name: s.Name, Purpose: s.Purpose, HeldUp: res.Client.HeldUp, LeftOut: x.leftOut}
	if relative, err := filepath.Rel(x.dir.Path, path); err == nil {
		entry.Dir = filepath.ToSlash(relative)
	}
	if len(res.Points) > 0 {
		p := res.Points[0]
		if !s.Measures() {
			p.Objectives, p.Invalid = nil, "" // it is not judged
		}
		p.Name, p.Probe = cmp.Or(s.repeats, s.Name), p.Window.Seconds() < result.Exploratory.Seconds()
		x.res.Points = append(x.res.Points, p)
		entry.Point = new(len(x.res.Points) - 1)
		if p.Latency.E2E != nil {
			x.e2e = time.Duration(p.Latency.E2E.Mean * float64(time.Millisecond))
			x.slow = max(x.slow, x.e2e)
		}
	}
	x.res.Stages = append(x.res.Stages, entry)
	if s.Measures() && x.leftOut == "" {
		x.adopt(s.Name, res)
	}
	if x.cut = res.Interrupted; x.cut != "" {
		x.warn("%s was cut short: %s", s.Name, res.Interrupted)
	}
	for _, w := range res.Warnings {
		if wholeFigures[w.Figure] && !slices.Contains(x.res.Warnings, w) {
			x.res.Warnings = append(x.res.Warnings, w)
		}
	}
}

// wholeFigures are what a warning of one stage can be about and still be one of
// the whole. The others weaken a figure of that stage, whose own result has
// them.
var wholeFigures = map[string]bool{"workload": true, "server": true, "requests": true}

// blank is the whole's document, with what the first stage found out.
func (x *conductor) blank(first *result.Result) *result.Result {
	whole := *first
	whole.Plan, whole.Command = x.Config.RedactedMap(), x.Command
	whole.Seed, whole.Experiment = x.Config.Seed, result.KindOf(x.kind, x.Config.Experiment.FindLimit)
	whole.Points, whole.Warnings, whole.Stages, whole.Diagnosis, whole.Billed = []result.Point{}, nil, nil, nil, nil
	whole.Interrupted = ""
	whole.Verdict = result.Verdict{Valid: result.Valid, SLO: slo.None, Reasons: []string{}, Checks: []result.Check{}, Unchecked: first.Verdict.Unchecked}
	return &whole
}

// bill adds what a run cost; what its target was asked beside the loads is paid for too.
func (x *conductor) bill(res *result.Result) {
	if res.Billed == nil {
		return
	}
	x.billed += *res.Billed
	x.res.Billed = new(x.billed)
	for _, t := range []*measure.Target{x.target, x.other} {
		if t != nil {
			*x.res.Billed += t.Preflight(x.Config).Money
		}
	}
}

// keep writes the result as it is now; interrupted marks one that is not
// finished, so that a kill leaves what there was.
func (x *conductor) keep(interrupted string) error {
	if x.res == nil {
		return nil
	}
	x.Config.Mask().Tidy(x.res)
	written := *x.res
	written.Interrupted, written.Points = interrupted, x.shownPoints()
	return x.dir.WriteResult(&written)
}

// shownPoints are the points, of which only those that a report shows in full
// are seen over time: the stages' own results have the others.
func (x *conductor) shownPoints() []result.Point {
	points := slices.Clone(x.res.Points)
	for i := range points {
		if pooled := x.res.Repeats; x.res.Sustained != nil && *x.res.Sustained == i || pooled != nil && pooled.Point != nil && *pooled.Point == i {
			continue
		}
		points[i].Series = nil
		if x.res.Comparison != nil {
			points[i].Distributions = nil // those of its sides stand there
		}
	}
	return points
}

// takeBack takes an experiment back of which no stage has ended, unless one has
// left records: then it can be gone on with, in the directory that is given.
func (x *conductor) takeBack() (path string) {
	if x.Resume != "" || len(x.dir.Stages()) > 0 {
		return x.dir.Path
	}
	_ = x.dir.RemoveStages() // empty, and only in the way of what follows
	x.dir.Discard()
	return ""
}

// finish writes the last result and lets go of the target.
func (x *conductor) finish(err error) (*result.Result, string, error) {
	if x.target != nil {
		x.target.Close()
	}
	if x.res == nil {
		if errors.Is(err, errStopped) {
			err = context.Canceled // where there is nothing to show
		}
		return nil, x.takeBack(), err
	}
	var bound endedBy
	switch {
	case errors.Is(err, errStopped):
		x.res.Interrupted, err = result.ByUser, nil
	case errors.As(err, &bound):
		x.res.Interrupted, err = string(bound), nil
	case err != nil && x.res.Interrupted == "":
		// What failed is not finished and can be resumed.
		x.res.Interrupted = "failed: " + text.Reason(err)
	}
	if x.res.WorkingSet == nil { // which is overrun on purpose
		x.res.Diagnosis = diagnose.Find(x.res)
	}
	x.planCapacity()
	x.res.Checklist = validity.Checklist(x.res)
	x.res.Choices, x.res.AntiPatterns = diagnose.Choices(x.res), validity.AntiPatterns(x.res)
	x.res.Points = x.shownPoints()
	err = errors.Join(err, x.keep(x.res.Interrupted))
	x.dir.NoteFull(err)
	return x.res, x.dir.Path, err
}
