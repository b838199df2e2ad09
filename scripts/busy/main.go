//go:build linux

// Command busy measures redline on cores that are disturbed on purpose, against
// a server on a core of its own that writes down when each token was really
// sent: whether the true value of each figure lies between the two ends that
// redline gives, and whether its verdicts are right. It writes docs/measured/BUSY.md. It
// is run from the repository's root, by make busy; its binary and bin/redline
// alone are enough on another machine, from which only the state file is
// brought back.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"redline/scripts/truth"
)

func main() {
	play(os.Args[1:])
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "busy:", err)
		os.Exit(1)
	}
}

func run() error {
	h := harness{machine: truth.Machine()}
	dir := flag.String("state", "bin/busy-runs", "directory of the state: one line for each finished run in busy.jsonl; -table reads every .jsonl file in it")
	page := flag.String("out", "docs/measured/BUSY.md", "page to write")
	only := flag.String("only", "", "settings to run, by name, with commas between them")
	steal := flag.Bool("steal", false, "run the setting steal alone: on a virtual machine whose host takes its cores, beside the server")
	first := flag.Bool("first", false, "run the README's first command beside two busy loops, and nothing else")
	table := flag.Bool("table", false, "write the page from the state, and run nothing")
	budget := flag.Duration("budget", 0, "start no run after this time (0: run all)")
	runs := flag.Int("runs", fullRuns, "runs of each setting")
	parallel := flag.Int("parallel", 0, "runs side by side (0: as many as the cores allow)")
	flag.StringVar(&h.redline, "redline", "bin/redline", "program to measure")
	flag.StringVar(&h.keep, "keep", "", "directory for the files of runs whose true values lie outside the ends (default: they are removed)")
	flag.DurationVar(&h.window, "window", 15*time.Second, "measured window of a run")
	flag.Parse()
	if *table {
		return writePage(*dir, *page)
	}
	chosen, err := choose(*only, *steal, *first)
	if err != nil {
		return err
	}
	if err := h.open(*dir); err != nil {
		return err
	}
	defer h.close()
	all, err := cores()
	if err != nil {
		return err
	}
	seats, err := layout(all, chosen[0].coresNeeded(), *parallel)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	starting := ctx
	if *budget > 0 {
		starting, stop = context.WithTimeout(ctx, *budget)
		defer stop()
	}
	if !*first {
		if err := h.all(ctx, starting, seats, h.baselines()); err != nil {
			return err
		}
	}
	if err := h.all(ctx, starting, seats, h.missing(chosen, *runs)); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(*page)); err != nil {
		fmt.Fprintf(os.Stderr, "%v: the state is in %s; bring it to the repository and write the page with -table -state DIR\n", err, *dir)
		return nil
	}
	return writePage(*dir, *page)
}

// choose gives the settings that were asked for. The README's first command
// needs other cores than the rest, so that it is run apart.
func choose(only string, steal, first bool) ([]setting, error) {
	switch {
	case steal:
		only = stealSetting
	case first:
		only = firstSetting
	case only == "":
		return slices.DeleteFunc(slices.Clone(settings), setting.apart), nil
	}
	var chosen []setting
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(settings, func(s setting) bool { return s.name == strings.TrimSpace(name) })
		if i < 0 {
			var names []string
			for _, s := range settings {
				names = append(names, s.name)
			}
			return nil, fmt.Errorf("-only: there is no setting %q; the settings are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, settings[i])
	}
	if slices.ContainsFunc(chosen, setting.apart) && len(chosen) > 1 {
		return nil, fmt.Errorf("-only: %s and %s are run apart from other settings", stealSetting, firstSetting)
	}
	return chosen, nil
}

// harness runs trials and keeps what came of them.
type harness struct {
	redline string
	version string
	keep    string // "" to keep none
	window  time.Duration
	machine string

	log   *os.File // what the programs print
	mu    sync.Mutex
	state *os.File
	done  []outcome
}

func (h *harness) open(dir string) error {
	if _, err := os.Stat(h.redline); err != nil {
		return fmt.Errorf("%w: build it with make build, or name it with -redline", err)
	}
	path, err := filepath.Abs(h.redline)
	if err != nil {
		return err
	}
	h.redline = path
	version, err := exec.Command(path, "version").Output()
	if err != nil {
		return fmt.Errorf("%s version: %w", path, err)
	}
	h.version = strings.TrimSpace(string(version))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if h.state, err = openState(filepath.Join(dir, "busy.jsonl")); err != nil {
		return err
	}
	if h.log, err = os.Create(filepath.Join(dir, "busy.log")); err != nil {
		return err
	}
	if h.done, err = readState(dir); err != nil {
		return err
	}
	return h.checkVersions(dir)
}

// checkVersions keeps runs of two programs from becoming one table.
func (h *harness) checkVersions(dir string) error {
	for _, o := range h.done {
		if o.Version != h.version {
			return fmt.Errorf("%s holds runs of %s, and this is %s: remove it, or name another directory with -state", dir, o.Version, h.version)
		}
	}
	return nil
}

func (h *harness) close() {
	h.state.Close()
	h.log.Close()
}

// all runs trials until none is left, or none may be started any more. A trial
// that could not be made is left for the next time.
func (h *harness) all(ctx, starting context.Context, seats []seat, trials []trial) error {
	queue := make(chan trial)
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for _, s := range seats {
		group.Go(func() {
			for t := range queue {
				if err := h.one(ctx, s, t); err != nil {
					fmt.Fprintf(os.Stderr, "%s: %v\n", t, err)
					mu.Lock()
					failed = append(failed, fmt.Errorf("%s: %w", t, err))
					mu.Unlock()
				}
			}
		})
	}
	left := trials
	for len(left) > 0 && starting.Err() == nil {
		select {
		case queue <- left[0]:
			left = left[1:]
		case <-starting.Done():
		}
	}
	close(queue)
	group.Wait()
	if len(left) > 0 {
		fmt.Fprintf(os.Stderr, "%d of %d runs are left for the next time\n", len(left), len(trials))
	}
	return errors.Join(append(failed, ctx.Err())...)
}

// one makes a trial and keeps what came of it.
func (h *harness) one(ctx context.Context, s seat, t trial) error {
	try := h.compare
	if t.setting.name == firstSetting {
		try = h.first
	}
	if h.has(t) {
		return nil // a setting that cannot be had is tried once
	}
	o := outcome{Setting: t.setting.name, Number: t.number, Load: t.load.name, NoStamps: t.noStamps, Machine: h.machine, Version: h.version, SharedCores: s.server == nil}
	if err := try(ctx, s, t, &o); err != nil || ctx.Err() != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: exit %d\n", t, o.Exit)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, o)
	return o.append(h.state)
}

// baselines are the trials by whose truth limits are placed: each load once,
// for four windows, undisturbed.
func (h *harness) baselines() []trial {
	var list []trial
	for _, l := range loads {
		t := trial{setting: setting{name: baselineSetting}, load: l, window: 4 * h.window}
		if !h.has(t) {
			list = append(list, t)
		}
	}
	return list
}

// missing are the trials of the settings that are not in the state, the first
// of each setting before the second of any.
func (h *harness) missing(chosen []setting, runs int) []trial {
	var list []trial
	for number := range runs {
		for _, s := range chosen {
			for _, noStamps := range []bool{false, true} {
				t := trial{setting: s, number: number, noStamps: noStamps, load: loads[number%len(loads)], window: h.window}
				if s.name == firstSetting {
					t.load = load{}
				}
				if (s.name != firstSetting || !noStamps) && !h.has(t) {
					list = append(list, t)
				}
			}
		}
	}
	return list
}

// has reports whether a trial is in the state, or its setting cannot be had on
// this machine.
func (h *harness) has(t trial) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.done, func(o outcome) bool {
		if o.Unavailable != "" {
			return o.Setting == t.setting.name && o.Machine == h.machine
		}
		return o.Setting == t.setting.name && o.Number == t.number && o.Load == t.load.name && o.NoStamps == t.noStamps
	})
}

// cores are those that this process may use.
func cores() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var list []int
	for i := 0; len(list) < set.Count(); i++ {
		if set.IsSet(i) {
			list = append(list, i)
		}
	}
	return list, nil
}
