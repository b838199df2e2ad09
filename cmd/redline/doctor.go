package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/plan/config"
	"redline/internal/run/doctor"
	"redline/internal/show/listing"
)

const doctorHelp = `Check this machine, and with --url a server, before a run: what would make
figures weak or wrong, and how to fix it. It takes less than half a minute.

This machine: cores, quota, governor, limits, clock, kernel receive timestamps,
network card, loopback, pacing, and how many tokens and requests per second it
can drive (measured against an embedded engine on the same cores; with a remote
server it can drive more).

With --url: reachability, TLS, models, engine and version, streaming, usage,
tokens per event, output lengths, metrics, clock skew and caches. It sends three
short requests.

With --workers N: the same on every worker's machine, seen from there: a table
of what each can drive, and the findings that are not ok, once for each machine.

Exit code: 0 no problem (warnings allowed), 1 a problem, 2 usage.`

const doctorExamples = `  redline doctor
  redline doctor --url http://localhost:8000
  redline doctor --url https://api.openai.com --model gpt-4o-mini
  redline doctor --json > doctor.json
  redline doctor --url http://localhost:8000 --workers 4 --nats nats://nats:4222
  redline doctor --url http://localhost:8000 && redline run --url http://localhost:8000`

// doctorWords say what flags mean to the doctor.
var doctorWords = map[string]string{
	"url":   "server to check, base URL or full path (also unix:SOCKET); may be given several times (default: none)",
	"model": "model to ask (default: the first that the server lists)",
	"json":  "print findings and evidence as JSON and nothing else",
	"quiet": "no progress display",
}

func (p *process) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:        "doctor",
		SuggestFor: []string{"check", "preflight", "diagnose"},
		Short:      "check this machine and a server before a run",
		Long:       doctorHelp,
		Example:    doctorExamples,
		Args:       noArguments,
	}
	flags := addOptions(c, func(o *config.Option) bool {
		once := o.Flag != "telemetry-interval" && o.Flag != "no-telemetry" && o.Flag != "accelerator"
		return o.Group == config.TargetGroup && once || o.Flag == "json" || o.Flag == "quiet" || strings.HasPrefix(o.Key, "workers.")
	}, doctorWords)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := p.resolve(config.Input{Command: "doctor", Flags: flags(), LookupEnv: p.lookupEnv})
		if err != nil {
			return err
		}
		return p.examine(c.Context(), cfg)
	}
	return c
}

// examine runs the doctor until it is done or interrupted.
func (p *process) examine(ctx context.Context, cfg *config.Config) error {
	ctx, cancel := p.stoppable(ctx)
	defer cancel()
	cfg.Provider.Secrets = cfg.Secrets()
	options := doctor.Options{Target: cfg.Provider, Telemetry: cfg.Telemetry, Pace: p.doctorPace}
	if p.terminal && !cfg.Output.Quiet {
		options.Say = func(line string) { p.tell("redline doctor: " + line) }
	}
	found, err := doctor.Run(ctx, options)
	if err != nil {
		return err
	}
	if err := p.examineWorkers(ctx, cfg, found); err != nil {
		return err
	}
	p.mask.Tidy(found)
	host, _ := os.Hostname()
	err = p.answer(cfg.Output.JSON, found, listing.Doctor(found, host))
	if err == nil && !found.Ready {
		err = &exitCodeError{code: exitError}
	}
	return err
}

// examineWorkers has the plan's workers look where they are.
func (p *process) examineWorkers(ctx context.Context, cfg *config.Config, found *doctor.Report) error {
	if cfg.Workers.Count == 0 {
		return nil
	}
	crew, release, err := p.gather(ctx, cfg.Workers, nil, func(format string, args ...any) {
		p.tell("redline doctor: " + fmt.Sprintf(format, args...))
	}, nil)
	if err != nil {
		return err
	}
	defer release()
	plan, err := cfg.Whole()
	if err != nil {
		return err
	}
	list, err := crew.Examine(ctx, plan)
	if err != nil {
		return err
	}
	for _, w := range list {
		found.Join(w)
	}
	return nil
}
