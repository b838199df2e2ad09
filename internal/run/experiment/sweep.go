package experiment

import (
	"context"
	"time"

	"redline/internal/answer/sweep"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
)

// Sweep offers one load after another, ascending, until the server is saturated
// or the levels are through; with find_limit it searches for the highest rate
// that keeps the objectives, and with working_set for the number of sessions that
// the prefix cache no longer holds.
func Sweep(ctx context.Context, o Options) (*result.Result, string, error) {
	return conduct(ctx, o, "sweep", func(x *conductor) error {
		switch {
		case o.Config.Experiment.WorkingSet != "":
			return x.workingSet(ctx)
		case o.Config.Experiment.FindLimit:
			return x.findLimit(ctx)
		}
		return x.sweep(ctx)
	})
}

func (x *conductor) sweep(ctx context.Context) error {
	by := sweep.By(x.Config)
	var done []sweep.Done
	for {
		level, more, stop := sweep.Next(x.Config, done)
		if len(done) > 0 {
			x.res.Curve = sweep.Curve(x.res.Points, 0, by, stop)
		}
		if !more {
			break
		}
		res, err := x.run(ctx, x.level(level.Name(), "level", level.Apply))
		if err != nil {
			if res != nil {
				x.res.Curve = sweep.Curve(x.res.Points, 0, by, "")
			}
			return err
		}
		one := sweep.Done{LeftOut: x.leftOut != ""}
		if len(res.Points) > 0 {
			one.Point = &res.Points[0]
		}
		done = append(done, one)
	}
	sweep.JudgeTogether(x.res.Points, x.res.Curve.Points)
	x.res.Curve.MaxQPS = sweep.MaxQPS(x.res)
	var missing string
	if x.res.Verdict.SLO, missing = sweep.Conclude(x.countedPoints(0), len(x.res.Points)); missing != "" {
		x.invalidate("%s", missing)
	}
	return nil
}

// level is a stage with another load. The server is warm from the one before, so
// that only the change of load has to settle.
func (x *conductor) level(name, purpose string, change func(*config.Config)) Stage {
	const least, limit = 3 * time.Second, 30 * time.Second
	return x.stage(name, purpose, func(c *config.Config) {
		b := &c.Load.Bounds
		if b.Warmup == nil && x.e2e > 0 {
			b.Warmup = new(max(min(max(2*x.e2e, least), limit), x.sessionTime()).Round(time.Second))
		}
		if b.Duration == 0 && b.TotalRequests == 0 {
			// A trace is as long as it is, but not at a rate of its user's.
			b.Duration = levelLength
		}
		change(c)
	})
}

// sessionTime is how long conversations need until they are warm, 0 where there
// are none.
func (x *conductor) sessionTime() time.Duration {
	if x.target == nil {
		return 0
	}
	_, settled := x.target.Sessions(x.Config, x.e2e)
	return min(settled, maxSession)
}

// maxSession is what is waited for at most until conversations are warm.
const maxSession = 3 * time.Minute

// levelLength is how long a level is measured where the plan leaves it open.
const levelLength = time.Minute
