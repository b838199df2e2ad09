package replay

import (
	"slices"
	"testing"

	"redline/internal/catalog"
	"redline/internal/twin/sim"
)

var measured = sim.Spec{MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192,
	Law: &catalog.Law{WeightsUS: 6000, TokenUS: 22.5, Corner: 1.5, SequenceUS: 4, ContextUS: 0.065, PairUS: 0.0005}}

// playRecording plays a recording and gives when each request was sent and ended.
func playRecording(t *testing.T, rec Recording) (sent, ends []int64) {
	t.Helper()
	r := &player{rec: &rec}
	var err error
	if r.engine, err = NewInstance(measured, r.finish); err != nil {
		t.Fatal(err)
	}
	r.run()
	for i, f := range r.out {
		if f.TTFT < 0 {
			t.Errorf("request %d has no answer", i)
		}
		sent, ends = append(sent, r.turns[i].sent), append(ends, r.turns[i].sent+int64(f.E2E))
	}
	return sent, ends
}

// A closed loop keeps its number in flight in the twin too.
func TestReplayKeepsTheLoop(t *testing.T) {
	t.Parallel()
	closed := Recording{Cap: 2, Closed: true}
	for i := range 6 {
		closed.Requests = append(closed.Requests, ObservedRequest{Session: i, At: int64(i) * 1e9, Request: Request{Prompt: 10, Output: 100}})
	}
	// Two at a time for some 0.65 s each: from the third on each begins as one ends.
	sent, ends := playRecording(t, closed)
	for i := range sent {
		if took := ends[i] - sent[i]; took < 0.5e9 || took > 0.9e9 || i > 1 && !slices.Contains(ends, sent[i]) {
			t.Errorf("request %d from %d to %d", i, sent[i], ends[i])
		}
	}
}

// Turns keep their pauses and what they wait for: here two at once behind the first,
// one behind both, and the next session when the place is free.
func TestReplayKeepsTheGraph(t *testing.T) {
	t.Parallel()
	short := Request{Prompt: 10, Output: 2}
	sent, ends := playRecording(t, Recording{Cap: 1, Closed: true, Requests: []ObservedRequest{
		{Session: 1, Turn: 0, At: 1e9, Last: 2e9, Request: short},
		{Session: 1, Turn: 1, At: 3e9, Last: 5e9, Request: Request{Prompt: 10, Output: 200}},
		{Session: 1, Turn: 2, At: 4e9, Last: 4.5e9, Request: short},
		{Session: 1, Turn: 3, At: 6e9, Last: 7e9, Request: short},
		{Session: 2, Turn: 0, At: 7e9, Last: 8e9, Request: short},
	}})
	for i, want := range []int64{1e9, ends[0] + 1e9, ends[0] + 2e9, max(ends[1], ends[2]) + 1e9, ends[3]} {
		if sent[i] != want {
			t.Errorf("request %d is sent at %d, want %d", i, sent[i], want)
		}
	}
	if ends[1] < ends[2] {
		t.Error("the long reply is not the one that is waited for")
	}
}
