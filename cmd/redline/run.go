package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/judge/validity"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
	"redline/internal/show/export"
	"redline/internal/show/live"
	"redline/internal/show/report"
	"redline/internal/store"
	"redline/internal/text"
)

const runHelp = `Send one load and report whether the server met its objectives under it.

With objectives (--slo) and no length, the run ends by itself when each
objective is met or missed, or one is missed and the queue grows: after one
minute at the earliest, after --max-duration at the latest. --duration or
--requests sets a length, --rare 5m one that covers what happens every five
minutes.

Without --url the target is the embedded engine: a simulated vLLM with
Llama 3.1 8B on an H100. A plan file (--plan) holds the same settings as the
flags; flags and REDLINE_… variables override it.

Exit code: 0 ok, 1 error, 2 usage, 3 objectives missed, 5 run invalid,
6 too close to call, 130 interrupted (results kept).`

const runExamples = `  redline run
  redline run --url http://localhost:8000 --rate 5 --slo 'ttft:p99<500ms'
  redline run --url http://localhost:8000 --concurrency 32 --requests 500 --workload summarization
  redline run --url https://api.openai.com --model gpt-4o-mini --rate 1 --requests 100 --max-tokens-total 200000
  redline run --url http://localhost:8000 --rate 5 --repeat 5
  redline run --url http://localhost:8000 --workload trace.csv --from 10m --for 5m --speedup 2
  redline run --rate 4 --workload mix --profile burst --slo 'class=chat ttft:p95<1s'
  redline run --plan benchmark.yaml --json > result.json
  redline run --resume runs/20260101-120000`

func (p *process) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use:        "run [URL]",
		SuggestFor: []string{"load", "test", "start", "measure", "repeat"},
		Short:      "send one load and report whether the server met its objectives",
		Long:       runHelp,
		Example:    runExamples,
		Args:       oneURL,
	}
	flags := addOptions(c, takenBy(c), nil)
	var resume string
	c.Flags().StringVar(&resume, "resume", "", "directory of interrupted repeats to resume, or of a run whose workers lost their conductor")
	p.addReports(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		given := flags()
		if len(args) == 1 && given["url"] != nil {
			return usage("two servers, one as an argument and one by --url: give one; redline compare measures two")
		} else if len(args) == 1 {
			given["url"] = args
		}
		if memo, ok := store.ReadCrew(resume); ok {
			if !crewMemo(memo) {
				return resumption{dir: resume}.wrapError(fmt.Errorf("%s was not written by a run with workers", filepath.Join(resume, "crew.json")))
			}
			cfg, err := p.resumedPlan(filepath.Join(resume, "plan.yaml"), given, resume)
			if err != nil {
				return err
			}
			return p.measure(c.Context(), cfg, resumption{resume, memo})
		}
		cfg, err := p.experimentPlan(c.Name(), given, resume)
		if err != nil {
			return err
		}
		if err := runnable(cfg.Experiment); err != nil {
			return err
		}
		switch {
		case cfg.Experiment.Repeat > 1, resume != "" && !levels(cfg.Experiment):
			return p.conduct(c.Context(), cfg, resume, "run", experiment.Repeat)
		case levels(cfg.Experiment):
			return p.conduct(c.Context(), cfg, resume, "sweep", experiment.Sweep)
		}
		return p.measure(c.Context(), cfg, resumption{})
	}
	return c
}

// oneURL refuses arguments that are not the address of one server.
func oneURL(c *cobra.Command, args []string) error {
	if len(args) > 0 && !strings.Contains(args[0], "://") {
		return usage("%s takes a URL such as http://localhost:8000, got %q; %s --help shows examples", c.CommandPath(), args[0], c.CommandPath())
	}
	return atMostOneArgument(c, args)
}

// levels reports whether a plan asks for more than one load.
func levels(e config.Experiment) bool {
	return e.FindLimit || e.Rates != nil || e.Concurrencies != nil
}

// runnable refuses a plan that asks for what run does not do, and names the
// command that does.
func runnable(e config.Experiment) error {
	switch {
	case len(e.Variants) > 0:
		return usage("the plan has variants (experiment.variants): redline bench runs them")
	case len(e.Rows) > 0:
		return usage("the plan has rows (experiment.rows): redline matrix runs them")
	case e.Rounds > 0:
		return usage("the plan has rounds (experiment.rounds): redline compare A B measures two servers in them")
	case e.Repeat > 1 && levels(e):
		return usage("the plan asks for several loads, and for repeats of one: leave out experiment.repeat, or the rates and run each with redline run --repeat")
	}
	return nil
}

// resumption is a run whose workers go on without a conductor, and what that left;
// the zero value is none.
type resumption struct {
	dir  string
	memo []byte
}

// wrapError says what is left of a run that cannot be resumed.
func (r resumption) wrapError(err error) error {
	if r.dir == "" || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s cannot be resumed: %w; see what was recorded: redline report %s", r.dir, err, text.Shell(r.dir))
}

// crewMemo reports whether a file is what a conductor of workers leaves behind.
func crewMemo(memo []byte) bool {
	var m struct{ Schema string }
	return json.Unmarshal(memo, &m) == nil && strings.HasPrefix(m.Schema, "redline/crew/")
}

// notSingle refuses to resume a single run.
func notSingle(path string) error {
	dir, err := store.Open(path)
	if err != nil {
		return nil // that there is no experiment at all is found where its plan is read
	}
	if kind, err := dir.Kind(); err != nil || kind != "" {
		return nil
	}
	why := "it was not sent by workers at a NATS server of their own (no crew.json in it)"
	if res, err := dir.Result(); err == nil && res.Interrupted == "" {
		return fmt.Errorf("%s holds a single run that is finished, there is nothing to resume: redline report %s", path, text.Shell(path))
	} else if err == nil {
		why = "it is a single run, which was stopped, not killed"
	}
	return resumption{dir: path}.wrapError(fmt.Errorf("%s; run its plan again with --plan %s", why, text.Shell(dir.PlanPath())))
}

// pageName is the page of a report in a run's directory.
const pageName = "report.html"

// measure runs one load and shows its result.
func (p *process) measure(ctx context.Context, cfg *config.Config, of resumption) error {
	if cfg.Output.DryRun {
		return p.dryRun(cfg, "run")
	}
	res, path, err := p.perform(ctx, cfg, of)
	if res == nil {
		return err
	}
	unshown := p.show(res, cfg.Output.JSON, cfg.Output.Explain)
	if unshown == nil && !cfg.Output.JSON && len(p.stdoutFormats()) == 0 {
		kept := "Kept in"
		if err != nil {
			kept = "Kept in part in"
		}
		unshown = p.printLocation(kept, path)
	}
	return exitErrorFor(res, cmp.Or(err, unshown))
}

// perform runs one load and keeps its result, which may have an error beside it.
func (p *process) perform(ctx context.Context, cfg *config.Config, of resumption) (*result.Result, string, error) {
	live, err := p.follow(ctx, cfg, live.Screen{Title: "redline run"}, cmp.Or(cfg.Load.Bounds.Duration, cfg.Load.Bounds.MaxDuration))
	if err != nil {
		return nil, "", err
	}
	defer live.Finish()
	options := measure.Options{Config: cfg, Version: version, Command: p.commandLine(cfg), Stop: p.stop, Resume: of.dir,
		Say: func(format string, args ...any) { live.Say("redline: " + p.line(fmt.Sprintf(format, args...))) }}
	if p.virtual != nil {
		p.virtual(&options)
	}
	if !cfg.Output.Quiet {
		options.Live = func(s progress.Snapshot) { live.Show(s) }
	}
	if cfg.Output.Verbose {
		options.Trace = p.stderr
	}
	explainExtra(cfg, options.Say)
	told, done, err := p.publish(ctx, cfg, options.Live, options.Say)
	if err != nil {
		return nil, "", err
	}
	options.Live = told
	if p.hurry != nil {
		p.hurry()
	}
	options.Hold = p.hold(options.Say)
	defer options.Hold.Release()
	if of.dir != "" { // before its workers hear of it: the conductor may be alive
		if err := options.Hold.Take(of.dir); err != nil {
			return nil, "", err
		}
	}
	crew, release, err := p.crew(ctx, cfg, of.memo, options.Say, live.Came)
	if err != nil {
		return nil, "", of.wrapError(err)
	}
	defer release()
	options.Crew = crew
	res, path, err := measure.Run(ctx, options)
	done(res)
	live.Finish()
	if res == nil {
		if err != nil && path != "" {
			err = fmt.Errorf("%w; what was recorded is in %s", err, path)
		}
		return nil, path, err
	}
	if err == nil {
		err = writePage(path, res)
		p.remember(context.WithoutCancel(ctx), path)
	}
	return res, path, err
}

// explainExtra says why more requests are sent than were asked for, where these are
// so few that it surprises.
func explainExtra(cfg *config.Config, say func(string, ...any)) {
	const few = 200
	b := cfg.Load.Bounds
	if n := b.TotalRequests; n > 0 && n < few && !b.Plain && !cfg.Output.Quiet && cfg.Defaulted("load_profile.warmup") {
		say("measuring %s; a warm-up of 50 or more comes before, and more load until the last one ends: --plain sends none of that", text.Plural(n, "request"))
	}
}

// writePage puts the report for a browser beside the result.
func writePage(dir string, res *result.Result) error {
	path := filepath.Join(dir, pageName)
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(report.HTML(file, withChecklist(res)), file.Close()); err != nil {
		return fmt.Errorf("%s could not be written: %w", path, err)
	}
	return nil
}

// withChecklist is a result that answers the checklist of benchmarks, also where
// it is of a single run.
func withChecklist(res *result.Result) *result.Result {
	if res.Checklist != nil {
		return res
	}
	asked := *res
	asked.Checklist = validity.Checklist(res)
	return &asked
}

// show writes a result to stdout.
func (p *process) show(res *result.Result, asJSON, explain bool) error {
	if err := p.writeReports(res); err != nil {
		return err
	}
	if len(p.stdoutFormats()) > 0 {
		return nil
	}
	if explain {
		res = withChecklist(res)
	}
	if asJSON {
		return export.JSON(p.stdout, res)
	}
	return report.Terminal(p.stdout, res, report.TerminalOptions{Color: p.color, Explain: explain, Width: p.columns()})
}

// commandLine is the command as it was given, for the record.
func (p *process) commandLine(cfg *config.Config) string {
	words, mask := []string{"redline"}, cfg.Mask()
	for _, a := range p.args {
		words = append(words, text.Shell(text.Line(mask.Hide(a))))
	}
	return strings.Join(words, " ")
}
