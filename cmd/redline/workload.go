package main

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/answer/diagnose"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/show/listing"
	"redline/internal/text"
	"redline/internal/traffic/job"
	"redline/internal/traffic/token"
	"redline/internal/traffic/trace"
	"redline/internal/traffic/workload"
)

const workloadHelp = `Show what a workload would send, or fit one to your logs.

A workload is a preset, lengths such as 'in=lognormal(500,0.8) out=fixed(128)',
or a file: prompts, conversations, a trace, a fitted workload, jobs of agents.`

func (p *process) workloadCommand() *cobra.Command {
	c := &cobra.Command{Use: "workload", Short: "show what would be sent; fit a workload to logs", Long: workloadHelp,
		Example: `  redline workload list
  redline workload show chat
  redline workload fit access.jsonl -o tuesday.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return c.Help()
		}}
	c.AddCommand(p.workloadShowCommand(), p.workloadFitCommand(), p.workloadListCommand())
	return c
}

const showExamples = `  redline workload show chat
  redline workload show 'in=lognormal(500,0.8,50..4000) out=fixed(128)'
  redline workload show azure.csv --json
  redline workload show mooncake.jsonl --from 10m --for 5m
  redline workload show prompts.jsonl --samples 3
  redline workload show session.json --model llama-3.1-70b
  redline workload show access.csv --advise`

func (p *process) workloadShowCommand() *cobra.Command {
	c := &cobra.Command{Use: "show FILE|PRESET|LENGTHS", Short: "show what a workload would send, without sending it",
		Example: showExamples, Args: atMostOneArgument}
	flags := addOptions(c, func(o *config.Option) bool {
		return o.Group == config.WorkloadGroup && o.Flag != "workload" || o.Flag == "plan"
	}, nil)
	var asJSON bool
	var samples int
	var advise bool
	var jobs jobFlags
	c.Flags().StringVar(&jobs.model, "model", "", "of agents' jobs: count requests that are longer than this model's context; a name of the catalog, or a config.json")
	c.Flags().StringVar(&jobs.name, "job", "", "of agents' jobs: draw the timeline of this one (default: the one with the most agents)")
	c.Flags().BoolVar(&advise, "advise", false, "show which set-up suits the workload: scenario, approach, why and cost")
	c.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	c.Flags().IntVar(&samples, "samples", 0, "number of sample prompts to show")
	c.RunE = func(c *cobra.Command, args []string) error {
		given := flags()
		if len(args) == 1 {
			given["workload"] = args
		}
		if advise && len(args) == 0 && given["plan"] == nil {
			return usage("--advise: give a workload to advise on, such as redline workload show access.csv --advise")
		}
		if samples < 0 {
			return usage("--samples: expected a number of prompts, got %d", samples)
		}
		cfg, err := p.resolve(config.Input{Flags: given, LookupEnv: p.lookupEnv, Seed: 1})
		if err != nil {
			return err
		}
		if jobs.asJSON = asJSON; cfg.Workload.HoldsJobs() {
			if advise || samples > 0 {
				return usage("--advise and --samples are for single requests, not for jobs of agents")
			}
			return p.showJobs(cfg, jobs)
		}
		if jobs.name != "" || jobs.model != "" {
			return usage("--job and --model are for files of agents' jobs (%s)", strings.Join(job.Formats(), ", "))
		}
		return p.showWorkload(cfg, asJSON, advise, samples)
	}
	return c
}

func (p *process) showWorkload(cfg *config.Config, asJSON, advise bool, samples int) error {
	words, err := tokenizerOf(cfg)
	if err != nil {
		return err
	}
	work, err := cfg.Workload.New(words, cfg.Seed, workload.Options{Sampling: cfg.Generation.Sampling()})
	if err != nil {
		return err
	}
	defer work.Close()
	summary, err := work.Summary(0)
	if err != nil {
		return err
	}
	if advise {
		return p.advise(summary, asJSON)
	}
	if asJSON {
		return p.printJSON(summary)
	}
	if err := p.print(listing.Workload(summary)); err != nil {
		return err
	}
	for i := range samples {
		turn := work.Session(i).Next(nil)
		if turn == nil {
			break
		}
		turn.Compose()
		if err := listing.Prompt(text.Writer(p.stdout), i, turn.Request); err != nil {
			return err
		}
	}
	return work.Err()
}

// advise shows the decision matrix for a workload.
func (p *process) advise(s *workload.Summary, asJSON bool) error {
	t := diagnose.Traffic{PromptP50: s.Prompt.P50, PromptP99: s.Prompt.P99, Tenants: len(s.Tenants)}
	if s.Turns != nil {
		t.Turns = s.Turns.P50
	}
	rows := diagnose.Matrix(t)
	if asJSON {
		return p.printJSON(map[string]any{"workload": s, "decision_matrix": rows})
	}
	return p.print(listing.Advice(s.Name+": "+t.Words(), rows))
}

// tokenizerOf gives the plan's tokenizer, without a server to ask.
func tokenizerOf(cfg *config.Config) (token.Text, error) {
	if cfg.Tokenizer == config.ByServer {
		return nil, usage("--tokenizer server: no server is asked here; leave it out, or name a tokenizer.json")
	}
	return measure.Tokenizer(cfg.Tokenizer)
}

const fitHelp = `Turn logs into a workload file without text or names: pairs of prompt and output
lengths, the rate and burstiness of every minute, the share of prompts with a
common prefix (by salted hashes), the shares of sessions and tenants.

Reads Azure, BurstGPT and Mooncake traces, OpenTelemetry GenAI spans, request
logs of vLLM and LiteLLM, and any CSV or JSON Lines with named columns. Logs of
prompts alone are read too: a column of lengths or of prompts, access logs of
web servers with request_length=…, a length or (in a .txt file) a prompt on each
line; what they do not say is assumed, and said so. Several logs of one service
are added up.

Recordings of agents' jobs become a generator of jobs of the same shape:
requests and new tokens of each agent, tool times, subagents, shared prefixes,
resets. What it makes is printed beside what it was fitted to.`

const fitExamples = `  redline workload fit access.jsonl -o tuesday.yaml
  redline workload fit sessions/ -o agents.yaml
  redline workload fit gateway-*.csv --column prompt=in_tok --column output=out_tok -o peak.yaml
  redline run --url http://localhost:8000 --workload tuesday.yaml`

func (p *process) workloadFitCommand() *cobra.Command {
	c := &cobra.Command{Use: "fit LOG...", Short: "fit a workload without text to logs", Long: fitHelp,
		Example: fitExamples, Args: cobra.ArbitraryArgs}
	flags := addOptions(c, selectOptions("", "workload-format", "column", "skip-bad-rows", "sort", "tokenizer"), nil)
	var out string
	var o trace.FitOptions
	var force bool
	c.Flags().StringVarP(&out, "output", "o", "", "file to write (default: standard output)")
	c.Flags().BoolVar(&force, "force", false, "replace an existing file")
	c.Flags().BoolVar(&o.KeepNames, "keep-names", false, "keep the names of tenants and classes")
	c.Flags().BoolVar(&o.Independent, "break-pairs", false, "draw prompt and output lengths independently")
	c.RunE = func(_ *cobra.Command, paths []string) error {
		if len(paths) == 0 {
			return usage("redline workload fit needs a log, such as access.jsonl")
		}
		options, err := logOptions(flags())
		if err != nil {
			return err
		}
		if err := checkOutput(out, paths, force); err != nil {
			return err
		}
		if slices.Contains(job.Formats(), options.Format) || options.Format == "" && options.Columns == nil && job.RecognizePath(paths[0]) != "" {
			return p.fitJobs(paths, job.Options{Format: options.Format, Count: options.Count}, out)
		}
		return p.fit(paths, options, o, out)
	}
	return c
}

// checkOutput refuses to write over a file unasked, and over a log at all.
func checkOutput(out string, logs []string, force bool) error {
	about, err := os.Stat(out)
	if out == "" || err != nil || !about.Mode().IsRegular() {
		return nil // which is found out when it is written
	}
	for _, path := range logs {
		if log, err := os.Stat(path); err == nil && os.SameFile(log, about) {
			return usage("-o: %s is the log itself: name another file", out)
		}
	}
	if !force {
		return usage("-o: %s is there already: name another file, or write over it with --force", out)
	}
	return nil
}

// logOptions reads the flags that say how a log is to be read.
func logOptions(given map[string][]string) (trace.Options, error) {
	cfg, err := configFromFlags(given)
	if err != nil {
		return trace.Options{}, err
	}
	t := cfg.Workload.Traffic
	if err := trace.CheckColumns(t.Columns); err != nil {
		return trace.Options{}, usage("--column: %v", err)
	}
	if known := append(trace.Formats(), job.Formats()...); t.Format != "" && !slices.Contains(known, t.Format) {
		return trace.Options{}, usage("--workload-format: expected one of %s, got %q", strings.Join(known, ", "), t.Format)
	}
	cfg.Tokenizer = cmp.Or(cfg.Tokenizer, token.EmbeddedNames()[0])
	words, err := tokenizerOf(cfg)
	if err != nil {
		return trace.Options{}, err
	}
	return trace.Options{Format: t.Format, Columns: t.Columns, SkipBadRows: t.SkipBadRows, Sort: t.Sort, Salt: rand.Uint64() | 1, Count: words.Count}, nil
}

// fit reads every log whole before it writes anything.
func (p *process) fit(paths []string, o trace.Options, fo trace.FitOptions, out string) error {
	var files []*trace.File
	defer func() {
		for _, f := range files {
			_ = f.Close() // only read
		}
	}()
	for _, path := range paths {
		f, err := trace.Open(path, o)
		if err != nil {
			return &exitCodeError{exitUsage, err}
		}
		files = append(files, f)
		for _, note := range f.Notes() {
			if strings.Contains(note, "assumed") || strings.Contains(note, "4 for a token") {
				fmt.Fprintf(p.stderr, "redline: %s: %s\n", path, note)
			}
		}
		if n := f.SkippedRows(); n > 0 {
			fmt.Fprintf(p.stderr, "redline: %s: %s left out\n", path, text.Plural(n, "bad row was", "bad rows were"))
		}
	}
	fitted, err := trace.Fit(fo, files...)
	if err != nil {
		return err
	}
	if out != "" {
		if err := writeFitted(fitted, out); err != nil {
			return fmt.Errorf("-o: cannot be written: %w", err)
		}
	}
	for _, f := range files {
		columns, unused := strings.Join(f.ColumnsUsed(), ", "), f.UnusedColumns()
		if columns != "" {
			columns = ": " + columns
		}
		if columns != "" && unused == "" {
			columns += "; --column ROLE=NAME takes another column"
		}
		p.tell(fmt.Sprintf("redline: %s: read as %s%s", f.Path(), f.Format(), columns))
		if unused != "" {
			p.tell("redline: " + f.Path() + ": " + unused)
		}
	}
	if out == "" {
		return fitted.Write(p.stdout)
	}
	for _, note := range fitted.Source.Notes {
		p.tell("redline: " + strings.Join(paths, ", ") + ": " + note)
	}
	_, err = fmt.Fprintf(p.stdout, "%s behaves like %s of %s%s; try: redline workload show %s\n",
		out, text.Plural(fitted.Source.Requests, "request"), strings.Join(paths, ", "), sessionsFound(fitted), out)
	return err
}

// sessionsFound says what sessions a log has, "" where it has no conversations.
func sessionsFound(f *trace.FittedWorkload) string {
	if !f.Converses() {
		return ""
	}
	found := fmt.Sprintf(": %s of %s turns on average", text.Plural(f.Sessions.Count, "session"), text.Digits(f.MeanTurns(), 3))
	if gap := f.Sessions.Gap; gap != nil {
		found += fmt.Sprintf(", %s from turn to turn (median)", text.Seconds(gap.Quantile(0.5)))
	}
	return found
}

func writeFitted(fitted interface{ Write(io.Writer) error }, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := fitted.Write(file); err != nil {
		_ = file.Close() // the write's error says more
		return err
	}
	return file.Close()
}

func (p *process) workloadListCommand() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "list the presets", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return p.print(listing.Presets())
		}}
}
