//go:build linux

package main

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"redline/internal/drive/record"
	judge "redline/internal/judge/account"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// fleetLoad is what a simulated fleet is asked in virtual time.
type fleetLoad struct {
	rate           float64 // requests per second
	turns          int     // of a session
	warmup, window time.Duration
}

// fleet shows how often a slow replica is named, a healthy one accused, and even shares are
// called uneven.
func fleet(h *harness) func() error {
	seeds := h.Int("seeds", 100, "runs of each row")
	window := h.Duration("window", time.Minute, "how long the window lasts")
	rate := h.Float64("rate", 24, "requests per second")
	return func() error {
		body := fmt.Sprintf("Replicas of llama-3.1-8b on an H100 each, %v requests/s, windows of %v, %d seeds. Conversations have six turns, each of which sends back all before it.\n\n", *rate, *window, *seeds) +
			"| fleet | load | slow replica | named | a healthy one named | called uneven |\n|---|---|---|---|---|---|\n"
		for _, row := range []struct {
			fleet sim.Fleet
			turns int
		}{
			{sim.Fleet{Replicas: 4, Router: sim.RoundRobin}, 1}, {sim.Fleet{Replicas: 4, Router: sim.LeastOutstanding}, 1},
			{sim.Fleet{Replicas: 4, Router: sim.PrefixAware}, 6}, {sim.Fleet{Replicas: 4, Router: sim.Sticky}, 6}, {sim.Fleet{Prefill: 2, Decode: 2}, 1},
		} {
			for _, factor := range []float64{1, 1.2, 1.5} {
				slow := -1
				if row.fleet.SlowReplicas = nil; factor > 1 {
					slow = row.fleet.Engines() - 1
					row.fleet.SlowReplicas = []string{fmt.Sprintf("%d:%v", slow, factor)}
				}
				named, accused, uneven, err := tryFleet(row.fleet, slow, *seeds, fleetLoad{*rate, row.turns, 10 * time.Second, *window})
				if err != nil {
					return err
				}
				body += fleetRow(row.fleet, row.turns, factor, *seeds, named, accused, uneven)
			}
		}
		return h.writePart("fleet", body)
	}
}

func fleetRow(f sim.Fleet, turns int, factor float64, seeds, named, accused, uneven int) string {
	what, load, by, found := fmt.Sprintf("%d replicas, %s", f.Replicas, f.Router), "single requests", "none", "–"
	if f.HasPools() {
		what = fmt.Sprintf("%d prefill, %d decode, %s", f.Prefill, f.Decode, sim.LeastOutstanding)
	}
	if turns > 1 {
		load = "conversations"
	}
	if factor > 1 {
		by, found = fmt.Sprintf("× %v", factor), fmt.Sprintf("%d of %d", named, seeds)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d of %d | %d of %d |\n", what, load, by, found, accused, seeds, uneven, seeds)
}

// tryFleet plays so many seeds.
func tryFleet(f sim.Fleet, slow, seeds int, load fleetLoad) (named, accused, uneven int, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan uint64)
	for range runtime.NumCPU() {
		all.Go(func() {
			for seed := range next {
				got, failed := playFleet(f, seed, load)
				mu.Lock()
				if failed != nil || got == nil {
					err = fmt.Errorf("seed %d: no replicas: %w", seed, failed)
				} else {
					found := false
					wrong := false
					for _, s := range got.Slow {
						right := slow >= 0 && s.Name == f.EngineName(slow)
						found, wrong = found || right, wrong || !right
					}
					named, accused, uneven = named+count(found), accused+count(wrong), uneven+count(got.Uneven)
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
	return named, accused, uneven, err
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
