package sim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/must"
)

// anySpec is a small engine in which every limit is reached now and then.
func anySpec(t *rapid.T) Spec {
	prefix, chunks := rapid.Bool().Draw(t, "prefix caching"), rapid.Bool().Draw(t, "chunked prefill")
	s := Spec{
		Model:                rapid.SampledFrom([]string{"llama-3.1-8b", "gpt-oss-20b"}).Draw(t, "model"),
		MaxNumSeqs:           rapid.IntRange(1, 8).Draw(t, "max_num_seqs"),
		MaxNumBatchedTokens:  rapid.IntRange(8, 200).Draw(t, "max_num_batched_tokens"),
		NumGPUBlocksOverride: rapid.IntRange(20, 60).Draw(t, "blocks"),
		EnablePrefixCaching:  &prefix,
		EnableChunkedPrefill: &chunks,
		PrefillFirst:         rapid.Bool().Draw(t, "prefill first"),
		StaticBatching:       rapid.Bool().Draw(t, "static batching"),
		Seed:                 rapid.Uint64().Draw(t, "seed"),
	}
	s.Speculation.Tokens = rapid.IntRange(0, 5).Draw(t, "speculative tokens")
	return s
}

type arrival struct {
	At             int64
	Prompt, Output int
	Family         int // jobs of one family share the start of their prompts
	CancelAfter    int64
}

func anyArrivals(t *rapid.T, limit int) []arrival {
	n := rapid.IntRange(1, 25).Draw(t, "jobs")
	out := make([]arrival, n)
	at := int64(0)
	for i := range out {
		at += rapid.Int64Range(0, 20e6).Draw(t, "gap")
		prompt := rapid.IntRange(1, max(1, min(100, limit-1))).Draw(t, "prompt")
		out[i] = arrival{
			At: at, Prompt: prompt, Output: rapid.IntRange(1, max(1, min(60, limit-prompt))).Draw(t, "output"),
			Family: rapid.IntRange(0, 2).Draw(t, "family"),
		}
		if rapid.IntRange(0, 9).Draw(t, "leaves") == 0 {
			out[i].CancelAfter = rapid.Int64Range(1, 60e6).Draw(t, "patience")
		}
	}
	return out
}

// history is a run as it can be seen from outside.
type history struct {
	Jobs  []*Job
	Times map[uint64][]int64
	Stats Stats
}

// play runs the arrivals and checks what must hold at every step.
func play(t *rapid.T, s Spec, arrivals []arrival) history {
	core := must.Get(NewBatching(s))(t)
	b := core.(*batching)
	h := history{Times: map[uint64][]int64{}}
	gone := map[uint64]bool{}
	emit := func(k Token) {
		if gone[k.Job.ID] {
			t.Fatalf("token of job %d after it was cancelled", k.Job.ID)
		}
		if k.Index != len(h.Times[k.Job.ID]) || k.Last != (k.Index == k.Job.Output-1) {
			t.Fatalf("job %d: token %d of %d after %d others", k.Job.ID, k.Index, k.Job.Output, len(h.Times[k.Job.ID]))
		}
		h.Times[k.Job.ID] = append(h.Times[k.Job.ID], k.At)
	}
	next := Idle
	advance := func(to int64) {
		for next < to {
			next = core.Step(next, emit)
			checkStep(t, b, s)
		}
	}
	for i, a := range arrivals {
		for k, c := range arrivals[:i] {
			if leaves := c.At + c.CancelAfter; c.CancelAfter > 0 && leaves <= a.At && !gone[uint64(k)] {
				advance(leaves)
				core.Cancel(leaves, uint64(k))
				gone[uint64(k)] = true
			}
		}
		advance(a.At)
		j := &Job{ID: uint64(i), Prompt: ids(1000*a.Family, a.Prompt), Output: a.Output}
		must.Do(t, core.Submit(a.At, j))
		next = min(next, a.At)
		h.Jobs = append(h.Jobs, j)
	}
	advance(Idle)
	if b.pool.free != len(b.pool.refs) {
		t.Fatalf("%d of %d blocks free after the last job", b.pool.free, len(b.pool.refs))
	}
	for _, j := range h.Jobs {
		if !gone[j.ID] && len(h.Times[j.ID]) != j.Output {
			t.Fatalf("job %d gave %d of %d tokens", j.ID, len(h.Times[j.ID]), j.Output)
		}
		if j.Cached%BlockSize != 0 || j.Cached >= len(j.Prompt) {
			t.Fatalf("job %d: %d of %d prompt tokens cached", j.ID, j.Cached, len(j.Prompt))
		}
	}
	h.Stats = core.Stats()
	return h
}

func checkStep(t *rapid.T, b *batching, s Spec) {
	st := b.Stats()
	if st.StepTokens < 1 && b.stepping || st.StepTokens > int64(s.MaxNumBatchedTokens) {
		t.Fatalf("a step of %d tokens, budget %d", st.StepTokens, s.MaxNumBatchedTokens)
	}
	if st.Running > s.MaxNumSeqs {
		t.Fatalf("%d running, limit %d", st.Running, s.MaxNumSeqs)
	}
	if st.KVUsage < 0 || st.KVUsage > 1 {
		t.Fatalf("KV usage %v", st.KVUsage)
	}
}

func TestEngineProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		resolved := must.Get(s.Resolve())(t)
		arrivals := anyArrivals(t, resolved.MaxModelLen)
		h := play(t, s, arrivals)
		if diff := cmp.Diff(h, play(t, s, arrivals), cmp.AllowUnexported(Job{})); diff != "" {
			t.Fatalf("two runs of one seed differ:\n%s", diff)
		}
		if h.Stats.Preemptions == 0 {
			for i := 1; i < len(h.Jobs); i++ {
				before, after := h.Jobs[i-1], h.Jobs[i]
				if before.Scheduled > after.Scheduled && after.Scheduled > 0 {
					t.Fatalf("job %d was scheduled at %d, before job %d at %d", after.ID, after.Scheduled, before.ID, before.Scheduled)
				}
			}
		}
	})
}

// TestLateCallerChangesNothing: a core that is stepped seldom gives the same
// tokens at the same times.
func TestLateCallerChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		resolved := must.Get(s.Resolve())(t)
		arrivals := anyArrivals(t, resolved.MaxModelLen)
		for i := range arrivals {
			arrivals[i].CancelAfter = 0
		}
		prompt := play(t, s, arrivals)
		core := must.Get(NewBatching(s))(t)
		times := map[uint64][]int64{}
		for i, a := range arrivals {
			must.Do(t, core.Submit(a.At, &Job{ID: uint64(i), Prompt: ids(1000*a.Family, a.Prompt), Output: a.Output}))
		}
		core.Step(1<<60, func(k Token) { times[k.Job.ID] = append(times[k.Job.ID], k.At) })
		if diff := cmp.Diff(prompt.Times, times); diff != "" {
			t.Fatalf("token times (-prompt +late):\n%s", diff)
		}
	})
}
