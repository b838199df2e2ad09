// Package experiment conducts several runs as one: a sweep over loads, the
// search for the limit, repeats, a protocol, two servers side by side. It takes
// a plan and gives one result with a point for each run. It is control flow
// over measure's "run this stage": it holds no statistics and shows nothing.
package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"redline/internal/config"
	"redline/internal/measure"
	"redline/internal/result"
	"redline/internal/store"
)

// Options is everything that an experiment needs: those of a run, whose plan is
// the whole experiment's, and what is told of its stages.
type Options struct {
	measure.Options
	// Resume goes on with an experiment that was cut short: its directory.
	Resume string
	// Begin and End are told of each stage; End also of one that was kept from
	// before.
	Begin func(stage Stage)
	End   func(stage Stage, res *result.Result, kept bool)
}

// Stage is one run of an experiment: a name, and the plan of its load.
type Stage struct {
	Name    string
	Purpose string
	Config  *config.Config

	on *measure.Target // nil: the experiment's own
}

// conductor is an experiment under way.
type conductor struct {
	Options
	dir    *store.Dir
	target *measure.Target
	number int
	res    *result.Result // nil before the first stage has ended
	e2e    time.Duration  // mean of the last stage
	// rows are the points of a matrix by the names of their rows.
	rows map[string]*result.Point
	// neighbour is how a tenant fared beside a hot one.
	neighbour *result.Neighbour
	// firstLevel is the index of the first point that belongs to the curve.
	firstLevel int
}

// begin makes or opens the directory and finds the target.
func begin(ctx context.Context, o Options) (*conductor, error) {
	x := &conductor{Options: o}
	if err := x.openDir(); err != nil {
		return nil, err
	}
	target, err := measure.Open(ctx, o.Options)
	if err != nil {
		if o.Resume == "" {
			x.dir.Discard()
		}
		return nil, err
	}
	x.target = target
	if !o.Config.Embedded() {
		found := *o.Config
		found.Provider.Model = target.Model()
		x.Config = &found
	}
	plan, err := x.Config.YAML()
	if err == nil && o.Resume == "" {
		err = x.dir.WritePlan(plan)
	}
	if err != nil {
		target.Close()
		return nil, err
	}
	return x, nil
}

func (x *conductor) openDir() (err error) {
	out := x.Config.Output
	switch {
	case x.Resume != "":
		x.dir, err = store.Open(x.Resume)
	case out.Dir != "":
		if x.dir, err = store.Create(out.Dir, out.Force); err == nil && out.Force {
			err = os.RemoveAll(filepath.Join(out.Dir, store.StagesDir))
		}
	default:
		x.dir, err = store.Claim(store.Name(time.Now(), x.Config.Metadata["label"]))
	}
	return err
}

// errStopped says that the user ended the experiment; what was measured stands.
var errStopped = errors.New("interrupted")

// stopped reports whether the user has ended the experiment.
func (x *conductor) stopped(ctx context.Context) bool {
	select {
	case <-x.Stop:
		return true
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// run runs one stage, or takes what an earlier attempt left of it, and adds it
// to the result.
func (x *conductor) run(ctx context.Context, s Stage) (*result.Result, error) {
	x.number++
	path := filepath.Join(x.dir.Path, store.StagesDir, fmt.Sprintf("%02d-%s", x.number, fileName(s.Name)))
	c := *s.Config
	c.Output.Dir, c.Output.Force = path, true
	s.Config = &c
	if res := kept(path, &c); res != nil {
		x.add(s, path, res)
		x.tell(s, res, true)
		return res, nil
	}
	if x.stopped(ctx) {
		return nil, errStopped
	}
	if x.Begin != nil {
		x.Begin(s)
	}
	o := x.Options.Options
	o.Config, o.Target = &c, x.target
	if s.on != nil {
		o.Target = s.on
	}
	res, _, err := measure.Run(ctx, o)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, errStopped
	case res == nil:
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	case res.Interrupted == result.ByUser:
		return nil, errStopped
	}
	x.add(s, path, res)
	x.tell(s, res, false)
	return res, errors.Join(err, x.keep(result.Killed))
}

func (x *conductor) tell(s Stage, res *result.Result, kept bool) {
	if x.End != nil {
		x.End(s, res, kept)
	}
}

// fileName is a stage's name as it can stand in a path.
func fileName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name), "-.")
}

// kept is the result of a stage that was run before by the same plan, nil where
// there is none or it was cut short.
func kept(path string, c *config.Config) *result.Result {
	dir, err := store.Open(path)
	if err != nil {
		return nil
	}
	res, err := dir.Result()
	if err != nil || res.Interrupted != "" {
		return nil
	}
	was, err1 := json.Marshal(res.Plan)
	is, err2 := json.Marshal(c.Resolved())
	if err1 != nil || err2 != nil || string(was) != string(is) {
		return nil
	}
	return res
}

// add takes a stage's points, verdict and warnings into the whole.
func (x *conductor) add(s Stage, path string, res *result.Result) {
	if x.res == nil {
		x.res = x.blank(res)
	}
	entry := result.Stage{Name: s.Name, Purpose: s.Purpose}
	if relative, err := filepath.Rel(x.dir.Path, path); err == nil {
		entry.Dir = filepath.ToSlash(relative)
	}
	if len(res.Points) > 0 {
		p := res.Points[0]
		p.Name, p.Probe = s.Name, p.Window.EndS-p.Window.StartS < probeBelow.Seconds()
		x.res.Points = append(x.res.Points, p)
		entry.Point = new(len(x.res.Points) - 1)
		if p.Latency.E2E != nil {
			x.e2e = time.Duration(p.Latency.E2E.Mean * float64(time.Millisecond))
		}
	}
	x.res.Stages = append(x.res.Stages, entry)
	if s.Purpose != purposeSmoke && s.Purpose != purposeWarmUp {
		// No figure is taken from those two, so none can be unsound.
		x.judge(s, res)
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

// probeBelow is the length under which a level only shows the way.
const probeBelow = time.Minute

// blank is the whole's document, with what the first stage found out.
func (x *conductor) blank(first *result.Result) *result.Result {
	whole := *first
	whole.Plan, whole.Command = x.Config.Resolved(), x.Command
	whole.Seed = x.Config.Seed
	whole.Points, whole.Warnings, whole.Stages = []result.Point{}, nil, nil
	whole.Interrupted = ""
	whole.Verdict = result.Verdict{Valid: "yes", SLO: "none", Reasons: []string{}, Checks: []result.Check{}, Unchecked: first.Verdict.Unchecked}
	return &whole
}

// judge takes a stage's checks into the whole's: of each the one that failed,
// else the last. A run is as sound as the least sound of its stages.
func (x *conductor) judge(s Stage, res *result.Result) {
	v := &x.res.Verdict
	for _, check := range res.Verdict.Checks {
		if !check.OK {
			check.Figure = s.Name + ": " + check.Figure
		}
		i := slices.IndexFunc(v.Checks, func(c result.Check) bool { return c.Name == check.Name })
		switch {
		case i < 0:
			v.Checks = append(v.Checks, check)
		case v.Checks[i].OK:
			v.Checks[i] = check
		}
	}
	if res.Verdict.Valid == "no" {
		v.Valid = "no"
	}
	v.Reasons = []string{}
	for _, check := range v.Checks {
		if !check.OK {
			v.Reasons = append(v.Reasons, check.Name+": "+check.Figure+", allowed "+check.Threshold)
		}
	}
}

// keep writes the result as it is now; interrupted marks one that is not
// finished, so that a kill leaves what there was.
func (x *conductor) keep(interrupted string) error {
	if x.res == nil {
		return nil
	}
	written := *x.res
	written.Interrupted = interrupted
	return x.dir.WriteResult(&written)
}

// finish writes the last result and lets go of the target.
func (x *conductor) finish(err error) (*result.Result, string, error) {
	x.target.Close()
	if x.res == nil {
		if x.Resume == "" {
			x.dir.Discard()
			_ = os.Remove(filepath.Join(x.dir.Path, store.StagesDir)) // is empty, or something to keep
		}
		if errors.Is(err, errStopped) {
			err = context.Canceled
		}
		return nil, "", err
	}
	if errors.Is(err, errStopped) {
		x.res.Interrupted, err = result.ByUser, nil
	}
	x.res.Checklist = Checklist(x.res)
	return x.res, x.dir.Path, errors.Join(err, x.keep(x.res.Interrupted))
}

// Reopen reads the plan of an experiment that was cut short.
func Reopen(path string) (string, error) {
	plan := filepath.Join(path, "plan.yaml")
	if _, err := os.Stat(plan); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s holds no experiment (no plan.yaml in it)", path)
	}
	return plan, nil
}
