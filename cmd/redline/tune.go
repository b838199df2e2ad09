package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/show/report"
)

const tuneHelp = `Start the server with one setting after another changed, keep what is better, and
write down what was decided and why.

The command that starts the server is a template: {port} is where it has to
serve, {max_num_seqs} or any other name is a knob. Each knob has its present
value and others to try. The baseline is measured first, more than once; then one
value at a time takes the place of another, each on a fresh server, and stays if
it is better; at last winner and baseline take turns. A value with which the
server does not start, or does not last, is rejected with the end of its log.

The server is started, asked when it says that it is ready (--ready), and
stopped again, also when redline is killed. Its log is kept with each run.

What was measured is kept run by run: after a kill or Ctrl-C,
redline tune --resume DIR goes on. decision.md in that directory is the record.

Exit code: 0 decided, 3 the objectives are missed even so, 5 invalid,
6 too close to call, 130 interrupted.`

const tuneExamples = `  redline tune --plan tune.yaml --budget 1h
  redline tune --server-command 'vllm serve MODEL --port {port} --max-num-seqs {max_num_seqs}' \
    --knob max_num_seqs=256,64,128,512 --rate 4 --slo chat
  redline tune --server-command '{redline} sim --listen 127.0.0.1:{port} --max-num-seqs {n}' \
    --knob n=4,16,64 --rate 12 --workload 'fixed(100,60)' --duration 15s --rounds 3 --slo 'ttft:p95<300ms'
  redline tune --resume runs/20260101-120000`

func (p *process) tuneCommand() *cobra.Command {
	c := &cobra.Command{Use: "tune", SuggestFor: []string{"optimize", "knobs", "autotune"},
		Short: "try a server's settings one at a time and record the decision", Long: tuneHelp, Example: tuneExamples, Args: noArguments}
	not := []string{"url", "rates", "concurrencies", "find-limit", "sustained", "thorough", "start", "accept", "scale"}
	flags := addOptions(c, func(o *config.Option) bool {
		return o.Group == config.TuneGroup || o.Group != config.EngineGroup && except(not...)(o)
	}, map[string]string{
		"duration":  "length of each measured window (default: 1m)",
		"repeat":    "how often the baseline is measured, to see by how much runs differ anyway (default: 2)",
		"rounds":    "how often winner and baseline take turns (default: 8)",
		"budget":    "time for all of it: values that it leaves no room for are not tried (default: no limit)",
		"tolerance": "relative difference that does not matter (default: 0.05)",
	})
	var resume string
	c.Flags().StringVar(&resume, "resume", "", "directory of a tuning that was cut short, to go on with")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := p.experimentPlan(c.Name(), flags(), resume)
		if err != nil {
			return err
		}
		return p.conduct(c.Context(), cfg, resume, "tune", experiment.Tune)
	}
	return c
}

// decisionFile is the record of what a tuning decided.
const decisionFile = "decision.md"

// writeDecision puts the record of a tuning beside its result.
func writeDecision(dir string, res *result.Result) error {
	if res.Tuning == nil {
		return nil
	}
	path := filepath.Join(dir, decisionFile)
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(report.Decision(file, res), file.Close()); err != nil {
		return fmt.Errorf("%s could not be written: %w", path, err)
	}
	return nil
}
