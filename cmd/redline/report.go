package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/gather"
	"redline/internal/run/measure"
	"redline/internal/show/document"
	"redline/internal/show/export"
	"redline/internal/show/report"
	"redline/internal/store"
	"redline/internal/text"
)

const reportHelp = `Show the report of a run directory. A run that was killed before it wrote its
result is summarized from its records. Several single runs are one curve.

Formats: terminal; json, the whole result; csv, one row per point (columns:
docs/reference/RESULT.md); markdown, one screen for a pull request; html, one
file; junit, one test case per objective. Single requests: redline export.

--pareto compares the points of several runs or sweeps in two figures of
docs/reference/METRICS.md and marks those that no other point beats in both
(docs/guide/LIMITS.md). Runs separated by commas are one series.

Exit code: 0 if the report was shown, whatever its verdict (redline run exits
with the verdict), 1 if it could not be shown, 2 usage.`

const reportExamples = `  redline report runs/20261115-091500
  redline report runs/20261115-091500 --format html -o report.html
  redline report runs/20261115-091500 --percentiles 50,99.9
  redline report runs/20261115-091500 --charts slides
  redline report runs/fp8 runs/bf16 --pareto
  redline report runs/fp8 runs/bf16 --pareto --x ttft:p99 --y cost --format csv
  redline report --pareto --label nightly`

// reportFlags are what redline report takes.
type reportFlags struct {
	format, out     string
	percentiles     string
	charts          string
	asJSON, explain bool
	pareto          paretoFlags
}

func (p *process) reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:        "report DIR...",
		SuggestFor: []string{"show", "view", "open", "render", "html", "pareto", "frontier"},
		Short:      "show the report of a run directory, also of a killed run",
		Long:       reportHelp,
		Example:    reportExamples,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if f.format, err = formatOf(c, f.asJSON); err != nil {
				return err
			}
			for _, other := range []string{"pareto", "format", "json", "output", "explain"} {
				if f.charts != "" && c.Flags().Changed(other) {
					return usage("--charts writes SVG files and nothing else: leave out --%s", other)
				}
			}
			if f.pareto.on {
				return p.pareto(c.Context(), args, &f)
			}
			if err := f.pareto.rejectWithoutPareto(c.Flags()); err != nil {
				return err
			}
			return p.report(args, &f)
		},
	}
	c.Flags().StringVar(&f.format, "format", "terminal", "output format: "+strings.Join(formatNames(), ", "))
	c.Flags().StringVarP(&f.out, "output", "o", "", "output file (default: standard output)")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the result as JSON and nothing else")
	c.Flags().BoolVar(&f.explain, "explain", false, "define each figure; show the checklist and all details")
	c.Flags().StringVar(&f.percentiles, "percentiles", "", "latency percentiles to show: 50,99.9 (default: those of the run)")
	c.Flags().StringVar(&f.charts, "charts", "", "directory for the charts of the HTML report, an SVG file each")
	f.pareto.add(c.Flags())
	return c
}

// formatOf is the format that was asked for, in either way.
func formatOf(c *cobra.Command, asJSON bool) (string, error) {
	given := c.Flag("format")
	switch name := given.Value.String(); {
	case !asJSON:
		return name, nil
	case given.Changed && name != "json":
		return "", usage("--json and --format %s exclude each other", name)
	}
	return "json", nil
}

// report shows one run, or several as levels of one curve.
func (p *process) report(args []string, f *reportFlags) error {
	if len(args) == 0 {
		return usage("report needs one run directory, such as: redline report runs/20261115-091500")
	}
	write, err := p.format(f.format, f.explain, f.out != "")
	if err != nil {
		return err
	}
	res, err := readResult(args)
	if err != nil {
		return err
	}
	if res, err = f.selectPercentiles(res); err != nil {
		return err
	}
	if f.charts != "" {
		return p.writeCharts(res, f.charts)
	}
	hint := ""
	if f.format == "terminal" && res.Interrupted != "" && res.Interrupted != result.Running {
		hint = resumeHint(args[0])
	}
	return p.deliver(func(out *bytes.Buffer) error {
		err := write(out, res)
		out.WriteString(hint)
		return err
	}, f.out)
}

// readResult gives the result of a run, or the curve of several.
func readResult(paths []string) (*result.Result, error) {
	paths = slices.DeleteFunc(slices.Clone(paths), isHistory)
	if len(paths) == 1 {
		res, err := measure.Rebuild(paths[0])
		runs, _ := filepath.Glob(filepath.Join(paths[0], "*", "records.jsonl"))
		if errors.Is(err, store.ErrNoRun) && len(runs) > 0 {
			err = usage("%s is not a run but holds %s: redline report %s draws them as one curve, redline history --runs %s lists them",
				paths[0], text.Plural(len(runs), "run"), filepath.Join(paths[0], "*"), paths[0])
		}
		return res, err
	}
	res, err := gather.Levels(paths)
	if errors.As(err, new(gather.NoCurve)) {
		err = usage("%v", err)
	}
	return res, err
}

// writeCharts writes each chart of a result as a file.
func (p *process) writeCharts(res *result.Result, dir string) error {
	pictures := document.DrawPictures(report.Whole(res))
	if len(pictures) == 0 {
		return fmt.Errorf("--charts: the result of %s has nothing to draw: it was imported, or made before redline kept a run over time", res.ID)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--charts: %w", err)
	}
	for _, one := range pictures {
		path := filepath.Join(dir, one.Name)
		if err := os.WriteFile(path, one.SVG, 0o644); err != nil {
			return fmt.Errorf("--charts: %w", err)
		}
		if _, err := fmt.Fprintln(p.stdout, p.line(path)); err != nil {
			return err
		}
	}
	return nil
}

// resumeHint is the command that resumes the experiment in a directory; "" where
// there is none.
func resumeHint(path string) string {
	dir, err := store.Open(path)
	if err != nil {
		return ""
	}
	command, err := dir.Kind()
	if err != nil || command == "" {
		return ""
	}
	return resumeLine(command, path)
}

// resumeLine says how to resume an experiment.
func resumeLine(command, path string) string {
	return fmt.Sprintf("\nResume with: redline %s --resume %s\n", command, text.Shell(filepath.ToSlash(path)))
}

// selectPercentiles is a result with the percentiles that were asked for. A document for
// a machine has them all.
func (f *reportFlags) selectPercentiles(res *result.Result) (*result.Result, error) {
	if f.percentiles == "" {
		return res, nil
	}
	if f.format == "json" || f.format == "csv" || f.format == "junit" {
		return nil, usage("--percentiles: %s has every percentile that was measured: leave it out", f.format)
	}
	list, err := config.ParsePercentiles(f.percentiles)
	if err != nil {
		return nil, usage("--percentiles: %v", err)
	}
	if res, err = report.WithPercentiles(res, list); err != nil {
		return nil, usage("--percentiles: %v", err)
	}
	return res, nil
}

func formatNames() []string {
	names := make([]string, len(export.Formats))
	for i, f := range export.Formats {
		names[i] = f.Name
	}
	return names
}

type writer func(*bytes.Buffer, *result.Result) error

// format gives the writer of a format. A terminal's knows the terminal, unless
// its text goes to a file.
func (p *process) format(name string, explain, toFile bool) (writer, error) {
	if name == "terminal" {
		options := report.TerminalOptions{Color: p.color && !toFile, Explain: explain, Width: p.columns()}
		return func(out *bytes.Buffer, r *result.Result) error {
			if explain {
				r = withChecklist(r)
			}
			return report.Terminal(out, r, options)
		}, nil
	}
	if name == "markdown" && explain {
		return func(out *bytes.Buffer, r *result.Result) error {
			return report.ExplainedMarkdown(out, withChecklist(r))
		}, nil
	}
	for _, f := range export.Formats {
		if f.Name == name {
			return func(out *bytes.Buffer, r *result.Result) error { return f.Write(out, r) }, nil
		}
	}
	if slices.Contains(requestFormats, name) {
		return nil, usage("--format %q is a file of single requests: redline export DIR --format %s -o FILE writes it", name, name)
	}
	return nil, usage("--format %q is not known; %s", name, text.Cure(name, formatNames()))
}
