package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
	"redline/internal/show/listing"
	"redline/internal/show/live"
	"redline/internal/show/report"
	"redline/internal/text"
)

const sweepHelp = `Measure one load level after another and plot latency against load. With
--find-limit, search for the highest rate that meets the objectives.

Levels increase until the server is saturated. The limit is the highest rate at
which at least half of the runs of the sustained length meet every objective. It
is printed with an interval, the objective that breaks first, whether the edge
is a cliff, and the highest rate at which a sustained run met everything.
--budget is wall-clock time for all of it.

With --working-set, search for the number of live sessions that the server's
prefix cache no longer holds, and print what it costs.

Results are kept level by level. After a kill or Ctrl-C, resume with
redline sweep --resume DIR.

Exit code: 0 a limit or a curve, 3 the objectives cannot be met at any load,
5 invalid, 6 too close to call, 130 interrupted.`

const sweepExamples = `  redline sweep --slo 'ttft:p99<500ms' --find-limit
  redline sweep --url http://localhost:8000 --rates 1,2,4,8,16 --duration 60s
  redline sweep --url http://localhost:8000 --concurrencies 1,2,4,8,16,32
  redline sweep --url http://localhost:8000 --slo 'ttft:p99<500ms' --slo 'tpot:p95<50ms' --find-limit --budget 15m
  redline sweep --url http://localhost:8000 --working-set 8..512 --prefix 4000
  redline sweep --resume runs/20260101-120000`

func (p *process) sweepCommand() *cobra.Command {
	c := &cobra.Command{Use: "sweep", SuggestFor: []string{"limit", "search", "find-limit", "curve", "saturate"}, Short: "measure latency against load, and find the limit under objectives", Long: sweepHelp,
		Example: sweepExamples, Args: noArguments}
	p.experimentCommand(c, "sweep", map[string]string{
		"duration": "length of each level's measured window (default: 1m); a search chooses its own",
	}, nil, experiment.Sweep)
	p.addReports(c)
	return c
}

// experimentPlan resolves the plan of an experiment, or reads the plan of one
// that is resumed.
func (p *process) experimentPlan(command string, given map[string][]string, resume string) (*config.Config, error) {
	if resume == "" {
		return p.resolve(config.Input{Command: command, Flags: given, LookupEnv: p.lookupEnv})
	}
	if err := notSingle(resume); err != nil {
		return nil, err
	}
	plan, err := experiment.Reopen(resume)
	if err != nil {
		return nil, err
	}
	return p.resumedPlan(plan, given, resume)
}

// resumedPlan reads the plan of an experiment that is resumed: only how much is
// printed may be chosen again.
func (p *process) resumedPlan(plan string, given map[string][]string, resume string) (*config.Config, error) {
	for flag := range given {
		switch flag {
		case "json", "quiet", "explain", "verbose", "progress":
		default:
			return nil, usage("--resume uses the plan in %s: leave out --%s", resume, flag)
		}
	}
	return p.resolve(config.Input{PlanPath: plan, Flags: given, LookupEnv: p.withoutSettings})
}

// withoutSettings is the environment but for the variables that set options:
// those of the plan itself, such as a key, are still looked up.
func (p *process) withoutSettings(name string) (string, bool) {
	for i := range config.Options {
		if config.Options[i].Env() == name {
			return "", false
		}
	}
	return p.lookupEnv(name)
}

// announce says what an experiment will probably take.
func (p *process) announce(cfg *config.Config, command string) (experiment.Estimate, error) {
	foreseen, err := experiment.Foresee(command, cfg)
	switch {
	case err != nil && cfg.Experiment.FindLimit:
		return foreseen, usage("--find-limit: %v", err)
	case err != nil:
		return foreseen, usage("%v", err)
	case !cfg.Output.Quiet:
		for _, line := range foreseen.Expect {
			p.tell("redline: " + p.line(line))
		}
		p.tell("redline: " + foreseen.String() + "; Ctrl-C keeps what was measured")
		for _, line := range foreseen.Warnings {
			p.tell("redline: " + line)
		}
	}
	return foreseen, nil
}

// conduct runs an experiment and shows its result; command is the one that
// resumes it.
func (p *process) conduct(ctx context.Context, cfg *config.Config, resume, command string,
	run func(context.Context, experiment.Options) (*result.Result, string, error)) error {
	if cfg.Output.DryRun {
		return p.dryRun(cfg, command)
	}
	foreseen, err := p.announce(cfg, command)
	if err != nil {
		return err
	}
	line, err := p.follow(ctx, cfg, panelOf(cfg, command), 0)
	if err != nil {
		return err
	}
	defer line.Finish()
	o := p.experimentOptions(cfg, line)
	o.Resume, o.Foreseen = resume, foreseen
	told, done, err := p.publish(ctx, cfg, o.Live, o.Say)
	if err != nil {
		return err
	}
	o.Live = told
	if p.hurry != nil {
		p.hurry()
	}
	crew, release, err := p.crew(ctx, cfg, nil, o.Say, line.Came)
	if err != nil {
		return err
	}
	defer release()
	o.Crew = crew
	o.Hold = p.hold(o.Say)
	defer o.Hold.Release()
	res, path, err := run(ctx, o)
	done(res)
	line.Finish()
	return p.endExperiment(ctx, cfg, command, res, path, err)
}

// experimentOptions are those of an experiment that is shown on a line.
func (p *process) experimentOptions(cfg *config.Config, line *live.Line) experiment.Options {
	say := func(format string, args ...any) { line.Say("redline: " + p.line(fmt.Sprintf(format, args...))) }
	o := experiment.Options{Options: measure.Options{Config: cfg, Version: version, Command: p.commandLine(cfg), Stop: p.stop, Say: say}}
	if p.virtual != nil {
		p.virtual(&o.Options)
	}
	if cfg.Output.Verbose {
		o.Trace = p.stderr
	}
	if cfg.Output.Quiet {
		return o
	}
	o.Live = func(s progress.Snapshot) { line.Show(s) }
	o.Begin = func(s experiment.Stage, at experiment.Progress) {
		stage := live.Stage{Name: s.Name, What: at.What, Number: at.Number, Of: at.Of, About: !at.Exact,
			Warmup: at.Warmup, Window: at.Window, Ahead: at.Ahead, Next: at.Next, Side: s.Side}
		stage.Load, stage.Closed = stageLoad(s)
		if at.Limit != nil {
			stage.Found = report.SoFar(at.Limit)
			line.Note("redline: " + p.line(stage.Found))
		}
		line.Stage(stage)
	}
	o.End = func(s experiment.Stage, res *result.Result, kept bool) {
		said := p.line(listing.StageLine(s, res, kept))
		line.Note("redline: " + said)
		line.AddStage(stageEnded(s, res, said))
	}
	return o
}

// endExperiment shows what an experiment came to, and where it is kept.
func (p *process) endExperiment(ctx context.Context, cfg *config.Config, command string, res *result.Result, path string, err error) error {
	if res == nil {
		if path != "" && errors.Is(err, context.Canceled) {
			return &exitCodeError{exitInterrupted, fmt.Errorf("interrupted before a stage had ended; resume with: redline %s --resume %s",
				command, text.Shell(filepath.ToSlash(path)))}
		}
		return err
	}
	if err == nil {
		err = errors.Join(writePage(path, res), writeDecision(path, res))
		p.remember(context.WithoutCancel(ctx), path)
	}
	unshown := p.show(res, cfg.Output.JSON, cfg.Output.Explain)
	if !cfg.Output.JSON && unshown == nil && len(p.stdoutFormats()) == 0 {
		unshown = p.printLocation("Kept in", path)
		if _, used := result.BudgetReached(res.Interrupted); res.Interrupted != "" && !used && unshown == nil {
			_, unshown = fmt.Fprint(p.stdout, resumeLine(command, path)[1:])
		}
	}
	if err == nil {
		err = unshown
	}
	return exitErrorFor(res, err)
}
