//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"redline/internal/stats"
	"redline/internal/store"
	"redline/internal/text"
)

// busy measures redline on cores that are disturbed on purpose, against a server
// on a core of its own that notes when each token was really sent: whether the
// true value of each figure lies between the two ends that redline gives, and
// whether its verdicts are right. Invalid runs are part of what it shows.
func busy(h *harness) func() error {
	r := &busyRuns{harness: h, machine: machine()}
	dir := h.String("state", "bin/busy-runs", "directory of the state: one line for each finished run in busy.jsonl; -table reads every .jsonl file in it")
	only := h.String("only", "", "settings to run, by name, with commas between them")
	first := h.Bool("first", false, "run the README's first command beside two busy loops, and nothing else")
	table := h.Bool("table", false, "write the page from the state, and run nothing")
	budget := h.Duration("budget", 0, "start no run after this time (0: run all)")
	runs := h.Int("runs", fullRuns, "runs of each setting")
	parallel := h.Int("parallel", 0, "runs side by side (0: as many as the cores allow)")
	h.DurationVar(&r.window, "window", 15*time.Second, "measured window of a run")
	return func() error {
		if *table {
			return r.writeBusy(*dir)
		}
		chosen, err := choose(*only, *first)
		if err != nil {
			return err
		}
		if err := r.open(*dir); err != nil {
			return err
		}
		defer r.state.Close()
		all, err := cores()
		if err != nil {
			return err
		}
		seats, err := layout(all, chosen[0].coresNeeded(), *parallel)
		if err != nil {
			return err
		}
		starting := context.Background()
		if *budget > 0 {
			var stop func()
			starting, stop = context.WithTimeout(starting, *budget)
			defer stop()
		}
		if !*first {
			if err := r.all(starting, seats, r.baselines()); err != nil {
				return err
			}
		}
		if err := r.all(starting, seats, r.missingTrials(chosen, *runs)); err != nil {
			return err
		}
		if err := r.writeBusy(*dir); err != nil {
			return fmt.Errorf("%w; the state is in %s: on another machine, write the page with -table -state DIR", err, *dir)
		}
		return nil
	}
}

// choose gives the settings that were asked for. The README's first command
// needs other cores than the rest, so that it is run by itself.
func choose(only string, first bool) (chosen []disturbance, err error) {
	unknown := strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	for _, d := range disturbances {
		i := slices.Index(unknown, d.name)
		if i >= 0 {
			unknown = slices.Delete(unknown, i, i+1)
		}
		if (d.name == firstName) == first && (i >= 0 || only == "") {
			chosen = append(chosen, d)
		}
	}
	if len(unknown) > 0 || len(chosen) == 0 {
		names := text.Each(disturbances, func(d disturbance) string { return d.name })
		return nil, fmt.Errorf("-only %s: the settings are %s, the last only with -first", only, strings.Join(names, ", "))
	}
	return chosen, nil
}

// busyRuns makes trials and keeps what came of them.
type busyRuns struct {
	*harness
	window  time.Duration
	machine string

	mu    sync.Mutex
	state *os.File
	done  []busyOutcome
}

func (h *busyRuns) open(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if h.state, err = openState(filepath.Join(dir, "busy.jsonl")); err != nil {
		return err
	}
	if h.done, err = readState[busyOutcome](dir); err != nil {
		return err
	}
	return h.checkVersions(dir)
}

// checkVersions keeps runs of two programs from becoming one table.
func (h *busyRuns) checkVersions(dir string) error {
	for _, o := range h.done {
		if o.Version != h.version {
			return fmt.Errorf("%s holds runs of %s, and this is %s: remove it, or name another directory with -state", dir, o.Version, h.version)
		}
	}
	return nil
}

// all runs trials until none is left, or none may be started any more. A trial
// that could not be made is left for the next time.
func (h *busyRuns) all(starting context.Context, seats []seat, trials []busyTrial) error {
	queue := make(chan busyTrial)
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for _, s := range seats {
		group.Go(func() {
			for t := range queue {
				if err := h.one(s, t); err != nil {
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
	return errors.Join(failed...)
}

// one makes a trial and keeps what came of it.
func (h *busyRuns) one(s seat, t busyTrial) error {
	if h.has(t) {
		return nil // a setting that cannot be had is tried once
	}
	o := busyOutcome{Setting: t.disturbance.name, Number: t.number, Load: t.load.name, NoStamps: t.noStamps, Machine: h.machine, Version: h.version, SharedCores: s.server == nil}
	if err := h.compareBusy(s, t, &o); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: exit %d\n", t, o.Exit)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, o)
	return appendState(h.state, o)
}

// baselines are the trials by whose truth limits are placed: each load once,
// for four windows, undisturbed.
func (h *busyRuns) baselines() (list []busyTrial) {
	for _, l := range busyLoads {
		list = append(list, busyTrial{disturbance: disturbance{name: baselineName}, load: l, window: 4 * h.window})
	}
	return slices.DeleteFunc(list, h.has)
}

// missingTrials are the trials of the settings that are not in the state, the first
// of each setting before the second of any.
func (h *busyRuns) missingTrials(chosen []disturbance, runs int) (list []busyTrial) {
	for number := range runs {
		for _, d := range chosen {
			if d.name == firstName {
				list = append(list, busyTrial{disturbance: d, number: number, window: h.window})
				continue
			}
			for _, noStamps := range []bool{false, true} {
				list = append(list, busyTrial{disturbance: d, number: number, noStamps: noStamps, load: busyLoads[number%len(busyLoads)], window: h.window})
			}
		}
	}
	return slices.DeleteFunc(list, h.has)
}

// has reports whether a trial is in the state, or its setting cannot be had on
// this machine.
func (h *busyRuns) has(t busyTrial) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.done, func(o busyOutcome) bool {
		if o.Unavailable != "" {
			return o.Setting == t.disturbance.name && o.Machine == h.machine
		}
		return o.Setting == t.disturbance.name && o.Number == t.number && o.Load == t.load.name && o.NoStamps == t.noStamps
	})
}

// disturbance is one way to disturb redline on its two cores.
type disturbance struct {
	name  string
	about string
	loops int // busy loops beside it, of the same priority
	// quota is the share of its cores' time that redline and the loops may use
	// together in each tenth of a second; 0 for all of it.
	quota float64
	// stopped is the share of the time for which the process is stopped, 1 to
	// 50 ms at a time.
	stopped float64
}

// The setting that is run by itself, and the runs that no table shows.
const (
	firstName    = "first"
	baselineName = "baseline"
)

var disturbances = []disturbance{
	{name: "0 loops", about: "nothing else on its cores"},
	{name: "1 loop", about: "one busy loop", loops: 1},
	{name: "2 loops", about: "two busy loops", loops: 2},
	{name: "4 loops", about: "four busy loops", loops: 4},
	{name: "quota 50%", about: "with two busy loops in a control group that has half of its cores' time: about 50 ms of every 100 ms", loops: 2, quota: 0.5},
	{name: "stopped 5%", about: "SIGSTOP and SIGCONT at random, 1–50 ms each, 5% of the time", stopped: 0.05},
	{name: "stopped 15%", about: "15% of the time", stopped: 0.15},
	{name: "stopped 35%", about: "35% of the time", stopped: 0.35},
	{name: firstName, about: "`redline run` beside two busy loops", loops: 2},
}

// coresNeeded is one for the server and two for redline. The README's first
// command has its server in its own process.
func (d disturbance) coresNeeded() int {
	if d.name == firstName {
		return 2
	}
	return 3
}

// busyLoad is what is asked of which server.
type busyLoad struct {
	name   string
	server []string // flags of redline sim
	client []string // flags of redline run
}

// busyLoads have replies that are short against a window of 15 s, and about 300
// requests in it.
var busyLoads = []busyLoad{
	{"paced 20 ms", []string{"--pace", "20ms"}, []string{"--rate", "25", "--workload", "fixed(64,40)"}},
	{"paced 5 ms", []string{"--pace", "5ms"}, []string{"--rate", "40", "--workload", "in=fixed(64) out=lognormal(30,0.6,8..120)"}},
	{"8B", nil, []string{"--rate", "25", "--workload", "in=lognormal(300,0.8,20..2000) out=lognormal(60,0.6,8..200)"}},
	{"70B", []string{"--model", "llama-3.1-70b", "--tp", "4"}, []string{"--rate", "20", "--workload", "in=lognormal(200,0.6,20..1000) out=lognormal(40,0.5,8..120)"}},
	{"8B, 16 users", nil, []string{"--concurrency", "16", "--workload", "in=lognormal(300,0.8,20..2000) out=lognormal(60,0.6,8..200)"}},
}

// busyTrial is one run.
type busyTrial struct {
	disturbance disturbance
	number      int // decides load and seed
	load        busyLoad
	noStamps    bool // without the kernel's
	window      time.Duration
}

// seed is one by whose runs nothing about the ends was chosen: those were below
// 200.
func (t busyTrial) seed() uint64 { return uint64(t.number) + 201 }

func (t busyTrial) String() string {
	return text.Join(", ", t.disturbance.name, "stamps "+stamps(t.noStamps), fmt.Sprintf("run %d", t.number+1), t.load.name)
}

// stamps names where arrival times come from.
func stamps(none bool) string {
	if none {
		return "none"
	}
	return "kernel"
}

// arguments are those of redline run, but for the server and the directory.
func (t busyTrial) arguments() []string {
	return append([]string{"run", "--quiet", "--warmup", "2s", "--duration", t.window.String(), "--seed", fmt.Sprint(t.seed())}, t.load.client...)
}

// seat is the cores of one run. The server has none of its own where it is
// nil: both may use all there are.
type seat struct{ server, client []int }

// layout divides cores among runs side by side, each with so many, and leaves
// one to this process where it can.
func layout(cores []int, needed, parallel int) ([]seat, error) {
	if len(cores) < needed {
		if parallel > 1 {
			return nil, fmt.Errorf("-parallel %d: a run takes all of %d cores", parallel, len(cores))
		}
		return []seat{{}}, nil
	}
	if parallel == 0 {
		parallel = max(1, (len(cores)-1)/needed)
	}
	if parallel*needed > len(cores) {
		return nil, fmt.Errorf("-parallel %d: a run takes %d cores, and there are %d", parallel, needed, len(cores))
	}
	var seats []seat
	for i := range parallel {
		own := cores[i*needed : (i+1)*needed]
		seats = append(seats, seat{own[:needed-2], own[needed-2:]})
	}
	return seats, nil
}

// busyTimeout bounds a run, whatever disturbs it.
const busyTimeout = 5 * time.Minute

// compareBusy makes a run against a server that keeps the truth, or the README's
// first command, which has its own.
func (h *busyRuns) compareBusy(s seat, t busyTrial, o *busyOutcome) error {
	dir, err := os.MkdirTemp(h.work, "busy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if t.disturbance.name == firstName {
		run, err := h.runDisturbed(s, t, o, dir, "run")
		if run != nil {
			_, err = o.read(run)
		}
		return err
	}
	server, err := h.simulateTruth(place{cores: s.server, priority: equal}, t.load.server...)
	if err != nil {
		return err
	}
	defer server.kill()
	run, err := h.runDisturbed(s, t, o, dir, append(t.arguments(), "--url", server.url)...)
	if err != nil || run == nil {
		return err
	}
	truth, err := server.stop()
	if err != nil {
		return err
	}
	if err := o.fill(run, truth); err != nil {
		return err
	}
	return o.judge(run, h.limits(t))
}

// runDisturbed runs redline to its end in dir, beside what disturbs it, and gives its
// run; none where the exit code says why, or the setting cannot be had.
func (h *busyRuns) runDisturbed(s seat, t busyTrial, o *busyOutcome, dir string, args ...string) (*store.Dir, error) {
	at := place{cores: s.client, priority: equal}
	if t.disturbance.quota > 0 {
		group, remove, err := quotaGroup(t.disturbance.quota, 2)
		if err != nil {
			o.Unavailable = err.Error()
			return nil, nil
		}
		defer remove()
		at.cgroup = group
	}
	stop, err := occupy(at, t.disturbance.loops)
	if err != nil {
		return nil, err
	}
	defer stop()
	out := filepath.Join(dir, "run")
	cmd := at.command(append([]string{h.redline}, append(args, "--out", out)...)...)
	cmd.Dir = dir
	if t.noStamps {
		cmd.Env = append(os.Environ(), "REDLINE_NO_KERNEL_STAMPS=1")
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	over, end := context.WithTimeout(context.Background(), busyTimeout)
	context.AfterFunc(over, func() { _ = cmd.Process.Kill() }) // it may have ended
	stopped := make(chan float64)
	go func() { stopped <- freeze(over, cmd.Process, t) }()
	err = cmd.Wait()
	late := over.Err() != nil
	end()
	o.Stopped = <-stopped
	if late {
		return nil, fmt.Errorf("not ended after %v", busyTimeout)
	}
	if o.Exit = cmd.ProcessState.ExitCode(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, err
	}
	run, err := store.Open(out)
	if err != nil {
		return nil, nil
	}
	return run, nil
}

// freeze stops a process again and again until the context ends, for the
// setting's share of the time. It gives the share for which it was stopped.
func freeze(ctx context.Context, p *os.Process, t busyTrial) (share float64) {
	if t.disturbance.stopped == 0 {
		return 0
	}
	const shortest, longest = float64(time.Millisecond), float64(50 * time.Millisecond)
	random := stats.Rand(t.seed(), "freezer", 0)
	running := (shortest + longest) / 2 * (1 - t.disturbance.stopped) / t.disturbance.stopped
	pause := func(ns float64) {
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(ns)):
		}
	}
	began, stopped := time.Now(), time.Duration(0)
	for ctx.Err() == nil {
		pause(running * stats.Exponential(random))
		at := time.Now()
		if p.Signal(syscall.SIGSTOP) != nil {
			break // it has ended
		}
		pause(shortest + (longest-shortest)*random.Float64())
		_ = p.Signal(syscall.SIGCONT)
		stopped += time.Since(at)
	}
	return stopped.Seconds() / time.Since(began).Seconds()
}
