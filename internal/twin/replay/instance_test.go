package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/catalog"
	"redline/internal/must"
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
	core := must.Get(sim.NewBatching(spec))(t)
	fates := make([]fate, len(list))
	sim.RunOpen(core, func(yield func(int64, *sim.Job) bool) {
		for i, a := range list {
			if !yield(a.At, &sim.Job{ID: uint64(i), Prompt: make([]int32, a.Prompt), Output: a.Output}) {
				return
			}
		}
	}, sim.Watch{Token: func(t sim.Token) {
		if t.Index == 0 {
			fates[t.Job.ID].First = t.At
		}
		fates[t.Job.ID].Last = t.At
	}})
	return fates
}

// byTwin plays them against an instance.
func byTwin(t *testing.T, spec sim.Spec, list []arriving) ([]fate, *Instance) {
	t.Helper()
	fates := make([]fate, len(list))
	e := must.Get(NewInstance(spec, func(a Answer) { fates[a.Tag] = fate{a.First, a.Last} }))(t)
	for i, a := range list {
		e.Advance(a.At - 1)
		e.Submit(a.At, a.Request, int64(i))
	}
	e.Advance(Idle - 1)
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
			Law: &catalog.Law{WeightsUS: 2000 + 8000*r.Float64(), TokenUS: 50 * r.Float64(), Corner: []float64{1, 1.5, 2, 3}[r.IntN(4)],
				SequenceUS: 100 * r.Float64(), ContextUS: 0.2 * r.Float64(), PairUS: 0.01 * r.Float64()},
			MaxNumSeqs: 1 + r.IntN(40), MaxNumBatchedTokens: 64 << r.IntN(6), EnablePrefixCaching: &off, EnableChunkedPrefill: &on,
			StepOverhead: time.Duration(r.IntN(3)) * time.Millisecond, RequestOverhead: time.Duration(r.IntN(20)) * time.Millisecond,
			Jitter: &none, AsyncScheduling: seed%2 == 1,
		}
		if seed%5 == 3 { // the host takes its time to launch steps with prompts, and large ones
			spec.Law.PromptUS, spec.Law.EagerUS, spec.Law.EagerSequenceUS, spec.Law.EagerTokens = 8000*r.Float64(), 30_000*r.Float64(), 50*r.Float64(), 20+r.IntN(200)
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
			preempted += e.Preemptions
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

// With a front end an instance is exact to within the events of a step, with
// one process and with several.
func TestInstanceBehindAFrontEnd(t *testing.T) {
	t.Parallel()
	off, none := false, 0.0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		spec := sim.Spec{
			Law:        &catalog.Law{WeightsUS: 5000, TokenUS: 22, Corner: 1.5, SequenceUS: 4, ContextUS: 0.05, PairUS: 0.0005},
			MaxNumSeqs: 256, EnablePrefixCaching: &off, Jitter: &none, AsyncScheduling: true,
			FrontEnd: catalog.FrontEnd{APIServers: 1 + int(seed%3), Request: 3 * time.Millisecond, TokenUS: 4, EventUS: 100},
		}
		if seed%2 == 1 {
			spec.Law.PromptUS, spec.Law.EagerUS, spec.Law.EagerTokens, spec.StepUS = 8000, 22_000, 300, 400
		}
		list := make([]arriving, 400)
		at := 0.0
		for i := range list {
			at += r.ExpFloat64() * 0.05e9
			list[i] = arriving{int64(at), Request{Prompt: 1 + r.IntN(700), Output: 1 + r.IntN(150)}}
		}
		want := bySim(t, spec, list)
		got, _ := byTwin(t, spec, list)
		var off float64
		for i := range want {
			off += math.Abs(float64(got[i].First-want[i].First))/float64(want[i].First-list[i].At) +
				math.Abs(float64(got[i].Last-want[i].Last))/float64(want[i].Last-list[i].At)
		}
		if off /= float64(2 * len(want)); off > 0.05 {
			t.Errorf("seed %d: moments are off by %.1f%% of ttft and e2e on average", seed, 100*off)
		}
	}
}
