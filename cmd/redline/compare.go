package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/answer/compare"
	"redline/internal/drive/client"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/gather"
)

const compareHelp = `Report whether B is worse than A.

Stored: two run directories, or sets of them separated by commas. For single
runs a difference counts only if it exceeds what parts of the runs differ by and
the usual variation between such runs (--history), or --tolerance; the two are
equal only if the same evidence bounds the difference. A figure that a failed
check touches is not judged; the others are.

Live: two URLs. Both get the same requests in the same order at the same rate,
interleaved, in up to ten rounds, which take about 14 minutes; fewer where these
decide it, at the same rate of errors. --rounds runs as many as it says. Every
metric is tested on the differences within rounds, corrected for the number of
metrics. B is worse only if the difference also exceeds --tolerance. An invalid
round is repeated once, then left out; the comparison is invalid if fewer than
half of the rounds count.

Exit code: 0 nothing is worse, 3 B misses the objectives (--slo), 4 B is worse,
5 not comparable or invalid, 6 too close to call, 130 interrupted.`

const compareExamples = `  redline compare runs/monday runs/tuesday
  redline compare runs/a1,runs/a2,runs/a3 runs/b1,runs/b2,runs/b3
  redline compare runs/monday runs/tuesday --history runs/w1 --history runs/w2
  redline compare http://old:8000 http://new:8000 --rate 5 --rounds 10
  redline compare http://old:8000 http://new:8000 --rate 5 --workload azure.csv --duration 60s
  redline compare --resume runs/20260101-120000`

func (p *process) compareCommand() *cobra.Command {
	c := &cobra.Command{Use: "compare A B", SuggestFor: []string{"diff", "ab", "regression"}, Short: "report whether B is worse than A: two runs, or two servers, interleaved",
		Long: compareHelp, Example: compareExamples, Args: cobra.ArbitraryArgs}
	flags := addOptions(c, takenBy(c), map[string]string{"duration": "length of each side's window in a round (default: 30s)"})
	var history []string
	var resume string
	c.Flags().StringArrayVar(&history, "history", nil, "earlier run of the same kind; may be given several times")
	c.Flags().StringVar(&resume, "resume", "", "directory of an interrupted live comparison to resume")
	p.addReports(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if resume != "" {
			if len(args) > 0 {
				return usage("--resume uses the two servers in %s: leave out %s", resume, args[0])
			}
			return p.resumeComparison(c.Context(), flags(), resume)
		}
		if len(args) != 2 {
			return usage("redline compare needs two runs or two URLs, got %d; redline compare --help shows examples", len(args))
		}
		if isURL(args[0]) != isURL(args[1]) {
			return usage("expected two run directories or two URLs, got one of each")
		}
		if isURL(args[0]) {
			if c.Flags().Changed("history") {
				return usage("--history: is for stored runs, but two servers are compared: leave it out")
			}
			return p.compareLive(c.Context(), args, flags())
		}
		return p.compareStored(args, flags(), history)
	}
	return c
}

func isURL(s string) bool {
	if _, err := os.Stat(s); err != nil {
		s = client.Address(s)
	}
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "unix:")
}

// compareStored judges runs that were made before.
func (p *process) compareStored(args []string, given map[string][]string, history []string) error {
	for _, flag := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains([]string{"tolerance", "anyway", "json", "quiet", "explain", "fail-on"}, flag) {
			return usage("--%s: is for two servers, but two stored runs are compared: leave it out", flag)
		}
	}
	cfg, err := configFromFlags(given)
	if err != nil {
		return err
	}
	p.failOn = cfg.Output.FailOn
	a, err := gather.Runs(args[0])
	if err != nil {
		return err
	}
	b, err := gather.Runs(args[1])
	if err != nil {
		return err
	}
	o := compare.Options{Tolerance: cfg.Experiment.Tolerance, Anyway: cfg.Experiment.Anyway, Seed: 1}
	for _, path := range history {
		earlier, err := gather.Runs(path)
		if err != nil {
			return err
		}
		o.History = append(o.History, earlier...)
	}
	if len(a) == 1 && len(b) == 1 {
		if o.JobsA, err = gather.JobsToPair(a[0]); err == nil {
			o.JobsB, err = gather.JobsToPair(b[0])
		}
		if err != nil {
			return err
		}
	}
	c, err := compare.Runs(a, b, o)
	var not *compare.Incomparable
	switch {
	case errors.As(err, &not):
		return &exitCodeError{exitInvalid, fmt.Errorf("%w; add --anyway to compare them all the same", err)}
	case err != nil:
		return err
	}
	res := c.Result(b[len(b)-1])
	if err := p.show(res, cfg.Output.JSON, cfg.Output.Explain); err != nil {
		return err
	}
	return comparisonEnding(res.Comparison)
}

// resumeComparison resumes a live comparison by the two plans that it left.
func (p *process) resumeComparison(ctx context.Context, given map[string][]string, resume string) error {
	a, err := p.experimentPlan("compare", given, resume)
	if err != nil {
		return err
	}
	plan, err := experiment.ReopenSecond(resume)
	if err != nil {
		return err
	}
	b, err := p.resumedPlan(plan, given, resume)
	if err != nil {
		return err
	}
	return p.compareServers(ctx, a, b, resume)
}

// compareLive measures two servers in alternating stages.
func (p *process) compareLive(ctx context.Context, urls []string, given map[string][]string) error {
	plans := make([]*config.Config, len(urls))
	for i, url := range urls {
		flags := map[string][]string{"url": {url}}
		for name, values := range given {
			flags[name] = values
		}
		cfg, err := p.resolve(config.Input{Command: "compare", Flags: flags, LookupEnv: p.lookupEnv})
		if err != nil {
			return err
		}
		plans[i] = cfg
	}
	return p.compareServers(ctx, plans[0], plans[1], "")
}

// compareServers conducts a live comparison. Both plans stand in one document,
// so neither may show what the other hides.
func (p *process) compareServers(ctx context.Context, a, b *config.Config, resume string) error {
	hidden := a.Secrets()
	a.Hide(b.Secrets())
	b.Hide(hidden)
	p.sides = [2]string{targetName(a), targetName(b)}
	return p.conduct(ctx, a, resume, "compare", func(ctx context.Context, o experiment.Options) (*result.Result, string, error) {
		return experiment.Compare(ctx, o, b)
	})
}

// comparisonEnding is how the process ends with a comparison of stored runs.
func comparisonEnding(c *result.Comparison) error {
	switch {
	case len(c.Invalid) > 0:
		return &exitCodeError{exitInvalid, nil}
	case hasRegressed(c):
		return &exitCodeError{exitRegression, nil}
	case c.Standing == slo.Undecided:
		return &exitCodeError{exitUndecided, nil}
	}
	return nil
}
