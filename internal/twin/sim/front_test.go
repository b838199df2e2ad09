package sim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/catalog"
	"redline/internal/expect"
	"redline/internal/must"
)

// Two requests of 100 tokens come at once. The front end needs 3 ms for each and
// 0.5 ms for an event; a step takes 10 ms.
func TestFrontEnd(t *testing.T) {
	t.Parallel()
	const us = 1000
	for _, tt := range []struct {
		name      string
		processes int
		async     bool
		want      [2][2]int64 // first and second token of both requests, µs
	}{
		// Their turns of 0.375 ms alternate: the first is passed on at 5.625 ms, the second
		// at 6 ms, in the middle of the first one's step. It joins the step after it: its
		// token comes behind that of the first.
		{"one process", 1, false, [2][2]int64{{16_125, 26_125}, {26_625, 36_125}}},
		// Planned ahead, the step at 15.625 ms does not know of it yet.
		{"planned ahead", 1, true, [2][2]int64{{16_125, 26_125}, {36_125, 46_125}}},
		// Both are passed on at 3 ms and share every step.
		{"two processes", 2, false, [2][2]int64{{13_500, 23_500}, {13_500, 23_500}}},
	} {
		none := 0.0
		core := must.Get(NewBatching(Spec{Law: &catalog.Law{WeightsUS: 10_000, Corner: 1}, Jitter: &none, AsyncScheduling: tt.async,
			FrontEnd: catalog.FrontEnd{APIServers: tt.processes, Request: 2 * time.Millisecond, TokenUS: 10, EventUS: 500}}))(t)
		var got [2][2]int64
		RunOpen(core, func(yield func(int64, *Job) bool) {
			for id := range uint64(2) {
				yield(0, &Job{ID: id, Prompt: make([]int32, 100), Output: 2})
			}
		}, Watch{Token: func(token Token) { got[token.Job.ID][token.Index] = token.At / us }})
		if got != tt.want {
			t.Errorf("%s: tokens at %v µs, want %v", tt.name, got, tt.want)
		}
	}
}

// A step of 10 ms with a prompt in it begins 4 ms after it was planned, and one of more
// than 50 tokens is launched in 30 ms, for which the tokens of the step before wait. The
// front end needs 1 ms for those of a step.
func TestHostLaunchesSteps(t *testing.T) {
	t.Parallel()
	core := must.Get(NewBatching(Spec{Law: &catalog.Law{WeightsUS: 10_000, Corner: 1, PromptUS: 4000, EagerUS: 30_000, EagerTokens: 50}, Jitter: new(float64),
		AsyncScheduling: true, FrontEnd: catalog.FrontEnd{StepUS: 1000}}))(t)
	var got [2][]int64
	RunOpen(core, func(yield func(int64, *Job) bool) {
		_ = yield(0, &Job{ID: 0, Prompt: make([]int32, 10), Output: 3}) && yield(1e6, &Job{ID: 1, Prompt: make([]int32, 100), Output: 1})
	}, Watch{Token: func(token Token) { got[token.Job.ID] = append(got[token.Job.ID], token.At/1000) }})
	// The first step lasts from 4 to 14 ms. The second is planned at 4 ms, when the first
	// is launched, and is itself launched at 34 ms: both are handed out then. The third
	// lasts from 34 to 44 ms.
	expect.NoDiff(t, cmp.Diff([2][]int64{{35_000, 35_500, 45_000}, {36_000}}, got), "tokens, µs (-want +got)")
}

// A client that goes away leaves nothing behind in the front end.
func TestFrontEndForgetsTheCancelled(t *testing.T) {
	t.Parallel()
	core := must.Get(NewBatching(Spec{Law: &catalog.Law{WeightsUS: 10_000, Corner: 1}, FrontEnd: catalog.FrontEnd{Request: time.Millisecond}}))(t)
	must.Do(t, core.Submit(0, &Job{ID: 7, Prompt: make([]int32, 10), Output: 1000}))
	core.Cancel(500_000, 7)
	if next := core.Step(int64(time.Hour), func(Token) { t.Error("a token of a cancelled request") }); next != Idle {
		t.Errorf("the engine wants to go on at %d", next)
	}
	if f := core.(*frontedEngine); len(f.of) != 0 {
		t.Errorf("%d requests are left in the front end", len(f.of))
	}
}
