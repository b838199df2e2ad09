package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/regular"
	"redline/internal/run/measure"
	"redline/internal/store"
)

// begin finds the target, and then makes or opens the directory: nothing is
// replaced for the sake of a server that does not answer.
func begin(ctx context.Context, o Options, kind string) (*conductor, error) {
	x, err := find(ctx, o, kind)
	if err != nil {
		return nil, err
	}
	if err := x.settle(nil); err != nil {
		return nil, err
	}
	return x, nil
}

// conduct begins an experiment, does it, and finishes it.
func conduct(ctx context.Context, o Options, kind string, do func(*conductor) error) (*result.Result, string, error) {
	x, err := begin(ctx, o, kind)
	if err != nil {
		return nil, "", err
	}
	return x.finish(do(x))
}

// find looks whether the directory can be had, and opens the target.
func find(ctx context.Context, o Options, kind string) (*conductor, error) {
	x := &conductor{Options: o, kind: kind, id: store.NewID(), used: o.Used}
	if err := x.checkDir(); err != nil {
		return nil, err
	}
	own, err := x.open(ctx, "A", o.Config)
	if err != nil {
		return nil, err
	}
	x.target, x.Config = own.target, own.config
	return x, nil
}

// checkDir refuses a directory that is not to be written to, and changes
// nothing.
func (x *conductor) checkDir() error {
	if x.Resume == "" {
		if out := x.Config.Output; out.Dir != "" {
			return x.Hold.Check(out.Dir, out.Force)
		}
		return nil
	}
	dir, err := x.Hold.Open(x.Resume)
	if err != nil {
		return err
	}
	kind, err := dir.Kind()
	if err == nil && kind != x.kind {
		err = fmt.Errorf("%s was begun by redline %s: resume it with redline %s --resume %s", x.Resume, kind, kind, x.Resume)
	}
	return err
}

// settle makes the directory and writes down what the experiment is, or opens
// it; second is the plan of another server, nil for none.
func (x *conductor) settle(second *config.Config) error {
	err := x.openDir()
	if err == nil && x.Resume != "" {
		// It is read before any stage writes the result again; an experiment that
		// was killed in its first stage has none.
		x.was, _ = x.dir.Result()
		err = x.checkPlan()
	} else if err == nil {
		if err = x.describe(second); err != nil {
			x.dir.Discard()
		}
	}
	if err != nil && x.target != nil {
		x.target.Close()
	}
	return err
}

func (x *conductor) openDir() (err error) {
	out := x.Config.Output
	switch {
	case x.Resume != "":
		x.dir, err = x.Hold.Open(x.Resume)
	case out.Dir != "":
		if x.dir, err = x.Hold.Create(out.Dir, out.Force); err == nil && out.Force {
			err = x.dir.RemoveStages()
		}
	default:
		x.dir, err = x.Hold.Claim(store.Name(time.Now(), x.Config.Metadata["label"]))
	}
	return err
}

// describe writes down the kind and the plans.
func (x *conductor) describe(second *config.Config) error {
	plan, err := x.Config.YAML()
	if err != nil {
		return err
	}
	err = errors.Join(x.dir.WriteKind(x.kind), x.dir.WritePlan(plan))
	if err != nil || second == nil {
		return err
	}
	if plan, err = second.YAML(); err != nil {
		return err
	}
	return x.dir.WriteSecondPlan(plan)
}

// checkPlan refuses to go on by another plan than the one that was begun with:
// its stages would take the place of those that were kept.
func (x *conductor) checkPlan() error {
	same, err := samePlan(x.dir, x.Config)
	if err == nil && !same {
		err = fmt.Errorf("%s holds the plan of another experiment than this one; begin a new one in another directory with --out", x.dir.Path)
	}
	return err
}

// samePlan reports whether a directory was made by a plan. The texts are
// compared, which keep every digit of a seed.
func samePlan(dir *store.Dir, c *config.Config) (bool, error) {
	was, err := dir.Plan()
	if err != nil {
		return false, err
	}
	is, err := c.YAML()
	return bytes.Equal(was, is), err
}

// previousResult is the result of a stage that was run before by the same plan, nil where
// there is none or where running it again would tell more.
func (x *conductor) previousResult(path string, s Stage) *result.Result {
	dir, err := store.Open(path)
	if err != nil {
		return nil
	}
	res, err := dir.Result()
	if err != nil || isUnfinished(res) || s.sound != nil && !s.sound(res) {
		return nil
	}
	if s.launched != nil {
		// The plan of the whole is the same, and so is what the server was
		// started with: no server has to be started to know that.
		if !s.launched.before() {
			return nil
		}
		return res
	}
	settled, err := s.on.SettlePlan(s.Config)
	if err != nil {
		return nil
	}
	if same, err := samePlan(dir, settled); err != nil || !same {
		return nil
	}
	return res
}

// isComplete reports whether the measured window was over, and all its requests
// ended, before the user's stop: then only load that nobody measures was cut.
func isComplete(res *result.Result, c *config.Config) bool {
	if len(res.Points) == 0 {
		return false
	}
	p, b := &res.Points[0], c.Load.Bounds
	long := b.Duration > 0 && p.Window.Seconds() >= b.Duration.Seconds()-1e-3
	many := b.TotalRequests > 0 && p.Requests.Due >= b.TotalRequests
	return (long || many) && p.Requests.Cancelled == 0
}

// keepComplete keeps a stage as one that has ended, so that it is not run again.
func keepComplete(res *result.Result, path string) error {
	res.Interrupted = ""
	res.Warnings = append(res.Warnings, result.Warning{Figure: "window", Text: "the cool-down was cut short: the window was over, and all its requests had ended"})
	dir, err := store.Open(path)
	if err != nil {
		return err
	}
	return dir.WriteResult(res)
}

// spend adds up what the stages of an experiment in it have used.
func (x *conductor) spend(dir string, c *config.Config, res *result.Result) error {
	if !x.hasBudget() {
		return nil
	}
	for _, s := range res.Stages {
		used, err := measure.UsedBy(filepath.Join(dir, filepath.FromSlash(s.Dir)), c)
		if err != nil {
			return err
		}
		x.used.Add(used)
	}
	return nil
}

// isUnfinished reports whether a stage was broken off from outside. One that
// ended at a bound of its own would end there again.
func isUnfinished(res *result.Result) bool {
	return res.Interrupted == result.ByUser || res.Interrupted == result.Killed
}

// Reopen finds the plan of an experiment that was cut short.
func Reopen(path string) (string, error) {
	plan := filepath.Join(path, "plan.yaml")
	if _, err := regular.Read(plan); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s holds no experiment (no plan.yaml in it)", path)
	} else if err != nil {
		return "", err
	}
	dir, err := store.Open(path)
	if err != nil {
		return "", err
	}
	kind, err := dir.Kind()
	if err == nil && kind == "" {
		err = fmt.Errorf("%s holds a single run, which cannot be gone on with; run its plan again with --plan %s", path, plan)
	}
	return plan, err
}

// ReopenSecond finds the plan of the other server of a comparison.
func ReopenSecond(path string) (string, error) {
	dir, err := store.Open(path)
	if err != nil {
		return "", err
	}
	plan := dir.SecondPlanPath()
	if _, err := regular.Read(plan); err != nil {
		return "", fmt.Errorf("%s holds no live comparison of two servers (no %s in it)", path, filepath.Base(plan))
	}
	return plan, nil
}
