package sim

import (
	"iter"
	"testing"
	"time"

	"redline/internal/must"
)

// playAtOnce submits jobs at the same moment, in their order, and plays them to
// their end.
func playAtOnce(t *testing.T, spec Spec, jobs ...*Job) {
	t.Helper()
	for i, j := range jobs {
		j.ID, j.Output = uint64(i+1), 20
		for k := range 64 {
			j.Prompt = append(j.Prompt, int32(1000*i+k))
		}
	}
	var all iter.Seq2[int64, *Job] = func(yield func(int64, *Job) bool) {
		for _, j := range jobs {
			if !yield(0, j) {
				return
			}
		}
	}
	RunOpen(must.Get(NewBatching(spec))(t), all, Watch{Refused: func(j *Job, err error) { t.Errorf("job %d is refused: %v", j.ID, err) }})
}

// TestPriorities: with one place in the batch, the line is served in the order in
// which it came or, by the policy, the lowest number first and then in that order.
func TestPriorities(t *testing.T) {
	for policy, order := range map[string][]int{FCFS: {0, 1, 2, 3}, Priority: {2, 3, 1, 0}} {
		jobs := []*Job{{Priority: 9}, {Priority: 5}, {Priority: -1}, {Priority: -1}}
		playAtOnce(t, Spec{MaxNumSeqs: 1, SchedulingPolicy: policy}, jobs...)
		for i := 1; i < len(order); i++ {
			if before, after := jobs[order[i-1]], jobs[order[i]]; before.Last > after.First {
				t.Errorf("%s: job %d begins before job %d has ended", policy, after.ID, before.ID)
			}
		}
	}
}

// TestAdapterSlots: a batch has no more adapters than there are slots, requests for
// one that is in the batch go before others, and to bring one in takes its time.
func TestAdapterSlots(t *testing.T) {
	slow := time.Second
	for slots := 1; slots <= 2; slots++ {
		jobs := []*Job{{Adapter: "a"}, {Adapter: "b"}, {Adapter: "a"}, {}}
		playAtOnce(t, Spec{LoraModules: []string{"*"}, MaxLoras: slots, LoraLoadTime: &slow}, jobs...)
		overlap := jobs[1].Scheduled < jobs[0].Last && jobs[1].Scheduled < jobs[2].Last
		if overlap != (slots == 2) {
			t.Errorf("%d slots: b runs from %d, a until %d", slots, jobs[1].Scheduled, jobs[0].Last)
		}
		if slots == 1 && (jobs[2].Scheduled >= jobs[0].Last || jobs[3].Scheduled >= jobs[0].Last) {
			t.Error("requests without another adapter wait for one")
		}
		if jobs[0].First < int64(slow) || jobs[1].First < int64(slow) {
			t.Errorf("%d slots: first tokens after %d and %d ns, before an adapter was in", slots, jobs[0].First, jobs[1].First)
		}
	}
}

// TestGrammarsCompileOnce: the first request of a grammar waits for it, those that
// come with it as long, and one without not at all.
func TestGrammarsCompileOnce(t *testing.T) {
	slow := time.Second
	first, same, without := &Job{Grammar: "g"}, &Job{Grammar: "g"}, &Job{}
	playAtOnce(t, Spec{GrammarCompileTime: &slow}, first, same, without)
	if first.First < int64(slow) || same.First < int64(slow) || same.First > int64(3*slow/2) || without.First > int64(slow) {
		t.Errorf("first tokens after %d and %d ns, %d without a grammar", first.First, same.First, without.First)
	}
}
