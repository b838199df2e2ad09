package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"redline/internal/answer/pareto"
	"redline/internal/run/gather"
	"redline/internal/run/history"
	"redline/internal/show/document"
	"redline/internal/show/listing"
	"redline/internal/text"
)

// paretoFlags are those of redline report that are about a frontier.
type paretoFlags struct {
	on          bool
	x, y        string
	label, runs string
}

func (f *paretoFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "pareto", false, "draw the points of all runs in two figures, and the frontier")
	flags.StringVar(&f.x, "x", "", "figure of the x axis of a frontier, such as interactivity:p99 (default: interactivity)")
	flags.StringVar(&f.y, "y", "", "figure of its y axis (default: tokens-per-accelerator)")
	flags.StringVar(&f.label, "label", "", "take the finished runs with this label, too")
	flags.StringVar(&f.runs, "runs", "runs", "directory that holds them")
}

// rejectWithoutPareto refuses flags that mean nothing without a frontier.
func (f *paretoFlags) rejectWithoutPareto(flags *pflag.FlagSet) error {
	for _, name := range []string{"x", "y", "label", "runs"} {
		if flags.Changed(name) {
			return usage("--%s is for --pareto: add it, or leave --%s out", name, name)
		}
	}
	return nil
}

// pareto draws the frontier of several runs.
func (p *process) pareto(ctx context.Context, args []string, f *reportFlags) error {
	pairs, err := f.pareto.pairs()
	if err != nil {
		return err
	}
	write, err := frontFormat(f.format)
	if err != nil {
		return err
	}
	series, err := f.pareto.series(ctx, args)
	if err != nil {
		return err
	}
	fronts := pareto.Fronts(series, pairs)
	if len(fronts) == 0 {
		return usage("no point has both %s and %s: choose other figures with --x and --y", pairs[0].X.Name, pairs[0].Y.Name)
	}
	return p.deliver(func(out *bytes.Buffer) error { return write(out, fronts, p.screen(f.out != "")) }, f.out)
}

// pairs are the figures asked for, or those that are shown otherwise.
func (f *paretoFlags) pairs() ([]pareto.Pair, error) {
	if f.x == "" && f.y == "" {
		return pareto.Pairs(), nil
	}
	pair := pareto.Pairs()[0]
	for _, axis := range []struct {
		flag, name string
		figure     *pareto.Figure
	}{{"x", f.x, &pair.X}, {"y", f.y, &pair.Y}} {
		if axis.name == "" {
			continue
		}
		var err error
		if *axis.figure, err = pareto.Find(axis.name); err != nil {
			return nil, usage("--%s: %v", axis.flag, err)
		}
	}
	if pair.X.Name == pair.Y.Name {
		return nil, usage("--x and --y are both %s: expected two different figures", pair.X.Name)
	}
	return []pareto.Pair{pair}, nil
}

func frontFormat(name string) (func(io.Writer, []*pareto.Front, document.TerminalOptions) error, error) {
	var names []string
	for _, f := range listing.FrontFormats {
		if f.Name == name {
			return f.Write, nil
		}
		names = append(names, f.Name)
	}
	return nil, usage("--format %q is not for --pareto; %s", name, text.Cure(name, names))
}

// series reads the runs: each argument is a series, and so is each
// configuration among the labeled runs.
func (f *paretoFlags) series(ctx context.Context, args []string) ([]pareto.Series, error) {
	var list []pareto.Series
	for _, arg := range args {
		if isHistory(arg) {
			continue // a shell's runs/* names the index of the runs, too
		}
		read, err := gather.Series(arg)
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(list, func(s pareto.Series) bool { return s.Name == read[0].Name }); at >= 0 && len(read) == 1 {
			read[0].Name = arg // two of one name could not be told apart
		}
		list = append(list, read...)
	}
	if f.label != "" {
		labeled, err := gather.WithLabel(ctx, f.runs, f.label)
		switch {
		case err != nil:
			return nil, err
		case len(labeled) == 0:
			return nil, usage("--label %q: no finished run in %s has it; redline history lists them", f.label, f.runs)
		}
		list = append(list, labeled...)
	}
	switch {
	case len(list) == 0:
		return nil, usage("--pareto needs run directories, or --label: redline report runs/a runs/b --pareto")
	case len(list) > listing.MaxSeries:
		return nil, usage("%d series, but only %d can be distinguished: join runs of one configuration with commas", len(list), listing.MaxSeries)
	}
	return list, nil
}

// isHistory reports whether a path is the index that redline keeps beside runs, which
// comes with DIR/*.
func isHistory(path string) bool { return strings.HasPrefix(filepath.Base(path), history.FileName) }
