package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/judge/slo"
	"redline/internal/launch"
	"redline/internal/plan/config"
	"redline/internal/run/startup"
	"redline/internal/show/listing"
)

const startupHelp = `Measure how long a server takes from its command to its steady speed, over
several starts: process up, port open, ready, first token, steady speed; each
with its median and interval, and the phases that the engine's own log names.

--server-command launches the server on this machine; {port} stands for the
port. With --url it is a command that has a server started elsewhere, such as
kubectl scale: it has to end with code 0, and --stop-command has to take the
server down again and to return when it is gone.

--against is the command of B: A and B are started interleaved and compared as
redline compare does. --cold drops files from the page cache before each start
(Linux); without it, all starts but the first find what the one before read.

The time to the first token is what an autoscaler waits for: the provisioning
delay.

Exit code: 0 measured, and B not worse; 1 the server did not come up, 4 B is
slower, 6 too close to call, 130 interrupted.`

const startupExamples = `  redline startup --server-command 'vllm serve MODEL --port {port}'
  redline startup --server-command 'vllm serve MODEL --port {port}' --cold ~/models/MODEL
  redline startup --server-command 'vllm serve MODEL --port {port}' --against 'vllm serve MODEL --port {port} --enforce-eager'
  redline startup --url http://gateway --server-command 'kubectl scale deploy/llm --replicas=1' \
    --stop-command 'kubectl scale deploy/llm --replicas=0 && kubectl wait --for=delete pod -l app=llm'
  redline startup --server-command '{redline} sim --listen 127.0.0.1:{port}' --starts 3`

func (p *process) startupCommand() *cobra.Command {
	c := &cobra.Command{Use: "startup", SuggestFor: []string{"coldstart", "cold-start", "boot", "launch"},
		Short: "measure the phases of a server's start, and compare two", Long: startupHelp, Example: startupExamples, Args: noArguments}
	flags := addOptions(c, func(o *config.Option) bool {
		switch o.Flag {
		case "server-command", "server-port", "ready", "ready-timeout", "tolerance", "json", "quiet":
			return true
		}
		return o.Group == config.TargetGroup && !strings.HasPrefix(o.Key, "telemetry.")
	}, map[string]string{
		"url":            "where the server answers, if the command has it started elsewhere",
		"server-command": "command that starts the server, with {port} for its port and {redline} for this program",
		"server-port":    "port for it (default: a free one)",
		"ready-timeout":  "longest time for the server to become ready (default: 10m)",
		"tolerance":      "relative difference between A and B that does not matter (default: 0.05)",
		"json":           "print all starts as JSON and nothing else",
	})
	var o startup.Options
	c.Flags().StringVar(&o.Against, "against", "", "command of B, which is compared with A")
	c.Flags().IntVar(&o.Starts, "starts", startup.DefaultStarts, "number of starts of each")
	c.Flags().StringArrayVar(&o.Cold, "cold", nil, "file or directory to drop from the page cache before each start; may be given several times")
	c.Flags().StringVar(&o.Stop, "stop-command", "", "command that takes a server elsewhere down, and returns when it is gone")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := p.resolve(config.Input{Command: "startup", Flags: flags(), LookupEnv: p.lookupEnv})
		if err != nil {
			return err
		}
		o.Server = cfg.Server.Spec
		elsewhere := len(cfg.Provider.URLs) > 0
		other := o.Server
		other.Command = o.Against
		switch {
		case o.Starts < 1 || o.Starts > 1000:
			return usage("--starts: must be 1 to 1,000, got %d", o.Starts)
		case len(cfg.Provider.URLs) > 1:
			return usage("--url: expected one server, got %d", len(cfg.Provider.URLs))
		case elsewhere && o.Stop == "":
			return usage("--stop-command: is missing: a server elsewhere has to be taken down before each start")
		case !elsewhere && o.Stop != "":
			return usage("--stop-command: is for a server elsewhere (--url); one that is launched here is stopped by redline")
		case o.Against != "" && o.Starts < 2:
			return usage("--starts: a comparison needs 2 or more, got %d", o.Starts)
		}
		if err := other.Validate(elsewhere); o.Against != "" && err != nil {
			return usage("--against: %v", err)
		}
		for flag, spec := range map[string]launch.Spec{"server-command": o.Server, "against": other} {
			if names := spec.Placeholders(); len(names) > 0 {
				return usage("--%s: {%s} has no value here; only {port} and {redline} have", flag, names[0])
			}
		}
		for _, path := range o.Cold {
			if _, err := os.Stat(path); err != nil {
				return usage("--cold: %s: %v", path, errors.Unwrap(err))
			}
		}
		return p.measureStartup(c.Context(), cfg, o)
	}
	return c
}

func (p *process) measureStartup(ctx context.Context, cfg *config.Config, o startup.Options) error {
	ctx, cancel := p.stoppable(ctx)
	defer cancel()
	o.Target, o.Tolerance, o.Hide = cfg.Provider, cfg.Experiment.Tolerance, cfg.Mask()
	o.Target.Secrets = cfg.Secrets()
	if !cfg.Output.Quiet && !cfg.Output.JSON {
		o.Say = func(format string, args ...any) { p.tell("redline startup: " + fmt.Sprintf(format, args...)) }
	}
	found, err := startup.Run(ctx, o)
	if err != nil {
		return err
	}
	err = p.answer(cfg.Output.JSON, found, listing.Startup(found))
	switch c := found.Comparison; {
	case err != nil:
		return err
	case found.Interrupted:
		return &exitCodeError{code: exitInterrupted}
	case c == nil:
		return nil
	case c.Standing == slo.Worse, c.Standing == slo.Mixed:
		return &exitCodeError{code: exitRegression}
	case c.Standing == slo.Undecided:
		return &exitCodeError{code: exitUndecided}
	}
	return nil
}
