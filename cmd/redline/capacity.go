package main

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"redline/internal/answer/capacity"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/show/document"
	"redline/internal/show/export"
	"redline/internal/show/report"
	"redline/internal/store"
	"redline/internal/traffic/workload"
	"redline/internal/twin/sim"
)

const capacityHelp = `Compute how many instances a load needs and what they cost, from measured runs.

The load: --rate, the peak in requests per second; or --users who --think
between requests; or --agents, live jobs at the peak; or --workload, whose
busiest minute counts. The limit of one instance comes from a run directory with
a limit (redline sweep --find-limit, of agents with --agents) or with objectives
that were met, or from --limit. Given several directories, the cheapest is
chosen. Instances = ceil(load × (1 + headroom) / limit), plus spares.

With --latency, the mean time of a request, it computes by Little's law how many
requests --rate (or --qps) keeps in flight: the --concurrency of a benchmark.

Prices come from the run's plan or the flags and are printed as assumptions.
docs/reference/CAPACITY.md has every formula.

--simulate tests the plan: engines fitted to the run (redline calibrate) in
virtual time under a day's traffic, or the run's jobs by that many agents, and
the same with one instance fewer. It has the routers of redline sim, pools that
prefill and decode (--pools finds their sizes), an autoscaler (--autoscale, and
what its --provisioning-delay costs) and instances that fail (--failures).

Exit code: 0 a plan, 1 the runs do not have the figures, 2 usage, 3 no number of
instances can meet the objectives, or the plan missed them in the simulation, 6
no run shows whether they are met.`

const capacityExamples = `  redline capacity runs/20261115-091500 --rate 100
  redline capacity runs/20261115-091500 --users 5000 --think 30s --spare 1
  redline capacity runs/20261115-091500 --workload azure.csv --price-per-gpu-hour 2.50
  redline capacity --agents 5000 --limit 42 --gpus-per-instance 8 --price-gpu H100
  redline capacity runs/h100 runs/l40s --rate 100 --headroom 0.3 --format markdown
  redline capacity runs/20261115-091500 --rate 100 --mean-rate 60 --spare 2 --simulate --failures 1
  redline capacity runs/20261115-091500 --rate 20 --simulate --pools
  redline capacity runs/20261115-091500 --rate 40 --simulate --autoscale 2..8 \
    --profile 'steps(10:5m,40:10m)' --provisioning-delay 3m
  redline capacity runs/20261115-091500 --rate 100 --format html -o capacity.html
  redline capacity --rate 100 --limit 22 --gpus-per-instance 8 --headroom 0.2 --json
  redline capacity --qps 120 --latency 2.5s`

// capacityFlags are what the command takes beside the options it shares.
type capacityFlags struct {
	users    int
	agents   int
	think    time.Duration
	latency  time.Duration
	meanRate float64
	headroom float64
	spare    int
	format   string
	simulate bool
	asked    map[string][]string
	runs     []string
	given    func(flag string) bool
	out      string

	pools             bool
	autoscale         string
	scaleTarget       float64
	provisioningDelay string
	failures          string
}

func (p *process) capacityCommand() *cobra.Command {
	c := &cobra.Command{Use: "capacity [RUN_DIR...]", Short: "compute instances, accelerators and cost for a load from measured runs",
		Long: capacityHelp, Example: capacityExamples, Args: cobra.ArbitraryArgs}
	flags := addOptions(c, selectOptions(config.CostGroup, "rate", "limit", "workload", "workload-format", "column", "skip-bad-rows", "sort", "speedup", "from", "for",
		"slo", "json", "engine", "profile", "router", "prefill", "decode", "kv-transfer-rate"), map[string]string{
		"rate":             "peak load in requests per second; also --qps",
		"limit":            "requests per second, or agents, that one instance can take, or the directory of the run that found the limit",
		"workload":         "trace or fitted workload whose busiest minute is the load",
		"slo":              "objectives to judge the recorded runs by, instead of their own",
		"json":             "print the plan as JSON and nothing else",
		"engine":           "engine for --simulate, as redline calibrate wrote it (default: fitted to the run)",
		"profile":          "rate over time for --simulate, such as 'diurnal(20..100,24h)' (default: a day with --mean-rate, else an hour at the peak)",
		"router":           "how --simulate routes requests: " + strings.Join(sim.Routers, ", ") + " (default: " + sim.LeastOutstanding + ")",
		"prefill":          "instances that only prefill, for --simulate; needs --decode",
		"decode":           "instances that only decode, for --simulate",
		"kv-transfer-rate": "GB/s at which the pools hand over the KV cache of a prompt, for --simulate (default: " + strconv.Itoa(sim.DefaultKVTransferRate) + ")",
	})
	var f capacityFlags
	c.Flags().IntVar(&f.users, "users", 0, "number of users; each sends a request, reads the answer, thinks, and sends the next")
	c.Flags().IntVar(&f.agents, "agents", 0, "number of live jobs of agents at the peak; the limit is a number of agents then")
	c.Flags().DurationVar(&f.think, "think", 0, "time between an answer and its user's next request")
	c.Flags().DurationVar(&f.latency, "latency", 0, "mean time of a request: compute the requests in flight under --rate by Little's law, from no run")
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "qps" {
			name = "rate"
		}
		return pflag.NormalizedName(name)
	})
	c.Flags().Float64Var(&f.meanRate, "mean-rate", 0, "average load if it differs from the peak; costs per request refer to it")
	c.Flags().Float64Var(&f.headroom, "headroom", capacity.DefaultHeadroom, "spare capacity as a share of the load")
	c.Flags().IntVar(&f.spare, "spare", 0, "spare instances; 1 is N+1 (default: 0)")
	c.Flags().BoolVar(&f.simulate, "simulate", false, "test the plan in virtual time with engines fitted to the run, and with one instance fewer")
	c.Flags().BoolVar(&f.pools, "pools", false, "have --simulate find the sizes of a pool that prefills and one that decodes")
	c.Flags().StringVar(&f.autoscale, "autoscale", "", "lowest and highest number of instances of an autoscaler for --simulate, such as 4..20")
	c.Flags().Float64Var(&f.scaleTarget, "scale-target", 0, "share of its limit that the autoscaler gives an instance (default: 1/(1 + headroom))")
	c.Flags().StringVar(&f.provisioningDelay, "provisioning-delay", "", "time until a new instance takes requests, or the file of redline startup --json (default: 2m)")
	c.Flags().StringVar(&f.failures, "failures", "", "instances that fail in --simulate and are replaced: 3 in the whole time, or 0.02/day each")
	c.Flags().StringVar(&f.format, "format", "terminal", "output format: terminal, json, markdown, html (with the report of the run)")
	c.Flags().StringVarP(&f.out, "output", "o", "", "output file (default: standard output)")
	c.RunE = func(c *cobra.Command, args []string) error {
		f.asked, f.runs, f.given = flags(), args, c.Flags().Changed
		return p.capacity(c, f)
	}
	return c
}

func (p *process) capacity(c *cobra.Command, f capacityFlags) error {
	cfg, err := configFromFlags(f.asked)
	if err != nil {
		return err
	}
	if f.format, err = formatOf(c, cfg.Output.JSON); err != nil {
		return err
	}
	if err := f.check(cfg, f.given("latency")); err != nil {
		return err
	}
	if f.given("latency") {
		return p.little(cfg.Load.Rate, f)
	}
	demand, err := p.demand(cfg, f)
	if err != nil {
		return err
	}
	if len(f.runs) > 1 { // as the shell writes out runs/*
		if f.runs = p.runsAmong(f.runs); len(f.runs) == 0 {
			return errors.New("none of these is the directory of a run; redline sweep --out DIR makes one")
		}
	}
	list, err := experiment.Configurations(f.runs, experiment.CapacityOptions{
		Limit: cfg.Load.Limit, Objectives: cfg.Objectives, Prices: cfg.Cost})
	if err != nil {
		return err
	}
	rehearse, err := p.rehearsal(cfg, f)
	if err != nil {
		return err
	}
	plan, err := capacity.Plan(c.Context(), demand, list, capacity.Options{Headroom: f.headroom, Spare: f.spare, Rehearse: rehearse})
	if err != nil {
		return capacityError(err)
	}
	if err := p.showCapacity(plan, list, f); err != nil {
		return err
	}
	if plan.Impossible != "" && plan.Limit.Basis == result.LimitUndecided {
		return &exitCodeError{exitUndecided, nil}
	}
	if plan.Impossible != "" || plan.Rehearsal != nil && !plan.Rehearsal.Planned.Met() {
		return &exitCodeError{exitMissed, nil}
	}
	return nil
}

// check refuses flags that do not go together.
func (f capacityFlags) check(cfg *config.Config, little bool) error {
	limited := len(f.asked["limit"]) > 0
	switch {
	case !slices.Contains(capacityFormats, f.format):
		return usage("--format %q is not known; expected one of %s", f.format, strings.Join(capacityFormats, ", "))
	case little:
		return nil
	case len(f.runs) == 0 && !limited:
		return usage("redline capacity needs the directory of a run, --limit, or --latency for the requests in flight; redline capacity --help shows examples")
	case limited && !(cfg.Load.Limit > 0):
		return usage("--limit: expected a load above 0, got %g", cfg.Load.Limit)
	}
	if err := cfg.Cost.Validate(); err != nil {
		return usage("cost.%v", err)
	}
	return nil
}

// runsAmong are the paths that are runs; of the others it says why they are not.
func (p *process) runsAmong(paths []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		what := ""
		if err == nil && !info.IsDir() {
			what = "it is a file, not a run directory"
		} else if _, err = store.Open(path); errors.Is(err, store.ErrNoRun) {
			what = "it holds no run"
		}
		if what != "" {
			fmt.Fprintf(p.stderr, "redline: skipping %s: %s\n", p.line(path), what)
		}
		return what != ""
	})
}

// little shows how many requests a rate keeps in flight.
func (p *process) little(rate float64, f capacityFlags) error {
	if len(f.runs) > 0 || len(f.asked["limit"]) > 0 || len(f.asked["rate"]) == 0 {
		return usage("--latency goes with --rate alone: of a run it is measured")
	}
	n, err := capacity.Little(rate, f.latency)
	if err != nil {
		return capacityError(err)
	}
	return p.deliver(func(out *bytes.Buffer) error {
		switch f.format {
		case "json":
			return export.WriteJSON(out, map[string]any{"concurrency": n})
		case "markdown":
			return document.Markdown(out, report.InFlight(n), 2)
		case "html":
			return usage("--format html shows the report of a run too: give its directory")
		}
		return document.Terminal(out, report.InFlight(n), p.screen(f.out != ""))
	}, f.out)
}

// demand is the load asked for, in the one way in which it was.
func (p *process) demand(cfg *config.Config, f capacityFlags) (capacity.Demand, error) {
	ways := 0
	for _, flag := range []string{"rate", "users", "agents", "workload"} {
		if f.given(flag) {
			ways++
		}
	}
	for _, flag := range []string{"workload-format", "column", "skip-bad-rows", "sort", "speedup", "from", "for"} {
		if f.given(flag) && !f.given("workload") {
			return capacity.Demand{}, usage("--%s goes with --workload", flag)
		}
	}
	switch {
	case ways == 0:
		return capacity.Demand{}, usage("give the load to carry: one of --rate, --users with --think, --agents and --workload")
	case ways > 1:
		return capacity.Demand{}, usage("give only one of --rate, --users with --think, --agents and --workload, got %d", ways)
	case f.given("mean-rate") && !(f.meanRate > 0):
		return capacity.Demand{}, usage("--mean-rate: expected a load above 0, got %g", f.meanRate)
	case f.given("agents"):
		if f.agents < 1 {
			return capacity.Demand{}, usage("--agents: expected a number above 0, got %d", f.agents)
		}
		return capacity.Demand{Agents: f.agents, Mean: f.meanRate}, nil
	case f.given("think") && f.users == 0:
		return capacity.Demand{}, usage("--think goes with --users")
	case f.given("users"):
		if f.users < 1 {
			return capacity.Demand{}, usage("--users: expected a number above 0, got %d", f.users)
		}
		return capacity.Demand{Users: f.users, Think: f.think, Mean: f.meanRate}, nil
	case f.given("workload"):
		return p.peakDemand(f)
	}
	return capacity.Demand{Rate: cfg.Load.Rate, Mean: f.meanRate}, nil
}

// peakDemand is the demand of a workload that says when its requests come.
func (p *process) peakDemand(f capacityFlags) (d capacity.Demand, err error) {
	err = p.withWorkload(f, func(name string, times iter.Seq[int64]) error {
		if d, err = capacity.Busiest(name, times); err != nil {
			return usage("--workload: %v", err)
		}
		return nil
	})
	if f.given("mean-rate") {
		d.Mean = f.meanRate
	}
	return d, err
}

// withWorkload opens the workload and hands over when its requests come.
func (p *process) withWorkload(f capacityFlags, use func(name string, times iter.Seq[int64]) error) error {
	given := map[string][]string{}
	for i := range config.Options {
		if o := &config.Options[i]; o.Group == config.WorkloadGroup && f.asked[o.Flag] != nil {
			given[o.Flag] = f.asked[o.Flag]
		}
	}
	cfg, err := p.resolve(config.Input{Flags: given, LookupEnv: p.withoutSettings})
	if err != nil {
		return err
	}
	text, err := tokenizerOf(cfg)
	if err != nil {
		return err
	}
	work, err := cfg.Workload.New(text, 1, workload.Options{})
	if err != nil {
		return err
	}
	defer work.Close()
	if err := use(work.Name(), work.RequestTimes(1)); err != nil {
		return err
	}
	return work.Err()
}

// capacityError makes a usage error of what a flag is to blame for.
func capacityError(err error) error {
	if capacity.IsUsageError(err) {
		return usage("--%v", err)
	}
	return err
}

var capacityFormats = []string{"terminal", "json", "markdown", "html"}

// showCapacity writes a plan. As a page it stands before the report of the run
// that it rests on.
func (p *process) showCapacity(plan *result.Capacity, list []capacity.Configuration, f capacityFlags) error {
	var write func(*bytes.Buffer) error
	switch f.format {
	case "json":
		write = func(out *bytes.Buffer) error { return export.WriteJSON(out, map[string]any{"capacity": plan}) }
	case "markdown":
		write = func(out *bytes.Buffer) error { return document.Markdown(out, report.Capacity(plan), 2) }
	case "html":
		chosen := slices.IndexFunc(list, func(c capacity.Configuration) bool { return c.Name == plan.Name && c.Result != nil })
		if chosen < 0 {
			return usage("--format html shows the report of a run too: give its directory")
		}
		res := list[chosen].Result
		res.Capacity = plan
		write = func(out *bytes.Buffer) error { return report.HTML(out, res) }
	default:
		write = func(out *bytes.Buffer) error {
			return document.Terminal(out, report.Capacity(plan), p.screen(f.out != ""))
		}
	}
	return p.deliver(write, f.out)
}
