package main

import (
	"context"

	"github.com/spf13/cobra"

	"redline/internal/judge/result"
	"redline/internal/run/experiment"
)

const matrixHelp = `Run rows that change one thing at a time, each with a hypothesis, a question and
an expectation, and compare the outcome with the expectation.

Eight rows are built in: A short chat, B long prefill, C long decode, D both
long with eight users (and D-single with one), E a warm shared prefix (and
E-cold), and F the plan's own workload and rate. Each differs in one thing from
the row it is compared with. The plan's experiment.rows replace them.

With --toggle, measure optimizations instead: each with and without, everything
else equal, with the same requests. The tables show p50 and p95 of both by
prompt length, and from which prompt length the optimization pays or hurts, with
its interval. The embedded engine is switched by redline; for any other server,
--on-url and --off-url name two instances.

Results are kept row by row. Resume with redline matrix --resume DIR.

Exit code: 0 measured, 3 the row with the objectives misses them, 5 invalid,
6 too close to call, 130 interrupted.`

const matrixExamples = `  redline matrix --scale 0.1
  redline matrix --url http://localhost:8000 --workload mix --rate 4
  redline matrix --toggle all --rate 8
  redline matrix --plan rows.yaml
  redline matrix --toggle prefix_caching --on-url http://a:8000 --off-url http://b:8000 --workload shared_rag --rate 2`

// experimentFunc is an experiment.
type experimentFunc = func(context.Context, experiment.Options) (*result.Result, string, error)

func (p *process) matrixCommand() *cobra.Command {
	c := &cobra.Command{Use: "matrix", Short: "change one thing at a time and compare the outcome with what was expected", Long: matrixHelp,
		Example: matrixExamples, Args: noArguments}
	return p.experimentCommand(c, "run", map[string]string{"rate": "requests per second of the rows that have the plan's load, and of --toggle (default: 10)",
		"duration": "with --toggle: length of each run's measured window (default: 30s, 1m with --rounds)",
		"requests": "with --toggle: requests to measure in each run", "rounds": "with --toggle: runs of each side (default: up to 4 of 30s, as many as decide it)"},
		nil, experiment.Matrix)
}
