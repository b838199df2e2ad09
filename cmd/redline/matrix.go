package main

import (
	"context"

	"github.com/spf13/cobra"

	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
)

const matrixHelp = `Run one row after another, each with its hypothesis, its question and what is
expected of it, and hold the outcome against that.

Built in are eight rows: A short chat, B long prefill, C long decode, D both long
and shared by eight (with D-single, alone), E a warm shared prefix (with E-cold),
and F the plan's own workload and rate. Each differs in one thing from the row
that it is held against. The plan's experiment.rows take their place.

With --toggle it measures optimizations instead, each with and without and all
else equal, under the same requests: the p95 of both by prompt length, and the
prompt length from which on it pays or hurts, with its interval. The embedded
engine is switched; of any other, --on-url and --off-url name two servers.

What was measured is kept row by row: redline matrix --resume DIR goes on.

Exit code: 0 measured, 3 the row that asks for the objectives misses them,
5 invalid, 6 too close to call, 130 interrupted.`

const matrixExamples = `  redline matrix --scale 0.1
  redline matrix --url http://localhost:8000 --workload mix --rate 4 --slo chat
  redline matrix --plan rows.yaml
  redline matrix --toggle all --rate 8
  redline matrix --toggle prefix_caching --on-url http://a:8000 --off-url http://b:8000 --workload shared_rag --rate 2`

// conducted is an experiment.
type conducted = func(context.Context, experiment.Options) (*result.Result, string, error)

func (p *process) matrixCommand() *cobra.Command {
	c := &cobra.Command{Use: "matrix", Short: "change one thing at a time and compare the outcome with what was expected", Long: matrixHelp,
		Example: matrixExamples, Args: noArguments}
	return p.protocolCommand(c, []string{"rates", "concurrencies", "find-limit", "sustained", "thorough",
		"budget", "start", "repeat", "accept"},
		map[string]string{"rate": "requests per second of the rows that have the plan's load, and of --toggle (default: 10)",
			"duration": "with --toggle: length of each run's measured window (default: 1m)",
			"requests": "with --toggle: requests to measure in each run", "rounds": "with --toggle: runs of each side (default: 2)"},
		func(cfg *config.Config) (*config.Config, error) { return cfg, nil }, experiment.Matrix)
}
