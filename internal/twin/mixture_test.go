package twin

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"redline/internal/effort"
	"redline/internal/must"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// simulatedLevel is what a client would record of a catalog engine at a rate.
func simulatedLevel(t *testing.T, spec sim.Spec, rate, length float64) Level {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(rate), 9))
	core := must.Get(sim.NewBatching(spec))(t)
	l := Level{Name: fmt.Sprintf("%g/s", rate), Load: rate}
	var jobs []*sim.Job
	for now := r.ExpFloat64() / rate; now < length; now += r.ExpFloat64() / rate {
		o := replay.ObservedRequest{At: int64(now * 1e9), Session: len(jobs), Counted: now > length/6 && now < length*5/6,
			Request: replay.Request{Prompt: int(math.Exp(6.2+0.8*r.NormFloat64())) + 16, Output: 20 + r.IntN(200)}}
		prompt := make([]int32, o.Prompt)
		for i := range prompt {
			prompt[i] = r.Int32()
		}
		l.Requests = append(l.Requests, o)
		jobs = append(jobs, &sim.Job{ID: uint64(len(jobs)), Prompt: prompt, Output: o.Output})
	}
	sim.RunOpen(core, func(yield func(int64, *sim.Job) bool) {
		for i, j := range jobs {
			if !yield(l.Requests[i].At, j) {
				return
			}
		}
	}, sim.Watch{})
	for i, j := range jobs {
		o := &l.Requests[i]
		o.First, o.Last = j.First, j.Last
		o.TTFT, o.E2E, o.TPOT = float64(j.First-o.At), float64(j.Last-o.At), float64(j.Last-j.First)/float64(o.Output-1)
	}
	return l
}

// A mixture of experts, whose tpot grows eightfold with the batch, is found out
// and reproduced from its records alone.
func TestTwinOfAMixture(t *testing.T) {
	t.Parallel()
	ev := &Evidence{Model: "m"}
	for _, rate := range []float64{1, 3, 6, 10, 16} {
		ev.Levels = append(ev.Levels, simulatedLevel(t, sim.Spec{Model: "qwen3-30b-a3b"}, rate, effort.Of(12.0, 20)))
	}
	c := must.Get(Calibrate(t.Context(), ev))(t)
	if !c.Good || c.Spec.Law.ExpertShare == 0 {
		t.Errorf("errors on levels held out %v, law %+v", c.HeldOut, *c.Spec.Law)
	}
}
