// Command socketlimit searches for the limit of the embedded engine over real
// sockets, with two seeds, and lays what is found beside the truth that
// virtual time knows. It writes its table into docs/measured/LIMIT.md.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"redline/internal/judge/result"
	"redline/scripts/truth"
)

const (
	truthFile = "internal/answer/search/testdata/truth.json"
	page      = "docs/measured/LIMIT.md"
	engine    = "8B"
	objective = "ttft:p99<500ms"
)

func main() {
	log.SetFlags(0)
	redline := flag.String("redline", "bin/redline", "the program")
	dir := flag.String("dir", "runs/socketlimit", "where the searches lie; one that was cut short is resumed")
	together := flag.Bool("together", false, "run the searches side by side: only on a machine with cores to spare")
	only := flag.Bool("table", false, "only write the table, of the searches in -dir")
	budget := flag.String("budget", "10m", "the time that each search may take")
	flag.Parse()
	if !*only {
		if err := search(*redline, *dir, *budget, *together); err != nil {
			log.Fatal("socketlimit: ", err)
		}
	}
	if err := document(*dir); err != nil {
		log.Fatal("socketlimit: ", err)
	}
}

var seeds = []int{11, 12}

// search runs the searches, one after another or side by side.
func search(redline, dir, budget string, together bool) error {
	errs := make([]error, len(seeds))
	var all sync.WaitGroup
	for i, seed := range seeds {
		all.Go(func() { errs[i] = one(redline, at(dir, seed), budget, seed) })
		if !together {
			all.Wait()
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func at(dir string, seed int) string { return filepath.Join(dir, fmt.Sprint("seed-", seed)) }

// one runs a search, or resumes it. Exit codes that are verdicts are no
// errors.
func one(redline, dir, budget string, seed int) error {
	args := []string{"sweep", "--find-limit", "--budget", budget, "--slo", objective, "--seed", fmt.Sprint(seed), "--out", dir}
	if _, err := os.Stat(filepath.Join(dir, "experiment.json")); err == nil {
		args = []string{"sweep", "--resume", dir}
	}
	out, err := exec.Command(redline, args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 3 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("redline %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// limit is the limit that many runs in virtual time gave.
func limit() (float64, error) {
	text, err := os.ReadFile(truthFile)
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
		if k.Engine == engine && k.Objective == objective {
			return k.Limit, nil
		}
	}
	return 0, fmt.Errorf("%s does not know %s under %s", truthFile, engine, objective)
}

// document replaces the table between the marks of the page.
func document(dir string) error {
	want, err := limit()
	if err != nil {
		return err
	}
	table := "| seed | found | 90% interval | truth | off by | covered | held | clock | run |\n|---|---|---|---|---|---|---|---|---|\n"
	for _, seed := range seeds {
		text, err := os.ReadFile(filepath.Join(at(dir, seed), "result.json"))
		if err != nil {
			return err
		}
		var r result.Result
		if err := json.Unmarshal(text, &r); err != nil {
			return err
		}
		if r.Limit == nil {
			table += fmt.Sprintf("| %d | none | | %.2f | | | none | | invalid: %s |\n", seed, want, strings.Join(r.Verdict.Reasons, "; "))
			continue
		}
		table += row(seed, &r, want)
	}
	return truth.Replace(page, "sockets", table)
}

func row(seed int, r *result.Result, want float64) string {
	l := r.Limit
	valid := "valid"
	switch {
	case r.Interrupted != "":
		valid = "cut short"
	case r.Verdict.Valid != result.Valid:
		valid = "invalid: " + strings.Join(r.Verdict.Reasons, "; ")
	}
	held := "none"
	if l.Held != nil {
		held = fmt.Sprintf("%.2f for %.0f s", l.Held.Rate, l.Held.Seconds)
	}
	return fmt.Sprintf("| %d | %.2f | %.2f–%.2f | %.2f | %+.1f%% | %s | %s | %.0f s | %s |\n", seed, l.Rate, l.Interval[0], l.Interval[1], want,
		100*(l.Rate/want-1), yes(l.Interval[0] <= want && want <= l.Interval[1]), held, l.LoadS, valid)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
