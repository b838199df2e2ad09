package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"redline/internal/drive/table"
	"redline/internal/judge/result"
	"redline/internal/peer"
	"redline/internal/run/gather"
	"redline/internal/run/measure"
	"redline/internal/show/export"
	"redline/internal/store"
	"redline/internal/text"
)

const exportHelp = `Write the result of a run directory in another layout.

--format writes one file, of the measured requests or of the figures:
  csv, jsonl, parquet   a row for each request: times, tokens, outcome, and the
                        stage, rate and concurrency of a sweep; with --table
                        jobs a row for each job of agents, or conversation
  vllm                  vLLM's result file, with every request
  prometheus            every figure as a gauge, for a textfile collector

Layouts: notes, a lab notebook: hardware.md, server-flags.md, row-….json (one
per measured row, with its workload, hypothesis and plan, repeated by
redline run --plan row-a-short-chat.json) and interpretation.md.

Exit code: 0 written, 1 not written, 2 usage.`

// layouts are the directories that a result can be written as. A new one is a
// line here.
var layouts = map[string]func(r *result.Result, stage func(dir string) (*result.Result, error)) ([]export.File, error){
	"notes": export.Notes,
}

func (p *process) exportCommand() *cobra.Command {
	var layout, out, format, rows string
	var force bool
	c := &cobra.Command{
		Use:   "export DIR",
		Short: "write requests as CSV, JSON Lines or Parquet, or a result for another tool",
		Long:  exportHelp,
		Example: `  redline export --layout notes runs/20261115-091500 -o results/llama31-8b
  redline export --format prometheus runs/20261115-091500 > redline.prom`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("export needs one run directory, such as: redline export --layout notes runs/20261115-091500 -o results/llama31-8b")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if format != "" && c.Flags().Changed("layout") {
				return usage("--layout and --format are two ways to write a run: give one")
			}
			if format != "" {
				return p.exportFile(args[0], format, rows, out, force)
			}
			if c.Flags().Changed("table") {
				return usage("--table goes with --format csv, jsonl or parquet")
			}
			files, known := layouts[layout]
			if !known {
				return usage("--layout %q is not known; %s", layout, text.Cure(layout, slices.Sorted(maps.Keys(layouts))))
			}
			if out == "" {
				return usage("export needs a directory to write: -o OUT")
			}
			res, err := measure.Rebuild(args[0])
			if err != nil {
				return err
			}
			list, err := files(res, func(dir string) (*result.Result, error) {
				return measure.Rebuild(filepath.Join(args[0], filepath.FromSlash(dir)))
			})
			if err != nil {
				return err
			}
			return p.writeFiles(out, list, force)
		},
	}
	c.Flags().StringVar(&layout, "layout", "notes", "layout of the directory: notes")
	c.Flags().StringVar(&format, "format", "", "one file instead: csv, jsonl or parquet of the requests, vllm, prometheus")
	c.Flags().StringVar(&rows, "table", "requests", "rows of csv, jsonl and parquet: requests or jobs")
	c.Flags().StringVarP(&out, "output", "o", "", "directory to write, or file with --format (default: standard output)")
	c.Flags().BoolVar(&force, "force", false, "replace existing files")
	return c
}

// exportFile writes one file of a run.
func (p *process) exportFile(path, format, of, out string, force bool) error {
	rows, tabled := export.Tables[format]
	switch {
	case !slices.Contains([]string{"requests", "jobs"}, of):
		return usage("--table %q is not known; %s", of, text.Cure(of, []string{"requests", "jobs"}))
	case of == "jobs" && !tabled:
		return usage("--table jobs goes with --format csv, jsonl or parquet")
	}
	if format != "prometheus" && !slices.Contains(requestFormats, format) {
		return usage("--format %q is not known; %s", format, text.Cure(format, append(slices.Clone(requestFormats), "prometheus")))
	}
	if _, err := os.Lstat(out); out != "" && err == nil && !force {
		return fmt.Errorf("%s is there already; choose another -o, or replace it with --force", out)
	}
	if format == "parquet" && out == "" && p.columns() > 0 {
		return usage("--format parquet is not for a terminal: name a file, -o %s.parquet", of)
	}
	if of == "jobs" {
		runs, err := gather.Jobs(path)
		switch {
		case err != nil:
			return err
		case !slices.ContainsFunc(runs, func(r *table.Run) bool { return len(r.Jobs) > 0 }):
			return fmt.Errorf("%s has no jobs: no session of a known number of requests, several at least once", path)
		}
		return p.deliver(func(b *bytes.Buffer) error { return rows.Jobs(b, runs) }, out)
	}
	res, err := measure.Rebuild(path)
	if err != nil {
		return err
	}
	if format == "prometheus" {
		return p.deliver(func(b *bytes.Buffer) error { return export.Prometheus(b, res) }, out)
	}
	runs, err := gather.Requests(path)
	switch {
	case err != nil:
		return err
	case len(runs) == 0 || len(runs[0].Requests) == 0:
		return fmt.Errorf("%s has no single requests", path)
	case format == "vllm" && len(runs) > 1:
		return usage("--format vllm is about the requests of one run, and %s has %s: name one of them, such as %s/%s/%s", path, text.Plural(len(runs), "stage"), path, store.StagesDir, runs[0].Stage)
	}
	return p.deliver(func(b *bytes.Buffer) error {
		if tabled {
			return rows.Requests(b, runs)
		}
		content, err := peer.ExportVLLM(runs[0], res.Engine.API)
		b.Write(content)
		return err
	}, out)
}

// requestFormats are the files of single requests: tables of them, and vLLM's.
var requestFormats = append(slices.Sorted(maps.Keys(export.Tables)), "vllm")

// writeFiles writes all files into a directory, none of them where one is
// there already.
func (p *process) writeFiles(dir string, files []export.File, force bool) error {
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if _, err := os.Lstat(path); err == nil && !force {
			return fmt.Errorf("%s is there already; choose another -o, or replace it with --force", path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o644); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.stdout, "%s in %s\n", text.Plural(len(files), "file"), filepath.ToSlash(dir))
	return err
}
