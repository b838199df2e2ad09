package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/plan/config"
	"redline/internal/show/document"
	"redline/internal/text"
	"redline/internal/twin/faults"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

const simHelp = `Serve a simulated engine: a continuous-batching scheduler like vLLM's over a
step-time model of a real accelerator. It speaks every API that redline does
(docs/reference/DIALECTS.md) and serves vLLM's /metrics, or with
--metrics-style the metrics and pages of another engine
(docs/reference/ENGINES.md).

--pace sends tokens at exact intervals, whatever the load. --truth writes the
true time of every output event to a file, one line per request as soon as its
reply ends, so that the error of any client can be measured; it includes
requests that a client sends before its load.

--replicas serves several engines behind a gateway, --prefill and --decode two
pools of them. The head of a reply then names the engine that served it
(X-Gateway-Destination-Endpoint-Served; X-Prefiller-Host-Port for that of the
prompt) and where the time to the first token went (Server-Timing), and comes
with that token.

--fault, which may be given several times, injects a fault:
`

const simExamples = `  redline sim --listen 127.0.0.1:8000
  redline sim --model llama-3.1-70b --gpu H100 --tp 4 --max-num-seqs 256
  redline sim --listen 127.0.0.1:8000 --pace 20ms --truth truth.jsonl
  redline sim --fault reset:2% --fault '429(2s):#5' --fault 'stall(3s):10%'
  redline sim --metrics-style sglang
  redline sim --golden builtin --answer-error 0.1 --answer-error-under-load 0.3
  redline sim --restart-after 30s
  redline sim --start-up 'import 1s, open, weights 4s, compile 2s'
  redline sim --net-delay 40ms --mbu 0.3 --cold-start 20s  # far, slow, cold
  redline sim --rate-limit 5 --num-gpu-blocks-override 500  # limited
  redline sim --speculative-tokens 4 --speculative-acceptance 0.8
  redline sim --replicas 4 --router prefix --gateway-delay 3ms --slow-replica 2:1.5
  redline sim --prefill 2 --decode 2 --kv-transfer-rate 50`

func (p *process) simCommand() *cobra.Command {
	c := &cobra.Command{Use: "sim", SuggestFor: []string{"serve", "server", "mock", "simulate", "engine"}, Short: "serve a simulated engine", Long: simHelp + faultHelp(), Example: simExamples, Args: noArguments}
	flags := addOptions(c, selectOptions(config.EngineGroup, "model", "catalog", "seed", "golden"), map[string]string{
		"model":   "model to simulate, one of the catalog's (default: " + sim.DefaultModel + ")",
		"catalog": "file of further models and accelerators, or a model's config.json",
		"seed":    "seed of the engine's noise and of the words of its answers",
		"golden":  "golden set whose questions it answers correctly: a file of JSON Lines, or builtin; see --answer-error",
	})
	o := simserver.ServeOptions{Version: version}
	var truth, startUp string
	c.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:8000", "address to serve on")
	c.Flags().StringVar(&truth, "truth", "", "file for the true time of every output event")
	c.Flags().DurationVar(&o.Pace, "pace", 0, "send tokens at exactly this interval, whatever the load")
	c.Flags().BoolVar(&o.TLS, "tls", false, "serve https with a self-signed certificate")
	c.Flags().StringVar(&o.MetricsStyle, "metrics-style", simserver.DefaultStyle,
		"engine whose metrics and pages to imitate: "+strings.Join(simserver.StyleNames(), ", "))
	c.Flags().DurationVar(&o.RestartAfter, "restart-after", 0,
		"restart once after this time: cut every connection and come back a second later with counters at zero")
	c.Flags().StringVar(&startUp, "start-up", "",
		"phases before it answers, such as 'import 1s, open, weights 2s, compile 1s': at open the port accepts connections (default: at once)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := p.resolve(config.Input{Flags: flags(), LookupEnv: p.lookupEnv})
		if err != nil {
			return err
		}
		given := c.Flags().Changed
		switch {
		case given("pace") && o.Pace <= 0:
			return usage("--pace: expected a positive time such as 20ms, got %v", o.Pace)
		case given("restart-after") && o.RestartAfter <= 0:
			return usage("--restart-after: expected a positive time such as 30s, got %v", o.RestartAfter)
		case given("truth") && truth == "":
			return usage("--truth: has no value: leave it out to write none")
		case simserver.CheckStyle(o.MetricsStyle) != nil:
			return usage("--metrics-style: %v", simserver.CheckStyle(o.MetricsStyle))
		case o.Listen == "":
			return usage("--listen: expected an address such as 127.0.0.1:8000")
		}
		if given("start-up") {
			closed, loading, err := simserver.ParseStartUp(startUp)
			if err != nil {
				return usage("--start-up: %v", err)
			}
			if !p.startUp(c.Context(), closed) {
				return nil
			}
			for _, phase := range loading {
				o.Loading += phase.Lasts
			}
			go p.startUp(c.Context(), loading)
		}
		spec := cfg.Server.Sim
		spec.Seed = cfg.Seed
		return p.serve(c.Context(), spec, o, truth)
	}
	return c
}

// startUp goes through phases of a simulated start, a line in the log for each, and
// reports whether nobody interrupted it.
func (p *process) startUp(ctx context.Context, phases []simserver.StartPhase) bool {
	for _, phase := range phases {
		select {
		case <-time.After(phase.Lasts):
			fmt.Fprintln(p.stderr, "redline sim:", phase)
		case <-p.stop:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// faultHelp lists the faults, each with the time that it takes by default.
func faultHelp() string {
	var b strings.Builder
	for _, k := range faults.Kinds {
		name := k.Name
		if k.Usual != 0 {
			name += "(" + k.Usual.String() + ")"
		}
		for i, line := range document.Wrap(k.Help, 62) {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(&b, "  %-14s %s\n", name, line)
		}
	}
	return b.String()
}

// serve runs the engine until it is interrupted.
func (p *process) serve(ctx context.Context, spec sim.Spec, o simserver.ServeOptions, truth string) (err error) {
	var file *os.File
	if truth != "" {
		if file, err = os.OpenFile(truth, os.O_WRONLY|os.O_CREATE, 0o644); err != nil {
			return fmt.Errorf("--truth: %w", err)
		}
		defer func() { err = cmp.Or(err, file.Close()) }()
		o.Truth = file
	}
	running, err := simserver.Start(ctx, spec, o)
	if err != nil {
		return err
	}
	if truth != "" {
		// Only now is it sure that no other engine is writing to it. What is
		// no plain file cannot be emptied and need not be.
		_ = file.Truncate(0)
	}
	fmt.Fprintf(p.stderr, "redline sim: serving at %s (Ctrl-C to stop)\n", running.URL())
	ended := make(chan struct{})
	go func() {
		_ = running.Wait() // Close gives its error again
		close(ended)
	}()
	select {
	case <-p.stop:
	case <-ctx.Done():
	case <-ended:
	}
	err = running.Close()
	if late := running.Lateness(); late.Steps > 0 {
		fmt.Fprintf(p.stderr, "redline sim: its own steps were late by %s at p99, %s at most: so much of what a client measured is the simulator's\n",
			text.Time(late.P99.Seconds()*1e3), text.Time(late.Max.Seconds()*1e3))
	}
	return err
}
