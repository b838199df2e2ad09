package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/config"
	"redline/internal/measure"
	"redline/internal/metric"
	"redline/internal/report"
	"redline/internal/result"
)

const runHelp = `Offer one load and report what the server made of it.

Without --url the target is the embedded engine: a simulated vLLM with
Llama 3.1 8B on an H100. A plan file (--plan) holds the same settings as the
flags; flags and REDLINE_… variables override it.

Exit code: 0 ok, 1 error, 2 usage, 3 objectives missed, 5 run invalid,
6 undecided, 130 interrupted (results kept).`

const runExamples = `  redline run
  redline run --url http://localhost:8000 --rate 5 --duration 60s --slo 'ttft:p99<500ms'
  redline run --url http://localhost:8000 --concurrency 32 --requests 500 --workload summarization
  redline run --url https://api.openai.com --model gpt-4o-mini --rate 1 --requests 100 --max-tokens-total 200000
  redline run --plan benchmark.yaml --json > result.json`

func (p *process) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "run",
		Short:   "offer one load and report what the server made of it",
		Long:    runHelp,
		Example: runExamples,
		Args:    noArguments,
	}
	flags := addOptions(c, func(*config.Option) bool { return true })
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := config.Resolve(config.Input{Flags: flags(), LookupEnv: p.lookupEnv, Seed: rand.Uint64() >> 11})
		if err != nil {
			return err
		}
		return p.measure(c.Context(), cfg)
	}
	return c
}

// measure runs one load and shows its result.
func (p *process) measure(ctx context.Context, cfg *config.Config) error {
	live := report.NewLiveLine(p.stderr, report.LiveOptions{Terminal: p.terminal, Width: p.width,
		Window: cfg.Load.Bounds.Duration})
	options := measure.Options{Config: cfg, Version: version, Command: p.commandLine(cfg), Stop: p.stop,
		Say: func(format string, args ...any) { live.Say("redline: " + fmt.Sprintf(format, args...)) }}
	if !cfg.Output.Quiet {
		options.Live = func(s metric.Snapshot) { live.Show(s) }
	}
	if cfg.Output.Verbose {
		options.Trace = p.stderr
	}
	ended := make(chan struct{})
	go p.explainStop(live, ended)
	res, path, err := measure.Run(ctx, options)
	close(ended)
	live.Finish()
	if res == nil {
		if err != nil && path != "" {
			err = fmt.Errorf("%w; what was recorded is in %s", err, path)
		}
		return err
	}
	if err := p.show(res, cfg.Output.JSON, cfg.Output.Explain); err != nil {
		return err
	}
	if !cfg.Output.JSON {
		fmt.Fprintf(p.stdout, "\nKept in %s\n", filepath.ToSlash(path))
	}
	if err != nil {
		return err
	}
	return verdict(res)
}

// explainStop answers the first interrupt, so that a user knows what goes on.
func (p *process) explainStop(live *report.LiveLine, ended <-chan struct{}) {
	select {
	case <-p.stop:
		live.Say("redline: stopping: waiting a moment for requests in flight; Ctrl-C again stops at once")
	case <-ended:
	}
}

// show writes a result to stdout.
func (p *process) show(res *result.Result, asJSON, explain bool) error {
	if asJSON {
		return report.JSON(p.stdout, res)
	}
	return report.Terminal(p.stdout, res, report.TerminalOptions{Color: p.colour, Explain: explain})
}

// verdict turns what a result means into how the process ends.
func verdict(res *result.Result) error {
	code := resultCode(res)
	switch code {
	case exitOK:
		return nil
	case exitError:
		return &coded{exitError, errors.New("no request succeeded")}
	}
	return &coded{code, nil}
}

// commandLine is the command as it was given, for the record.
func (p *process) commandLine(cfg *config.Config) string {
	words := []string{"redline"}
	for _, a := range p.args {
		for _, secret := range cfg.Secrets() {
			a = strings.ReplaceAll(a, secret, "***")
		}
		if strings.ContainsAny(a, " '\"(){}<>|&$*?") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
