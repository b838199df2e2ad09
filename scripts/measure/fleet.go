//go:build linux

package main

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"redline/internal/drive/record"
	judge "redline/internal/judge/account"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
	"redline/internal/twin/sim"
)

// fleetLoad is what a simulated fleet is asked in virtual time.
type fleetLoad struct {
	rate           float64 // requests per second
	turns          int     // of a session
	warmup, window time.Duration
}

// fleetRow is a fleet and the turns of its sessions.
type fleetRow struct {
	fleet sim.Fleet
	turns int
}

// fleetRows are those that are tried.
var fleetRows = []fleetRow{
	{sim.Fleet{Replicas: 4, Router: sim.RoundRobin}, 1}, {sim.Fleet{Replicas: 4, Router: sim.LeastOutstanding}, 1},
	{sim.Fleet{Replicas: 4, Router: sim.PrefixAware}, 6}, {sim.Fleet{Replicas: 4, Router: sim.Sticky}, 6}, {sim.Fleet{Prefill: 2, Decode: 2}, 1},
}

// fleet shows how often a slow or failing replica is named, a healthy one accused, and even shares are
// called uneven.
func fleet(h *harness) func() error {
	seeds := h.Int("seeds", 100, "runs of each row")
	only := h.String("only", "", "one table alone: fleet, of slow replicas, or failing")
	load := fleetLoad{warmup: 10 * time.Second}
	h.DurationVar(&load.window, "window", time.Minute, "how long the window lasts")
	h.Float64Var(&load.rate, "rate", 24, "requests per second")
	return func() error {
		if *only != "failing" {
			intro := fmt.Sprintf("Replicas of llama-3.1-8b on an H100 each, %v requests/s, windows of %v, %d seeds. Conversations have six turns, each of which sends back all before it.", load.rate, load.window, *seeds)
			if err := tryRows(h, "fleet", intro+"\n\n| fleet | load | slow replica | named | a healthy one named | called uneven |\n|---|---|---|---|---|---|\n", *seeds, load,
				[]string{none, "1.2", "1.5"}, slowLast, func(got fleetFindings) (named, wrongly int, more string) {
					return got.slow, got.slowWrongly, fmt.Sprintf(" %d of %d |", got.uneven, *seeds)
				}); err != nil {
				return err
			}
		}
		if *only == "fleet" {
			return nil
		}
		intro := fmt.Sprintf("%v requests/s, windows of %v, %d seeds. Every engine answers %s of its requests with an error, the last one more.", load.rate, load.window, *seeds, allFail)
		return tryRows(h, "failing", intro+"\n\n| fleet | load | errors of the last | named | a healthy one named |\n|---|---|---|---|---|\n", *seeds, load,
			[]string{none, "5%", "10%", "20%"}, failLast, func(got fleetFindings) (named, wrongly int, more string) {
				return got.failing, got.failingWrongly, ""
			})
	}
}

// slowLast makes an engine slower by a factor.
func slowLast(f *sim.Fleet, factor string, last int) {
	if factor != none {
		f.SlowReplicas = []string{fmt.Sprintf("%d:%s", last, factor)}
	}
}

// failLast has every engine fail at times, and one more often.
func failLast(f *sim.Fleet, share string, last int) {
	for i := range last {
		f.FailingReplicas = append(f.FailingReplicas, fmt.Sprintf("%d:%s", i, allFail))
	}
	f.FailingReplicas = append(f.FailingReplicas, fmt.Sprintf("%d:%s", last, strings.Replace(share, none, allFail, 1)))
}

// tryRows writes a table of all fleets with an engine, the last, that is as bad as each of the
// grades.
func tryRows(h *harness, part, body string, seeds int, load fleetLoad, grades []string, spoil func(f *sim.Fleet, grade string, last int), read func(fleetFindings) (named, wrongly int, more string)) error {
	for _, row := range fleetRows {
		for _, grade := range grades {
			f, found := row.fleet, "–"
			bad := f.Engines() - 1
			if spoil(&f, grade, bad); grade == none {
				bad = -1
			}
			load.turns = row.turns
			got, err := tryFleet(f, bad, seeds, load)
			if err != nil {
				return err
			}
			named, wrongly, more := read(got)
			if bad >= 0 {
				found = fmt.Sprintf("%d of %d", named, seeds)
			}
			body += fmt.Sprintf("| %s | %s | %s | %d of %d |%s\n", row, strings.Replace(grade, "1.", "× 1.", 1), found, wrongly, seeds, more)
		}
	}
	return h.writePart(part, body)
}

const (
	// none is the grade of an engine that is as good as the others.
	none = "none"
	// allFail is the share of errors of all of them.
	allFail = "1%"
)

func (r fleetRow) String() string {
	f := r.fleet
	what, load := fmt.Sprintf("%d replicas, %s", f.Replicas, f.Router), "single requests"
	if f.HasPools() {
		what = fmt.Sprintf("%d prefill, %d decode, %s", f.Prefill, f.Decode, sim.LeastOutstanding)
	}
	if r.turns > 1 {
		load = "conversations"
	}
	return what + " | " + load
}

// fleetFindings count seeds: in which the right replica was named, or another.
type fleetFindings struct{ slow, slowWrongly, failing, failingWrongly, uneven int }

func (f *fleetFindings) add(got *metric.Fleet, bad string) {
	split := func(names []string) (right, wrong int) {
		return count(slices.Contains(names, bad)), count(slices.ContainsFunc(names, func(name string) bool { return name != bad }))
	}
	slow, slowWrongly := split(text.Each(got.Slow, func(s metric.SlowReplica) string { return s.Name }))
	failing, failingWrongly := split(text.Each(got.Failing, func(s metric.FailingReplica) string { return s.Name }))
	f.slow, f.slowWrongly, f.uneven = f.slow+slow, f.slowWrongly+slowWrongly, f.uneven+count(got.Uneven)
	f.failing, f.failingWrongly = f.failing+failing, f.failingWrongly+failingWrongly
}

// tryFleet plays so many seeds of a fleet of which one engine is bad, -1 for none.
func tryFleet(f sim.Fleet, bad, seeds int, load fleetLoad) (found fleetFindings, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	name := ""
	if bad >= 0 {
		name = f.EngineName(bad)
	}
	next := make(chan uint64)
	for range runtime.NumCPU() {
		all.Go(func() {
			for seed := range next {
				got, failed := playFleet(f, seed, load)
				mu.Lock()
				if failed != nil || got == nil {
					err = fmt.Errorf("seed %d: no replicas: %w", seed, failed)
				} else {
					found.add(got, name)
				}
				mu.Unlock()
			}
		})
	}
	for seed := range seeds {
		next <- uint64(seed + 1)
	}
	close(next)
	all.Wait()
	return found, err
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// playFleet runs one load against the fleet in virtual time and judges what a client would have seen.
func playFleet(f sim.Fleet, seed uint64, load fleetLoad) (*metric.Fleet, error) {
	core, err := sim.New(sim.Spec{Fleet: f, Seed: seed})
	if err != nil {
		return nil, err
	}
	failing, err := f.FailingShares()
	if err != nil {
		return nil, err
	}
	const origin = int64(time.Second)
	records := map[uint64]*record.Record{}
	arrivals := load.jobs(seed, origin)
	sim.RunOpen(core, func(yield func(int64, *sim.Job) bool) {
		for _, a := range arrivals {
			session, _ := strconv.Atoi(a.job.Session)
			records[a.job.ID] = &record.Record{ID: int(a.job.ID), Session: session, Due: a.at, Begin: a.at, Sent: a.at, Try: 1,
				Streamed: true, AskedPrompt: len(a.job.Prompt), AskedOutput: a.job.Output}
			if !yield(a.at, a.job) {
				return
			}
		}
	}, sim.Watch{Token: func(t sim.Token) {
		r := records[t.Job.ID]
		if t.Index == 0 {
			r.Served.Replica = f.EngineName(t.Job.Replica)
			if f.HasPools() {
				r.Served.Prefiller = f.EngineName(t.Job.Prefiller)
			}
			if t.Job.FailsOn(failing, seed) {
				r.Fail(&llm.Fault{Outcome: llm.HTTP, Status: http.StatusInternalServerError, At: t.At})
			}
		}
		if r.Outcome.Count().Fault && r.Outcome != "" {
			return
		}
		r.Observe(llm.Event{Kind: llm.Output, At: t.At, Text: []byte("word")})
		if t.Last {
			r.Observe(llm.Event{Kind: llm.UsageSeen, At: t.At, Usage: llm.Usage{PromptTokens: len(t.Job.Prompt), CachedTokens: t.Job.Cached, OutputTokens: t.Job.Output}})
			r.Observe(llm.Event{Kind: llm.End, At: t.At})
			r.Settle()
		}
	}})
	start := origin + int64(load.warmup)
	summary, err := judge.Summarize(func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			for _, a := range arrivals {
				if !yield(records[a.job.ID], nil) {
					return
				}
			}
		}
	}, judge.Options{Start: start, End: start + int64(load.window), AskedRate: load.rate, Seed: seed, Rough: true})
	return summary.Fleet, err
}

type fleetArrival struct {
	at  int64
	job *sim.Job
}

// jobs are single requests, or turns of conversations that come three seconds after each other.
func (l fleetLoad) jobs(seed uint64, origin int64) (list []fleetArrival) {
	r := stats.Rand(seed, "fleet", 0)
	end := origin + int64(l.warmup+l.window)
	pause := int64(3 * time.Second)
	at := float64(origin) - float64(l.turns-1)*float64(pause)
	for session := 1; ; session++ {
		if at += stats.Exponential(r) / l.rate * float64(l.turns) * 1e9; int64(at) >= end {
			break
		}
		var prompt []int32
		for turn := range l.turns {
			prompt = append(prompt, l.words(r, session, turn)...)
			due := int64(at) + int64(turn)*pause
			j := &sim.Job{Prompt: slices.Clone(prompt), Output: min(max(int(stats.LogNormal(r, 5.2, 0.7)), 10), 1000), Session: strconv.Itoa(session)}
			if due >= origin && due < end {
				list = append(list, fleetArrival{due, j})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b fleetArrival) int { return int(a.at - b.at) })
	for i := range list {
		list[i].job.ID = uint64(i + 1)
	}
	return list
}

// words are what a turn adds to its conversation.
func (l fleetLoad) words(r *rand.Rand, session, turn int) []int32 {
	ids := make([]int32, min(max(int(stats.LogNormal(r, 6.2, 0.8)), 20), 6000))
	for i := range ids {
		ids[i] = int32(session*8191 + turn*127 + i)
	}
	return ids
}
