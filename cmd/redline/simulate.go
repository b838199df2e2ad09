package main

import (
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"redline/internal/answer/capacity"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/startup"
	"redline/internal/store"
	"redline/internal/traffic/job"
	"redline/internal/traffic/workload"
	"redline/internal/twin"
	"redline/internal/twin/sim"
)

// rehearsal is how --simulate tries plans; nil where it is not asked for.
func (p *process) rehearsal(cfg *config.Config, f capacityFlags) (capacity.Rehearse, error) {
	for _, flag := range []string{"engine", "profile", "router", "prefill", "decode", "kv-transfer-rate", "pools", "autoscale", "scale-target", "provisioning-delay", "failures"} {
		if f.given(flag) && !f.simulate {
			return nil, usage("--%s goes with --simulate", flag)
		}
	}
	switch {
	case !f.simulate:
		return nil, nil
	case len(f.runs) == 0:
		return nil, usage("--simulate needs the directory of a run, whose requests it draws from and whose server it is fitted to")
	}
	setup, err := f.setup(cfg)
	if err != nil {
		return nil, err
	}
	trial := twin.Trial{Setup: setup, Seed: 1}
	if cfg.Server.Engine != "" {
		spec, err := config.ReadEngine(cfg.Server.Engine)
		if err != nil {
			return nil, err
		}
		trial.Engine, trial.EngineName = &spec, cfg.Server.Engine
	}
	debug.SetGCPercent(400) // little lives long: collecting seldom saves a fifth of the time
	return func(ctx context.Context, conf capacity.Configuration, t capacity.Trial) (*result.Rehearsal, error) {
		trial.Run = filepath.FromSlash(conf.Name)
		trial.Instances, trial.Limit, trial.Objectives = t.Instances, t.Limit, t.Objectives
		if f.given("slo") { // a limit that is given has none
			trial.Objectives = f.asked["slo"]
		}
		trial.Rate = t.Rate * (1 + t.Headroom)
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

// The longest delays and the largest fleets that are simulated.
const (
	maxProvisioning     = 24 * time.Hour
	defaultProvisioning = 2 * time.Minute
	maxFleet            = 10_000
)

// setup is how the simulated instances are arranged.
func (f capacityFlags) setup(cfg *config.Config) (twin.Setup, error) {
	fleet := cfg.Server.Sim.Fleet
	s := twin.Setup{Router: fleet.Router, Pools: f.pools, Prefill: fleet.Prefill, Decode: fleet.Decode, KVTransferRate: fleet.KVTransferRate}
	hasPools := f.pools || fleet.HasPools()
	switch err := sim.CheckRouter(fleet.Router); {
	case err != nil:
		return s, usage("--%v", err)
	case f.agents > 0 && (f.given("router") || hasPools || f.autoscale != "" || f.failures != ""):
		return s, usage("--simulate of agents has each job stay on one of the instances: leave --router, pools, --autoscale and --failures out")
	case f.pools && (f.given("prefill") || f.given("decode")):
		return s, usage("--pools finds what --prefill and --decode say: leave one of them out")
	case (f.given("prefill") || f.given("decode")) && (fleet.Prefill < 1 || fleet.Decode < 1 || fleet.Engines() > maxFleet):
		return s, usage("--prefill, --decode: expected 1 of each and %d in all at most, got %d and %d", maxFleet, fleet.Prefill, fleet.Decode)
	case f.given("kv-transfer-rate") && !hasPools:
		return s, usage("--kv-transfer-rate goes with --pools, or --prefill and --decode")
	case f.given("kv-transfer-rate") && !(fleet.KVTransferRate > 0 && fleet.KVTransferRate <= 1e6):
		return s, usage("--kv-transfer-rate: expected GB/s above 0, got %g", fleet.KVTransferRate)
	case hasPools && f.autoscale != "":
		return s, usage("--autoscale is for instances that serve whole requests: size the pools by --pools at the peak and at the mean instead")
	}
	var err error
	s.Scale, err = f.scale()
	return s, err
}

// scale is how instances come, go and fail.
func (f capacityFlags) scale() (s twin.Scale, err error) {
	if f.autoscale != "" {
		low, high, isRange := strings.Cut(f.autoscale, "..")
		var wrong error
		s.Min, err = strconv.Atoi(low)
		s.Max, wrong = strconv.Atoi(high)
		switch {
		case !isRange || err != nil || wrong != nil || s.Min < 1 || s.Max > maxFleet:
			return s, usage("--autoscale: expected the lowest and the highest number of instances, from 1 to %d, such as 4..20, got %q", maxFleet, f.autoscale)
		case s.Min > s.Max:
			return s, usage("--autoscale: the lowest number, %d, is above the highest, %d", s.Min, s.Max)
		}
	}
	switch s.Target = f.scaleTarget; {
	case f.given("scale-target") && f.autoscale == "":
		return s, usage("--scale-target goes with --autoscale")
	case !f.given("scale-target"):
		s.Target = 1 / (1 + f.headroom)
	case !(f.scaleTarget >= 0.01 && f.scaleTarget <= 1):
		return s, usage("--scale-target: expected a share of what an instance carries, from 0.01 to 1, such as 0.8, got %g", f.scaleTarget)
	}
	if s.Failures, s.FailuresADay, err = parseFailures(f.failures); err != nil {
		return s, err
	}
	if s.Max == 0 && f.failures == "" {
		if f.provisioningDelay != "" {
			return s, usage("--provisioning-delay goes with --autoscale or --failures")
		}
		return s, nil
	}
	s.Delay, err = f.delay()
	return s, err
}

// parseFailures reads how many instances fail in all, or how often each does in a day.
func parseFailures(given string) (number int, perDay float64, err error) {
	if given == "" {
		return 0, 0, nil
	}
	if often, isRate := strings.CutSuffix(given, "/day"); isRate {
		if perDay, err = strconv.ParseFloat(often, 64); err == nil && perDay > 0 && perDay <= 1000 {
			return 0, perDay, nil
		}
	} else if number, err = strconv.Atoi(given); err == nil && number > 0 && number <= 100_000 {
		return number, 0, nil
	}
	return 0, 0, usage("--failures: expected a number of instances such as 3, or how often each fails such as 0.02/day, got %q", given)
}

// delay is the provisioning delay, given or measured.
func (f capacityFlags) delay() (time.Duration, error) {
	if f.provisioningDelay == "" {
		return defaultProvisioning, nil
	}
	d, err := time.ParseDuration(f.provisioningDelay)
	if err != nil {
		if d, err = startup.ReadDelay(f.provisioningDelay); err != nil {
			return 0, usage("--provisioning-delay: expected a time such as 3m, or the file of redline startup --json: %v", err)
		}
	}
	if d < 0 || d > maxProvisioning {
		return 0, usage("--provisioning-delay: expected a time from 0s to 24h, got %v", d)
	}
	return d, nil
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
	if f.given("workload") {
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
