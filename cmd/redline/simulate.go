package main

import (
	"context"
	"iter"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"redline/internal/answer/capacity"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
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
		return nil, usage("--router %q is not known; want %s or %s", f.router, twin.Routers[0], twin.Routers[1])
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
		if trial.Arrivals, err = p.arrivals(cfg, f, t); err != nil {
			return nil, err
		}
		return trial.Try(ctx)
	}, nil
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
