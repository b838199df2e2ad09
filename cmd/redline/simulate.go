package main

import (
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/answer/capacity"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/store"
	"redline/internal/traffic/job"
	"redline/internal/traffic/workload"
	"redline/internal/twin"
)

// rehearsal is how --simulate tries plans; nil where it is not asked for.
func (p *process) rehearsal(c *cobra.Command, cfg *config.Config, f capacityFlags) (capacity.Rehearse, error) {
	for _, flag := range []string{"engine", "profile", "router"} {
		if c.Flags().Changed(flag) && !f.simulate {
			return nil, usage("--%s goes with --simulate", flag)
		}
	}
	switch {
	case !f.simulate:
		return nil, nil
	case len(f.runs) == 0:
		return nil, usage("--simulate needs the directory of a run, whose requests it draws from and whose server it is fitted to")
	case !slices.Contains(twin.Routers, f.router):
		return nil, usage("--router %q is not known; expected %s or %s", f.router, twin.Routers[0], twin.Routers[1])
	}
	trial := twin.Trial{Router: f.router, Seed: 1}
	if cfg.Server.Engine != "" {
		spec, err := config.ReadEngine(cfg.Server.Engine)
		if err != nil {
			return nil, err
		}
		trial.Engine, trial.EngineName = &spec, cfg.Server.Engine
	}
	return func(ctx context.Context, conf capacity.Configuration, t capacity.Trial) (*result.Rehearsal, error) {
		trial.Run = filepath.FromSlash(conf.Name)
		trial.Instances, trial.Limit, trial.Objectives = t.Instances, t.Limit, t.Objectives
		var err error
		if f.agents > 0 {
			trial.Agents, err = agentsOf(trial.Run, f.agents)
		} else {
			trial.Arrivals, err = p.arrivals(cfg, f, t)
		}
		if err != nil {
			return nil, err
		}
		return trial.Try(ctx)
	}, nil
}

// agentsOf are so many agents with the jobs and the pauses of a run.
func agentsOf(run string, live int) (twin.Agents, error) {
	dir, err := store.Open(run)
	if err != nil {
		return twin.Agents{}, err
	}
	plan, err := config.Reopen(dir.PlanPath())
	if err != nil {
		return twin.Agents{}, err
	}
	w := plan.Workload.Traffic
	if w.File == "" {
		return twin.Agents{}, usage("--simulate with --agents: the run of %s has no file of jobs to send again", run)
	}
	file, err := job.Open(w.File, job.Options{Format: w.Format})
	if err != nil {
		return twin.Agents{}, err
	}
	pace := cmp.Or(w.Jobs, &workload.Jobs{})
	return twin.Agents{Live: live, Jobs: file.Jobs, Pause: func(recorded time.Duration) time.Duration {
		if pace.IdleCap > 0 {
			recorded = min(recorded, pace.IdleCap)
		}
		if pace.TimeScale != nil {
			recorded = time.Duration(float64(recorded) * *pace.TimeScale)
		}
		return recorded
	}}, nil
}

// arrivals are those of the workload, of the profile, or of a day with the
// demand's peak and mean.
func (p *process) arrivals(cfg *config.Config, f capacityFlags, t capacity.Trial) (twin.Arrivals, error) {
	if len(f.asked["workload"]) > 0 {
		var out twin.Arrivals
		err := p.withWorkload(f, func(name string, times iter.Seq[int64]) error {
			out = twin.RecordedArrivals(name, times)
			return nil
		})
		return out, err
	}
	if cfg.Load.Profile == "" {
		return twin.Day(t.Rate, t.Mean, 1), nil
	}
	out, err := twin.ProfileArrivals(cfg.Load.Profile, t.Rate, t.Limit)
	if err != nil {
		return out, usage("--profile: %v", err)
	}
	return out, nil
}
