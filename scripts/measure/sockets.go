//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"redline/docs/pages"
	"redline/internal/judge/result"
	"redline/internal/store"
	"redline/internal/text"
)

const limitTruth = "internal/answer/search/testdata/truth.json"

// socketSearch is a search over sockets, and the row of the truths that it is laid
// beside.
type socketSearch struct {
	mark              string // of the part of the page
	engine, objective string
	seeds             []int
	load              []string
}

var (
	rateSearch  = socketSearch{"sockets", "8B", "ttft:p99<500ms", []int{11, 12}, nil}
	agentSearch = socketSearch{"agent sockets", "8B coding", "tpot:p95<40ms, ttft:p95<2s", []int{21, 22, 23},
		[]string{"--workload", "coding_agent", "--idle-cap", "10s", "--agents", "1..64"}}
)

// sockets searches for the limit of the embedded engine over real sockets, and
// lays what is found beside the truth that virtual time knows.
func sockets(h *harness) func() error {
	searches := h.String("searches", "runs/socketlimit", "where the searches are; one that was cut short is resumed")
	together := h.Bool("together", false, "run the searches side by side: only on a machine with cores to spare")
	only := h.Bool("table", false, "only write the table, of the searches in -searches")
	budget := h.String("budget", "10m", "the time that each search may take")
	agents := h.Bool("agents", false, "search for a number of agents")
	return func() error {
		asked := rateSearch
		if *agents {
			asked = agentSearch
		}
		at := func(seed int) string { return filepath.Join(*searches, fmt.Sprint("seed-", seed)) }
		errs := make([]error, len(asked.seeds))
		var all sync.WaitGroup
		for i, seed := range asked.seeds {
			if *only {
				break
			}
			all.Go(func() { errs[i] = h.search(asked, at(seed), *budget, seed) })
			if !*together {
				all.Wait()
			}
		}
		all.Wait()
		want, err := asked.trueLimit()
		if err := errors.Join(append(errs, err)...); err != nil {
			return err
		}
		table := "| seed | found | 90% interval | truth | off by | covered | sustained | load, s |\n|---|---|---|---|---|---|---|---|\n"
		for _, seed := range asked.seeds {
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
		if *only && len(h.invalid) == 0 {
			return pages.Write(filepath.Base(h.page), asked.mark, table) // which machine made them is not known
		}
		return h.writePart(asked.mark, table)
	}
}

// search runs a search, or resumes it.
func (h *harness) search(asked socketSearch, dir, budget string, seed int) error {
	args := append([]string{"sweep", "--quiet", "--find-limit", "--budget", budget, "--seed", fmt.Sprint(seed), "--out", dir}, asked.load...)
	for objective := range strings.SplitSeq(asked.objective, ", ") {
		args = append(args, "--slo", objective)
	}
	if (&store.Dir{Path: dir}).IsExperiment() {
		args = []string{"sweep", "--quiet", "--resume", dir}
	}
	_, err := h.finish(place{}, args...)
	return err
}

// trueLimit is the limit that many runs in virtual time gave.
func (s socketSearch) trueLimit() (float64, error) {
	data, err := os.ReadFile(limitTruth)
	if err != nil {
		return 0, err
	}
	var known []struct {
		Engine, Objective string
		Limit             float64
	}
	if err := json.Unmarshal(data, &known); err != nil {
		return 0, err
	}
	for _, k := range known {
		if k.Engine == s.engine && k.Objective == s.objective {
			return k.Limit, nil
		}
	}
	return 0, fmt.Errorf("%s does not know %s under %s", limitTruth, s.engine, s.objective)
}

func limitRow(seed int, l *result.Limit, want float64) string {
	if l == nil {
		return fmt.Sprintf("| %d | none | | %.2f | | | none | |\n", seed, want)
	}
	held, number := "none", func(v float64) string { return fmt.Sprint(text.Round(v, 4)) }
	if l.Held != nil {
		held = fmt.Sprintf("%s for %.0f s", number(l.Held.Rate), l.Held.Seconds)
	}
	return fmt.Sprintf("| %d | %s | %s–%s | %s | %+.1f%% | %s | %s | %.0f |\n", seed, number(l.Rate), number(l.Interval[0]), number(l.Interval[1]), number(want),
		100*(l.Rate/want-1), yesNo(l.Interval[0] <= want && want <= l.Interval[1]), held, l.LoadS)
}
