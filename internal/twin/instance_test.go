package twin

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/twin/sim"
)

// fate is when an answer began and ended.
type fate struct{ First, Last int64 }

// arriving is a request and when it comes.
type arriving struct {
	At int64
	Request
}

// bySim plays requests against the simulator's own scheduler.
func bySim(t *testing.T, spec sim.Spec, list []arriving) []fate {
	t.Helper()
	core, err := sim.NewBatching(spec)
	if err != nil {
		t.Fatal(err)
	}
	jobs := make([]*sim.Job, len(list))
	sim.RunOpen(core, func(yield func(int64, *sim.Job) bool) {
		for i, a := range list {
			jobs[i] = &sim.Job{ID: uint64(i), Prompt: make([]int32, a.Prompt), Output: a.Output}
			if !yield(a.At, jobs[i]) {
				return
			}
		}
	}, sim.Watch{})
	fates := make([]fate, len(list))
	for i, j := range jobs {
		fates[i] = fate{j.First, j.Last}
	}
	return fates
}

// byTwin plays them against an instance.
func byTwin(t *testing.T, spec sim.Spec, list []arriving) ([]fate, *Instance) {
	t.Helper()
	fates := make([]fate, len(list))
	e, err := NewInstance(spec, func(a Answer) { fates[a.Tag] = fate{a.First, a.Last} })
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range list {
		e.Advance(a.At - 1)
		e.Submit(a.At, a.Request, int64(i))
	}
	e.Advance(idle - 1)
	return fates, e
}

// An instance answers to the nanosecond as the simulator's scheduler does,
// whatever the limits: places, budget, chunks, prompts first, and a cache so
// small that sequences are preempted.
func TestInstanceIsTheScheduler(t *testing.T) {
	t.Parallel()
	on, off, none := true, false, 0.0
	var preempted int64
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		spec := sim.Spec{
			Law: &sim.Law{WeightsUS: 2000 + 8000*r.Float64(), TokenUS: 50 * r.Float64(), Corner: []float64{1, 1.5, 2, 3}[r.IntN(4)],
				SequenceUS: 100 * r.Float64(), ContextUS: 0.2 * r.Float64(), PairUS: 0.01 * r.Float64()},
			MaxNumSeqs: 1 + r.IntN(40), MaxNumBatchedTokens: 64 << r.IntN(6), EnablePrefixCaching: &off, EnableChunkedPrefill: &on,
			StepOverhead: time.Duration(r.IntN(3)) * time.Millisecond, RequestOverhead: time.Duration(r.IntN(20)) * time.Millisecond,
			Jitter: &none,
		}
		if seed%3 == 1 {
			spec.NumGPUBlocksOverride = 70 + r.IntN(60)
		}
		if seed%4 == 2 {
			spec.PrefillFirst, spec.EnableChunkedPrefill, spec.MaxNumBatchedTokens = true, &off, 2048
		}
		list := make([]arriving, 300)
		at := 0.0
		for i := range list {
			at += r.ExpFloat64() * 0.05e9
			list[i] = arriving{int64(at), Request{Prompt: 1 + r.IntN(700), Output: 1 + r.IntN(150)}}
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			want := bySim(t, spec, list)
			got, e := byTwin(t, spec, list)
			preempted += e.Lost
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v: fates differ (-scheduler +instance):\n%.2000s", spec, diff)
			}
			if e.Outstanding() != 0 || e.free != e.blocks || e.context != 0 {
				t.Errorf("%d requests, %d of %d blocks and %d tokens are left inside", e.Outstanding(), e.blocks-e.free, e.blocks, e.context)
			}
		})
	}
	if preempted == 0 {
		t.Error("no draw preempted anything")
	}
}
