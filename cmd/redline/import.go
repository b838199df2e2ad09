package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/drive/table"
	"redline/internal/peer/imported"
	"redline/internal/run/adopt"
	"redline/internal/text"
)

const importHelp = `Make a run directory of a result file of another benchmark, so that report,
compare, history, capacity --slo and --pareto work on it.

A file is recognized by its content. What to import of each benchmark:
  vllm bench serve --save-result --save-detailed   the file that it names
  python -m sglang.bench_serving --output-file FILE --output-details   FILE
  aiperf profile           profile_export.jsonl or profile_export_aiperf.json
  genai-perf profile       profile_export.json or profile_export_genai_perf.json
  guidellm benchmark       benchmarks.json
  inference-perf           per_request_…, stage_N_… or summary_lifecycle_metrics
  token_benchmark_ray.py   …_individual_responses.json or …_summary.json
  optimum-benchmark        benchmark_report.json

What the file does not have is not known: checks of the client that could not be
made are listed, and files without single requests give figures without
intervals.

Exit code: 0 imported, 1 not imported, 2 usage.`

func (p *process) importCommand() *cobra.Command {
	var out, label string
	c := &cobra.Command{
		Use:   "import FILE...",
		Short: "make run directories of other benchmarks' result files",
		Long:  importHelp,
		Example: `  redline import benchmarks.json --out runs/guidellm
  redline import profile_export.jsonl --out runs/aiperf --label aiperf`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("import needs a result file, such as: redline import benchmarks.json")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return p.importFiles(c.Context(), args, out, label) },
	}
	c.Flags().StringVar(&out, "out", "", "directory of the run (default: runs/<time>-<label>)")
	c.Flags().StringVar(&label, "label", "", "short name of the run")
	return c
}

func (p *process) importFiles(ctx context.Context, files []string, out, label string) error {
	hold := p.hold(func(format string, args ...any) { fmt.Fprintf(p.stderr, "redline: "+format+"\n", args...) })
	defer hold.Release()
	for _, file := range files {
		content, err := imported.Read(file)
		if err != nil {
			return err
		}
		runs, err := imported.Import(content)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for i, r := range runs {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			o := adopt.Options{File: filepath.Base(file), Command: "redline import " + text.Shell(file), Version: version, Label: label, Now: info.ModTime().Truncate(time.Second), Hold: hold}
			if o.Dir = out; out != "" && len(files)+len(runs) > 2 {
				o.Dir = filepath.Join(out, fmt.Sprintf("%s-%d", filepath.Base(file), i))
			}
			if err := p.importRun(ctx, r, o); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

func (p *process) importRun(ctx context.Context, r *table.Run, o adopt.Options) error {
	res, path, err := adopt.Keep(r, o)
	if err != nil {
		return err
	}
	if err := writePage(path, res); err != nil {
		return err
	}
	p.remember(ctx, path)
	what := "figures alone"
	if n := len(r.Requests); n > 0 {
		what = text.Plural(n, "request")
	}
	if missing := imported.Missing(r); len(missing) > 0 {
		what += "; not in the file: " + strings.Join(missing, ", ")
	}
	_, err = fmt.Fprintf(p.stdout, "%s: %s → %s\n", p.line(strings.TrimSpace(r.Source+" "+r.Version)), what, filepath.ToSlash(path))
	return err
}
