//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"redline/internal/judge/result"
	"redline/internal/store"
)

const (
	limitTruth     = "internal/answer/search/testdata/truth.json"
	limitEngine    = "8B"
	limitObjective = "ttft:p99<500ms"
)

// sockets searches for the limit of the embedded engine over real sockets, and
// lays what is found beside the truth that virtual time knows.
func sockets(h *harness) func() error {
	searches := h.String("searches", "runs/socketlimit", "where the searches are; one that was cut short is resumed")
	together := h.Bool("together", false, "run the searches side by side: only on a machine with cores to spare")
	only := h.Bool("table", false, "only write the table, of the searches in -searches")
	budget := h.String("budget", "10m", "the time that each search may take")
	return func() error {
		seeds := []int{11, 12}
		at := func(seed int) string { return filepath.Join(*searches, fmt.Sprint("seed-", seed)) }
		errs := make([]error, len(seeds))
		var all sync.WaitGroup
		for i, seed := range seeds {
			if *only {
				break
			}
			all.Go(func() { errs[i] = h.search(at(seed), *budget, seed) })
			if !*together {
				all.Wait()
			}
		}
		all.Wait()
		want, err := trueLimit()
		if err := errors.Join(append(errs, err)...); err != nil {
			return err
		}
		table := "| seed | found | 90% interval | truth | off by | covered | sustained | load, s |\n|---|---|---|---|---|---|---|---|\n"
		for _, seed := range seeds {
			r, err := (&store.Dir{Path: at(seed)}).Result()
			if err != nil {
				return err
			}
			h.demandValid(r, fmt.Sprintf("seed %d", seed))
			if r.Interrupted != "" || r.Limit == nil {
				h.invalid = append(h.invalid, fmt.Sprintf("seed %d: cut short, or no limit found", seed))
			}
			table += limitRow(seed, r.Limit, want)
		}
		return h.writePart("sockets", table)
	}
}

// search runs a search, or resumes it.
func (h *harness) search(dir, budget string, seed int) error {
	args := []string{"sweep", "--quiet", "--find-limit", "--budget", budget, "--slo", limitObjective, "--seed", fmt.Sprint(seed), "--out", dir}
	if (&store.Dir{Path: dir}).IsExperiment() {
		args = []string{"sweep", "--quiet", "--resume", dir}
	}
	_, err := h.finish(place{}, args...)
	return err
}

// trueLimit is the limit that many runs in virtual time gave.
func trueLimit() (float64, error) {
	text, err := os.ReadFile(limitTruth)
	if err != nil {
		return 0, err
	}
	var known []struct {
		Engine, Objective string
		Limit             float64
	}
	if err := json.Unmarshal(text, &known); err != nil {
		return 0, err
	}
	for _, k := range known {
		if k.Engine == limitEngine && k.Objective == limitObjective {
			return k.Limit, nil
		}
	}
	return 0, fmt.Errorf("%s does not know %s under %s", limitTruth, limitEngine, limitObjective)
}

func limitRow(seed int, l *result.Limit, want float64) string {
	if l == nil {
		return fmt.Sprintf("| %d | none | | %.2f | | | none | |\n", seed, want)
	}
	held := "none"
	if l.Held != nil {
		held = fmt.Sprintf("%.2f for %.0f s", l.Held.Rate, l.Held.Seconds)
	}
	return fmt.Sprintf("| %d | %.2f | %.2f–%.2f | %.2f | %+.1f%% | %s | %s | %.0f |\n", seed, l.Rate, l.Interval[0], l.Interval[1], want,
		100*(l.Rate/want-1), yesNo(l.Interval[0] <= want && want <= l.Interval[1]), held, l.LoadS)
}
