package assemble

import (
	"slices"

	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
)

// busyShare of its cores is what a client uses at most that still reads as soon
// as tokens arrive.
const busyShare = 0.85

// machineOf says what a client may have done to the times that it took. What is
// stamped by the kernel is late only where the machine itself stood still, or
// the embedded engine wrote late; else every hold-up counts.
func machineOf(w holdup.Watch, c result.Client, embedded bool) account.Machine {
	stamps := []holdup.Kind{holdup.Machine, holdup.Engine}
	if c.Timestamps.Source == "user" {
		stamps = append(stamps, holdup.Threads, holdup.Queue)
	}
	return account.Machine{Watched: w.Watched, Embedded: embedded, Busy: c.CPUShare >= busyShare,
		Stamps: holdup.NewTimeline(w.Holdups, stamps...), Threads: holdup.NewTimeline(w.Holdups, holdup.Threads, holdup.Machine, holdup.Queue)}
}

// machine gives, for every request, the machine that sent it: requests are dealt
// out to workers by their numbers, and of runs that are taken together each has
// its own.
func (in Run) machine() func(*record.Record) account.Machine {
	if len(in.pooled) > 0 {
		return in.pooled.machine()
	}
	var machines []account.Machine
	for i, w := range in.Watches {
		client := in.Client
		if i < len(in.Workers) {
			client = in.Workers[i].Client
		}
		machines = append(machines, machineOf(w, client, in.Plan.Embedded()))
	}
	if len(machines) == 0 {
		return nil
	}
	return func(r *record.Record) account.Machine { return machines[r.ID%len(machines)] }
}

// Machine gives, for every request of the run, the machine that sent it, nil where
// nobody watched.
func (k StoredRun) Machine() func(*record.Record) account.Machine {
	return Run{Plan: k.Plan, Watches: k.Watches, Client: k.Result.Client, Workers: k.Result.Workers}.machine()
}

// machine finds the run that a request is of by its place among the windows that
// are laid end to end.
func (runs pooledRuns) machine() func(*record.Record) account.Machine {
	var ends []int64
	var each []func(*record.Record) account.Machine
	at := poolStart
	for _, run := range runs {
		start, end := run.window()
		var shifted []holdup.Watch
		for _, w := range run.Watches {
			shifted = append(shifted, w.Shift(at-start))
		}
		run.Watches = shifted
		each = append(each, run.Machine())
		at += end - start
		ends = append(ends, at)
	}
	return func(r *record.Record) account.Machine {
		i, _ := slices.BinarySearch(ends, r.Due+1)
		if i = min(i, len(each)-1); each[i] == nil {
			return account.Machine{}
		}
		return each[i](r)
	}
}

// sumHoldups sums what the machine that sent did over the window, of several that of
// the one which was held up longest: they are held up side by side. It is nil where
// nobody looked.
func (in Run) sumHoldups() *result.Holdups {
	var worst *result.Holdups
	for _, w := range in.Watches {
		if !w.Watched {
			continue
		}
		t := holdup.NewTimeline(w.Holdups, holdup.Threads, holdup.Machine)
		if in.Plan.Embedded() {
			t = holdup.NewTimeline(w.Holdups, holdup.Threads, holdup.Machine, holdup.Engine)
		}
		sum := t.Sum(in.Start, in.End)
		if worst == nil || sum.Total.Seconds() > worst.TotalS {
			worst = &result.Holdups{Times: sum.Times, TotalS: sum.Total.Seconds(), MaxMS: 1e3 * sum.Max.Seconds()}
		}
	}
	return worst
}
