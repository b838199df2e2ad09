package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/consistency"
	"redline/internal/show/listing"
)

const consistencyHelp = `Find out whether a server's replies depend on what else it does.

The same prompts are asked greedily (temperature 0): alone, alone again, on a
hit of the prefix cache, in a full batch, with --preempt beside long requests
until the engine preempts, and with --other from another replica or from a
server with a feature on, such as speculation. For each condition it counts the
replies that differ from the one alone, and judges them against those by which
alone differs from itself, pair by pair (exact test, corrected for the number of
conditions). A server whose replies depend on nothing is accused in 2% of runs
at most.

Every reply is searched for garbage: empty, looping, characters cut in the
middle, and the label of another request: each prompt has one of its own.

Exit code: 0 no condition changes replies, 1 the server does not answer, 3 one
does, a reply has another request's label, or half of them are garbage, 6 one is
too close to call, or too few were answered under it, 130 interrupted.`

const consistencyExamples = `  redline consistency --url http://localhost:8000
  redline consistency --url http://localhost:8000 --prompts 500 --tokens 128 --batch 64
  redline consistency --url http://a:8000 --other replica=http://b:8000
  redline consistency --url http://old:8000 --other speculation=http://new:8000 --json`

func (p *process) consistencyCommand() *cobra.Command {
	c := &cobra.Command{Use: "consistency", SuggestFor: []string{"determinism", "lie", "answers"},
		Short: "find out whether replies change under load, by the cache or by replica", Long: consistencyHelp, Example: consistencyExamples, Args: noArguments}
	flags := addOptions(c, func(o *config.Option) bool {
		switch o.Flag {
		case "seed", "json", "quiet":
			return true
		}
		return o.Group == config.TargetGroup && !strings.HasPrefix(o.Key, "telemetry.")
	}, map[string]string{
		"url":  "server to ask",
		"seed": "seed of the prompts (default: a new one)",
		"json": "print all of it as JSON and nothing else",
	})
	var o consistency.Options
	var others []string
	c.Flags().IntVar(&o.Prompts, "prompts", consistency.DefaultPrompts, "number of prompts")
	c.Flags().IntVar(&o.Tokens, "tokens", consistency.DefaultTokens, "longest reply, in tokens")
	c.Flags().IntVar(&o.Batch, "batch", consistency.DefaultBatch, "requests in flight in a full batch")
	c.Flags().IntVar(&o.Preempt, "preempt", 0, "long requests to send along so that the engine preempts others (default: none, the condition is not tried)")
	c.Flags().StringArrayVar(&others, "other", nil, "NAME=URL of a server that should answer alike, asked alone; may be given several times")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := p.resolve(config.Input{Command: "consistency", Flags: flags(), LookupEnv: p.lookupEnv, Seed: rand.Uint64() >> 11})
		if err != nil {
			return err
		}
		if len(cfg.Provider.URLs) != 1 {
			return usage("--url: expected one server, got %d; redline sim serves one to try", len(cfg.Provider.URLs))
		}
		if d, err := cfg.Provider.Dialect(); err != nil {
			return err
		} else if d.Items != nil {
			return usage("--api: the replies of %s have no text to compare; name an API that generates some, such as openai-chat", d.Name)
		}
		for _, f := range []struct {
			name            string
			value, min, max int
		}{{"prompts", o.Prompts, 10, 100_000}, {"tokens", o.Tokens, 1, 100_000}, {"batch", o.Batch, 2, 10_000}, {"preempt", o.Preempt, 0, 10_000}} {
			if f.value < f.min || f.value > f.max {
				return usage("--%s: must be %d to %d, got %d", f.name, f.min, f.max, f.value)
			}
		}
		if o.Others, err = parseOthers(others); err != nil {
			return err
		}
		o.Seed = cfg.Seed
		return p.checkConsistency(c.Context(), cfg, o)
	}
	return c
}

func parseOthers(texts []string) (list []consistency.Other, err error) {
	for _, text := range texts {
		name, at, named := strings.Cut(text, "=")
		if !named {
			name, at = text, text
		}
		if u, err := url.Parse(at); err != nil || u.Host == "" || name == "" {
			return nil, usage("--other: expected a name and a URL such as replica=http://b:8000, got %q", text)
		}
		list = append(list, consistency.Other{Name: name, URL: at})
	}
	return list, nil
}

func (p *process) checkConsistency(ctx context.Context, cfg *config.Config, o consistency.Options) error {
	ctx, cancel := p.stoppable(ctx)
	defer cancel()
	o.Target = cfg.Provider
	o.Target.Secrets = cfg.Secrets()
	if !cfg.Output.Quiet && !cfg.Output.JSON {
		o.Say = func(format string, args ...any) { p.tell("redline consistency: " + fmt.Sprintf(format, args...)) }
	}
	found, err := consistency.Run(ctx, o)
	if err != nil {
		return err
	}
	p.mask.Tidy(found)
	if err := p.answer(cfg.Output.JSON, found, listing.Consistency(found)); err != nil {
		return err
	}
	switch {
	case found.Interrupted:
		return &exitCodeError{code: exitInterrupted}
	case found.Standing == slo.Worse:
		return &exitCodeError{code: exitMissed}
	case found.Standing == slo.Undecided:
		return &exitCodeError{code: exitUndecided}
	}
	return nil
}
