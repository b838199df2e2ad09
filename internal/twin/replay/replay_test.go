package replay

import (
	"math"
	"testing"

	"redline/internal/catalog"
	"redline/internal/twin/sim"
)

// A closed loop keeps its number in flight in the twin too, and later turns
// keep their pauses.
func TestReplayKeepsTheLoop(t *testing.T) {
	t.Parallel()
	spec := sim.Spec{MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192,
		Law: &catalog.Law{WeightsUS: 6000, TokenUS: 22.5, Corner: 1.5, SequenceUS: 4, ContextUS: 0.065, PairUS: 0.0005}}
	closed := Recording{Cap: 2, Closed: true}
	for i := range 6 {
		closed.Requests = append(closed.Requests, ObservedRequest{Session: i, At: int64(i) * 1e9, Think: math.MinInt64, Request: Request{Prompt: 10, Output: 100}})
	}
	out, _, err := Play(spec, &closed)
	if err != nil {
		t.Fatal(err)
	}
	// Two at a time for some 0.65 s each: the third begins as the first ends.
	for i, f := range out {
		if f.TTFT < 0 || f.E2E < 0.5e9 || f.E2E > 0.9e9 {
			t.Errorf("request %d: %+v", i, f)
		}
	}
	turns := Recording{Requests: []ObservedRequest{
		{Session: 1, Turn: 0, At: 1e9, Think: math.MinInt64, Request: Request{Prompt: 10, Output: 2}},
		{Session: 1, Turn: 1, At: 2e9, Think: 5e9, Request: Request{Prompt: 10, Output: 2}},
	}}
	r := &player{rec: &turns, sent: make([]int64, 2), out: make([]Figures, 2)}
	if r.engine, err = NewInstance(spec, r.finish); err != nil {
		t.Fatal(err)
	}
	r.run()
	if want := r.sent[0] + int64(r.out[0].E2E) + 5e9; r.sent[1] != want {
		t.Errorf("the second turn is sent at %d, want %d", r.sent[1], want)
	}
}
