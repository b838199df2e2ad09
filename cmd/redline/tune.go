package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"redline/internal/judge/result"
	"redline/internal/run/experiment"
	"redline/internal/show/report"
)

const tuneHelp = `Start the server with one setting changed at a time, keep what is better, and
record what was decided and why.

The command that starts the server is a template: {port} is the port to serve
on; {max_num_seqs} or any other name is a knob. Each knob has a present value
and values to try. Before anything starts, redline says what each value should
do and what it risks. The baseline is measured first, more than once. Then one
value at a time is tried on a fresh server and kept if it is better. At the end
winner and baseline run interleaved. A value with which the server does not
start, or crashes, is rejected with the end of its log.

redline starts the server, waits until it is ready (--ready) and stops it, also
if redline itself is killed. The server's log is kept with each run.

Results are kept run by run. After a kill or Ctrl-C, resume with
redline tune --resume DIR. decision.md in that directory is the record.

Exit code: 0 decided, 3 the winner misses the objectives, 5 invalid,
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
	return p.experimentCommand(c, "tuning", map[string]string{
		"duration":  "length of each measured window (default: 1m)",
		"repeat":    "baseline runs, to measure the variation between runs (default: 2)",
		"rounds":    "interleaved rounds of winner and baseline (default: 8)",
		"budget":    "wall-clock time for everything; values that do not fit are not tried (default: no limit)",
		"tolerance": "relative difference that does not matter (default: 0.05)",
	}, nil, experiment.Tune)
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
