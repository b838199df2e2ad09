package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/run/gather"
	"redline/internal/run/history"
	"redline/internal/show/listing"
	"redline/internal/text"
)

const historyHelp = `List finished runs and show whether they drift.

Every finished run is listed in redline-history.sqlite beside the run
directories. The directories are the source; redline history rebuild recreates
the list from them. Runs of the same plan, model and label form a series. Drift
reports whether a series changed by more than the usual variation between its
runs, since when, and what else changed at that time.`

const historyExamples = `  redline history
  redline history --model llama --since 30d
  redline history show 7b2272
  redline history show nightly
  redline history pin 7b2272 --note 'after the upgrade'
  redline history drift --label nightly
  redline history prune --older-than 180d --dry-run`

// shelf is the directory of runs that a history command looks at, and how it
// answers.
type shelf struct {
	root   string
	asJSON bool
}

func (p *process) historyCommand() *cobra.Command {
	s := &shelf{}
	c := &cobra.Command{Use: "history", Short: "list finished runs, pin a baseline, show drift", Long: historyHelp, Example: historyExamples,
		SuggestionsMinimumDistance: 2}
	c.PersistentFlags().StringVar(&s.root, "runs", "runs", "directory that holds the run directories")
	c.PersistentFlags().BoolVar(&s.asJSON, "json", false, "print JSON")
	filter := filterFlags(c)
	verdict := c.Flags().String("verdict", "", "only runs with this verdict: "+strings.Join(history.Verdicts, ", "))
	all := c.Flags().Bool("all", false, "list every run, not just the newest 20")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		f, err := filter(time.Now())
		if err != nil {
			return err
		}
		if f.Verdict = *verdict; f.Verdict != "" && !slices.Contains(history.Verdicts, f.Verdict) {
			return usage("--verdict %q is not known; %s", f.Verdict, text.Cure(f.Verdict, history.Verdicts))
		}
		return p.withHistory(c.Context(), s, func(ix *history.Index) error { return p.listRuns(c.Context(), ix, s, f, *all) })
	}
	c.AddCommand(p.historyShow(s), p.historyPin(s), p.historyUnpin(s), p.historyPrune(s), p.historyRebuild(s), p.historyDrift(s))
	return c
}

// withHistory opens the index for as long as do takes.
func (p *process) withHistory(ctx context.Context, s *shelf, do func(*history.Index) error) error {
	ix, err := history.Open(ctx, s.root)
	if err != nil {
		return err
	}
	return errors.Join(do(ix), ix.Close())
}

// filterFlags adds the flags that choose runs.
func filterFlags(c *cobra.Command) func(now time.Time) (history.Filter, error) {
	var f history.Filter
	var since, until string
	c.Flags().StringVar(&f.Model, "model", "", "only runs of models whose name contains this")
	c.Flags().StringVar(&f.Engine, "engine", "", "only runs of engines whose name contains this")
	c.Flags().StringVar(&f.Label, "label", "", "only runs with this label")
	c.Flags().StringVar(&since, "since", "", "only runs since: a date such as 2026-01-31, or an age such as 30d or 12h")
	c.Flags().StringVar(&until, "until", "", "only runs before: a date or an age")
	return func(now time.Time) (history.Filter, error) {
		var err error
		if f.Since, err = moment("--since", since, now); err != nil {
			return f, err
		}
		f.Until, err = moment("--until", until, now)
		return f, err
	}
}

// moment reads a date or an age.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if age, err := parseAge(text); err == nil {
		return now.Add(-age), nil
	}
	return time.Time{}, usage("%s: expected a date such as 2026-01-31 or an age such as 30d or 12h, got %q", flag, text)
}

// parseAge reads a duration that may be in days.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || !(n >= 0 && n < 36500) {
			return 0, fmt.Errorf("expected a number of days, got %q", text)
		}
		return time.Duration(n * 24 * float64(time.Hour)), nil
	}
	age, err := time.ParseDuration(text)
	if err == nil && age < 0 {
		err = fmt.Errorf("expected an age of at least 0, got %q", text)
	}
	return age, err
}

// shortList is how many runs are listed unless all are asked for.
const shortList = 20

func (p *process) listRuns(ctx context.Context, ix *history.Index, s *shelf, f history.Filter, all bool) error {
	entries, err := ix.List(ctx, f)
	if err != nil {
		return err
	}
	if s.asJSON {
		slices.Reverse(entries) // the newest first, as the list has them
		return p.printJSON(map[string]any{"runs": append([]*history.Entry{}, entries...)})
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintf(p.stdout, "No matching runs in %s.\n", s.root)
		return err
	}
	more := max(len(entries)-shortList, 0)
	if all {
		more = 0
	}
	if err := p.print(listing.Runs(entries[more:])); err != nil {
		return err
	}
	if more > 0 {
		_, err = fmt.Fprintf(p.stdout, "\n%d older: --all lists them\n", more)
	}
	return err
}

// oneRun asks for the one argument that names a run.
func oneRun(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s needs one run: its id, the beginning of one, its directory or its label; redline history lists them", c.CommandPath())
	}
	return nil
}

// withRun does something with the run that an argument names.
func (p *process) withRun(c *cobra.Command, s *shelf, name string, do func(*history.Index, *history.Entry) error) error {
	return p.withHistory(c.Context(), s, func(ix *history.Index) error {
		e, err := ix.Find(c.Context(), name)
		if err != nil && isRunPath(name) {
			return usage("%s is not in %s; --runs %s lists it", name, s.root, filepath.Dir(filepath.Clean(name)))
		}
		if err != nil {
			return err
		}
		return do(ix, e)
	})
}

// isRunPath reports whether a word is the path of a directory, rather than an
// id or a label.
func isRunPath(word string) bool {
	info, err := os.Stat(word)
	return err == nil && info.IsDir() && word != filepath.Base(word)
}

func (p *process) historyShow(s *shelf) *cobra.Command {
	return &cobra.Command{Use: "show RUN", Short: "show the report of a run", Args: oneRun, Example: "  redline history show 7b2272",
		RunE: func(c *cobra.Command, args []string) error {
			show := func(dir string) error {
				runs, err := gather.Runs(dir)
				if err != nil {
					return err
				}
				return p.show(runs[0], s.asJSON, false)
			}
			if isRunPath(args[0]) { // it need not be one of the list
				return show(args[0])
			}
			return p.withRun(c, s, args[0], func(_ *history.Index, e *history.Entry) error {
				return show(filepath.Join(s.root, filepath.FromSlash(e.Path)))
			})
		}}
}

func (p *process) historyPin(s *shelf) *cobra.Command {
	c := &cobra.Command{Use: "pin RUN", Short: "make a run the baseline of its series", Args: oneRun,
		Long:    "Make a run the baseline of its series: drift counts from it on. A series has\none baseline.",
		Example: "  redline history pin 7b2272 --note 'vLLM 0.12 is in production'"}
	note := c.Flags().String("note", "", "why")
	c.RunE = func(c *cobra.Command, args []string) error {
		return p.withRun(c, s, args[0], func(ix *history.Index, e *history.Entry) error {
			replaced, err := ix.Pin(c.Context(), e, history.Pin{At: time.Now().UTC().Truncate(time.Second), Note: *note})
			if err != nil {
				return err
			}
			line := fmt.Sprintf("%s is the baseline of %s", e.Path, e.Name())
			for _, other := range replaced {
				line += ", in place of " + other.Path
			}
			_, err = fmt.Fprintln(p.stdout, p.line(line))
			return err
		})
	}
	return c
}

func (p *process) historyUnpin(s *shelf) *cobra.Command {
	return &cobra.Command{Use: "unpin RUN", Short: "remove a baseline", Args: oneRun, Example: "  redline history unpin 7b2272",
		RunE: func(c *cobra.Command, args []string) error {
			return p.withRun(c, s, args[0], func(ix *history.Index, e *history.Entry) error { return ix.Unpin(c.Context(), e) })
		}}
}

func (p *process) historyRebuild(s *shelf) *cobra.Command {
	return &cobra.Command{Use: "rebuild", Short: "rebuild the list from the run directories", Args: noArguments,
		Example: "  redline history rebuild --runs /data/runs",
		RunE: func(c *cobra.Command, _ []string) error {
			found, err := history.Rebuild(c.Context(), s.root)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.stdout, "%s found in %s\n", text.Plural(found, "run"), s.root)
			return err
		}}
}

const pruneHelp = `Delete old runs, with their directories and records. Baselines stay.`

func (p *process) historyPrune(s *shelf) *cobra.Command {
	c := &cobra.Command{Use: "prune", Short: "delete old runs; baselines stay", Long: pruneHelp, Args: noArguments,
		Example: "  redline history prune --older-than 180d --dry-run\n  redline history prune --keep 200"}
	var policy history.Policy
	older := c.Flags().String("older-than", "", "delete runs older than this: 90d, 12h")
	c.Flags().IntVar(&policy.Keep, "keep", 0, "number of newest runs to keep")
	dry := c.Flags().Bool("dry-run", false, "print what would be deleted and stop")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var err error
		if policy.Before, err = moment("--older-than", *older, time.Now()); err != nil {
			return err
		}
		if policy.Keep < 0 || policy.Keep == 0 && policy.Before.IsZero() {
			return usage("redline history prune needs --older-than AGE, or --keep N with N above 0")
		}
		return p.withHistory(c.Context(), s, func(ix *history.Index) error { return p.prune(c.Context(), ix, policy, *dry) })
	}
	return c
}

func (p *process) prune(ctx context.Context, ix *history.Index, policy history.Policy, dry bool) error {
	stale, err := ix.Stale(ctx, policy)
	if err != nil {
		return err
	}
	word := "deleted"
	if dry {
		word = "would delete"
	}
	for _, e := range stale {
		if !dry {
			if err := ix.Remove(ctx, e); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(p.stdout, "%s %s\n", word, p.line(e.Path)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(p.stdout, "%s %s\n", word, text.Plural(len(stale), "run"))
	return err
}

const driftHelp = `Report whether the runs of one plan changed over time.

A change is reported only if it exceeds the usual variation between the runs of
the series; the rate of false alarms is designed to stay below 4% over 24 runs
and all metrics. At least ten runs are needed. Without a pinned baseline the
first run is the baseline; pinning a run accepts its level. Invalid runs are
left out.

Exit code: 0 steady or better, 4 worse, 6 too few runs.`

func (p *process) historyDrift(s *shelf) *cobra.Command {
	c := &cobra.Command{Use: "drift [RUN]", Short: "report whether a series of runs changed", Long: driftHelp, Args: atMostOneArgument,
		Example: "  redline history drift\n  redline history drift --label nightly\n  redline history drift 7b2272 --json"}
	filter := filterFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := filter(time.Now())
		if err != nil {
			return err
		}
		return p.withHistory(c.Context(), s, func(ix *history.Index) error {
			if len(args) == 1 {
				e, err := ix.Find(c.Context(), args[0])
				if err != nil {
					return err
				}
				f.Series = e.Series
			}
			return p.drift(c.Context(), ix, s, f)
		})
	}
	return c
}

// drift judges every series that has a run among those wanted.
func (p *process) drift(ctx context.Context, ix *history.Index, s *shelf, f history.Filter) error {
	wanted, err := ix.List(ctx, f)
	if err != nil {
		return err
	}
	drifts := []*result.Drift{}
	for _, e := range history.Newest(wanted) {
		d, err := ix.Drift(ctx, e)
		if err != nil {
			return err
		}
		drifts = append(drifts, d)
	}
	if err := p.showDrifts(s, drifts); err != nil {
		return err
	}
	return driftEnding(drifts)
}

func (p *process) showDrifts(s *shelf, drifts []*result.Drift) error {
	if s.asJSON {
		return p.printJSON(map[string]any{"drift": drifts})
	}
	if len(drifts) == 0 {
		_, err := fmt.Fprintf(p.stdout, "No matching runs in %s.\n", s.root)
		return err
	}
	if len(drifts) > 1 {
		if err := p.print(listing.Drifts(drifts)); err != nil {
			return err
		}
	}
	for _, d := range drifts {
		if len(drifts) > 1 {
			if len(d.Changes) == 0 {
				continue
			}
			fmt.Fprintln(p.stdout)
		}
		if err := p.print(listing.Drift(d)); err != nil {
			return err
		}
	}
	return nil
}

// driftEnding is how the process ends: worse anywhere before undecided
// everywhere.
func driftEnding(drifts []*result.Drift) error {
	undecided := 0
	for _, d := range drifts {
		switch d.Standing {
		case slo.Worse, slo.Mixed:
			return &exitCodeError{exitRegression, nil}
		case slo.Undecided, slo.NotJudged:
			undecided++
		}
	}
	if undecided == len(drifts) && undecided > 0 {
		return &exitCodeError{exitUndecided, nil}
	}
	return nil
}

// remember puts a finished run into the index beside it. A run stands without
// it, so whatever goes wrong there is only said.
func (p *process) remember(ctx context.Context, dir string) {
	ix, err := history.Open(ctx, filepath.Dir(dir))
	if err == nil {
		err = errors.Join(ix.Add(ctx, dir), ix.Close())
	}
	if err != nil {
		fmt.Fprintln(p.stderr, "redline: the run is not in the history:", p.line(err.Error()))
	}
}
