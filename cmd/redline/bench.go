package main

import (
	"github.com/spf13/cobra"

	"redline/internal/plan/config"
	"redline/internal/run/experiment"
)

const benchHelp = `Go through the whole protocol of a benchmark and answer whether the server is
good enough.

Preflight, one request looked at alone, warm-up, fixed shapes that isolate
prefill and decode, a cold and a warm prefix, deterministic and product settings
of generation, the production mix, the search for the limit with its sustained
run; then, at the limit, bursts, half as much again, and a tenant who takes most
of it, with what the others see beside it and without it.

Say beforehand what would be good enough (--accept), and it is answered at the
end. The objectives are those of chat, and the workload is a mix, unless given.
The plan's variants repeat everything over several engines or servers.

What was measured is kept stage by stage: after a kill or Ctrl-C,
redline bench --resume DIR goes on. --scale 0.1 tries the way in a tenth of the
time; what comes of it are probes.

Exit code: 0 good enough, or a limit where nothing was asked for, 3 not good
enough, 5 invalid, 6 too close to call, 130 interrupted.`

const benchExamples = `  redline bench --scale 0.05
  redline bench --url http://localhost:8000 --slo chat --accept 'limit>20'
  redline bench --url http://localhost:8000 --workload mix --slo mlperf:llama2-70b-interactive
  redline bench --plan variants.yaml
  redline bench --resume runs/20260101-120000`

func (p *process) benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", SuggestFor: []string{"benchmark", "protocol", "all"}, Short: "run the whole protocol: is it good enough, and up to what load", Long: benchHelp,
		Example: benchExamples, Args: noArguments}
	return p.protocolCommand(c, []string{"profile", "limit", "concurrency", "requests", "duration", "rates", "concurrencies",
		"find-limit", "repeat", "rounds", "tolerance", "toggle", "on-url", "off-url", "generation"},
		map[string]string{"rate": "requests per second of the production mix (default: what four users at once make)"},
		experiment.BenchDefaults, experiment.Bench)
}

// protocolCommand is a command that runs an experiment of known stages, and goes
// on with one that was cut short.
func (p *process) protocolCommand(c *cobra.Command, not []string, words map[string]string,
	prepare func(*config.Config) (*config.Config, error), run conducted) *cobra.Command {
	flags := addOptions(c, except(not...), words)
	var resume string
	c.Flags().StringVar(&resume, "resume", "", "directory of one that was cut short, to go on with")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := p.experimentPlan(c.Name(), flags(), resume)
		if err != nil {
			return err
		}
		if cfg, err = prepare(cfg); err != nil {
			return usage("%v", err)
		}
		return p.conduct(c.Context(), cfg, resume, c.Name(), run)
	}
	return c
}
