package main

import (
	"github.com/spf13/cobra"

	"redline/internal/answer/protocol"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
)

const benchHelp = `Run the whole benchmark protocol and report whether the server is good enough.

Stages: preflight; a single request; warm-up; fixed shapes that isolate prefill
and decode; cold and warm prefix; deterministic and production sampling; the
production mix; the search for the limit, with its sustained run; then, at the
limit: bursts, 1.5 times the limit, and one tenant with most of the traffic,
compared with what the other tenants see without it.

Say in advance what is good enough (--accept); the last line answers it. By
default the objectives are those of chat and the workload is a mix. The plan's
variants repeat everything for several engines or servers.

Results are kept stage by stage. After a kill or Ctrl-C, resume with
redline bench --resume DIR. --scale 0.1 takes a tenth of the time; its results
are exploratory.

Exit code: 0 good enough, or a limit if nothing was asked for, 3 not good
enough, 5 invalid, 6 too close to call, 130 interrupted.`

const benchExamples = `  redline bench --scale 0.05
  redline bench --url http://localhost:8000 --slo chat --accept 'limit>1'
  redline bench --url http://localhost:8000 --workload mix --slo mlperf:llama2-70b-interactive
  redline bench --plan variants.yaml
  redline bench --resume runs/20260101-120000`

func (p *process) benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", SuggestFor: []string{"benchmark", "protocol", "all"}, Short: "run the whole protocol: is it good enough, and up to what load", Long: benchHelp,
		Example: benchExamples, Args: noArguments}
	return p.experimentCommand(c, "run", map[string]string{"rate": "requests per second of the production mix (default: that of four concurrent users)"},
		protocol.Defaults, experiment.Bench)
}

// experimentCommand is a command that runs an experiment of several stages, and resumes
// one that was cut short. prepare completes its plan, nil for nothing to complete.
func (p *process) experimentCommand(c *cobra.Command, resumes string, words map[string]string, prepare func(*config.Config) (*config.Config, error), run experimentFunc) *cobra.Command {
	flags := addOptions(c, takenBy(c), words)
	resume := c.Flags().String("resume", "", "directory of an interrupted "+resumes+" to resume")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := p.experimentPlan(c.Name(), flags(), *resume)
		if err != nil {
			return err
		}
		if prepare != nil {
			if cfg, err = prepare(cfg); err != nil {
				return usage("%v", err)
			}
		}
		return p.conduct(c.Context(), cfg, *resume, c.Name(), run)
	}
	return c
}
