package sim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
)

func TestMetronomeKeepsPace(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	m := NewMetronome(20 * time.Millisecond)
	a, b := &Job{ID: 1, Prompt: ids(0, 5), Output: 3}, &Job{ID: 2, Prompt: ids(0, 7), Output: 2}
	submit(t, m, 0, a)
	submit(t, m, 5*ms, b)
	got := map[uint64][]int64{}
	note := func(k Token) { got[k.Job.ID] = append(got[k.Job.ID], k.At) }
	if next := m.Step(5*ms, note); next != 20*ms || len(got) != 0 {
		t.Fatalf("before the first beat: next %d, tokens %v", next, got)
	}
	if s := m.Stats(); s.Running != 2 {
		t.Errorf("%d running, want 2", s.Running)
	}
	// A caller that is late by more than a pace still finds exact times.
	if next := m.Step(50*ms, note); next != 60*ms {
		t.Errorf("next %d, want %d", next, 60*ms)
	}
	if next := m.Step(60*ms, note); next != Idle {
		t.Errorf("next %d, want Idle", next)
	}
	expect.NoDiff(t, cmp.Diff(map[uint64][]int64{1: {20 * ms, 40 * ms, 60 * ms}, 2: {25 * ms, 45 * ms}}, got), "times (-want +got)")
	want := &Job{ID: 2, Prompt: ids(0, 7), Output: 2, Received: 5 * ms, Arrived: 5 * ms, Scheduled: 5 * ms, Prefilled: 25 * ms, First: 25 * ms, Last: 45 * ms}
	expect.NoDiff(t, cmp.Diff(want, b, cmp.AllowUnexported(Job{})), "job (-want +got)")
	expect.NoDiff(t, cmp.Diff(Stats{PromptTokens: 12, OutputTokens: 5, Finished: 2}, m.Stats()), "stats (-want +got)")
}

func TestMetronomeOrdersManyJobs(t *testing.T) {
	t.Parallel()
	m := NewMetronome(time.Microsecond)
	for i := range 100 {
		at := int64(i * 37)
		m.Step(at, func(Token) {})
		submit(t, m, at, &Job{ID: uint64(i), Output: 50})
	}
	last := int64(0)
	for next := m.Step(3700, func(Token) {}); next != Idle; {
		next = m.Step(next, func(k Token) {
			if k.At < last || k.At != k.Job.Arrived+int64(k.Index+1)*1000 {
				t.Errorf("job %d token %d at %d after one at %d", k.Job.ID, k.Index, k.At, last)
			}
			last = k.At
		})
	}
	if s := m.Stats(); s.Finished != 100 || s.OutputTokens != 5000 {
		t.Errorf("%d jobs finished with %d tokens, want 100 with 5000", s.Finished, s.OutputTokens)
	}
}

func TestMetronomeCancelAndRefuse(t *testing.T) {
	t.Parallel()
	m := NewMetronome(time.Millisecond)
	submit(t, m, 0, &Job{ID: 1, Output: 9})
	if m.Submit(0, &Job{ID: 1, Output: 1}) == nil || m.Submit(0, &Job{ID: 2}) == nil {
		t.Error("a job twice, or without output, was taken")
	}
	m.Cancel(10, 1)
	if next := m.Step(1e9, func(k Token) { t.Errorf("token of a cancelled job: %v", k) }); next != Idle {
		t.Errorf("next %d, want Idle", next)
	}
	if s := m.Stats(); s.Running != 0 {
		t.Errorf("%d running, want 0", s.Running)
	}
	// The id is free again.
	submit(t, m, 2e9, &Job{ID: 1, Output: 1})
	if next := m.Step(2e9, func(Token) {}); next != 2e9+1e6 {
		t.Errorf("next %d, want %d", next, int64(2e9+1e6))
	}
}
