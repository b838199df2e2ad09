package measure

import (
	"fmt"
	"strings"

	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/assemble"
	"redline/internal/store"
)

// Pool gives the figures of several runs of one plan together.
func Pool(c *config.Config, paths []string) (result.Point, error) {
	runs, err := openRuns(c, paths)
	if err != nil {
		return result.Point{}, err
	}
	return assemble.Pool(c, runs, maxWindow(c))
}

// Judge gives the verdicts of objectives that a run's own plan does not have.
func Judge(c *config.Config, path string, objectives []slo.Objective) ([]slo.Verdict, error) {
	runs, err := openRuns(c, []string{path})
	if err != nil {
		return nil, err
	}
	asked := *c
	asked.Objectives = objectives
	return runs[0].Judge(&asked, maxWindow(c))
}

// Machine gives, for every request of a stored run, what the machine that sent it may
// have done to its times.
func Machine(c *config.Config, path string) func(*record.Record) account.Machine {
	if runs, err := openRuns(c, []string{path}); err == nil {
		if of := runs[0].Machine(); of != nil {
			return of
		}
	}
	return func(*record.Record) account.Machine { return account.Machine{} }
}

// watchesOf is what a run wrote down of the hold-ups of who sent it.
func watchesOf(dir *store.Dir) []holdup.Watch {
	logged, err := dir.ReadTelemetry()
	if err != nil || logged == nil {
		return nil // the figures then say that nobody watched
	}
	return logged.Holdups()
}

// openRuns reads the runs that have measured something.
func openRuns(c *config.Config, paths []string) ([]assemble.StoredRun, error) {
	var runs []assemble.StoredRun
	for _, path := range paths {
		dir, err := store.Open(path)
		if err != nil {
			return nil, err
		}
		res, err := dir.Result()
		if err != nil {
			return nil, err
		}
		if len(res.Points) > 0 {
			runs = append(runs, assemble.StoredRun{Plan: c, Result: res, Records: dir.Records, Watches: watchesOf(dir)})
		}
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("nothing was measured in %s: measure again, for longer than the warm-up takes", strings.Join(paths, ", "))
	}
	return runs, nil
}
