package sim

import (
	"testing"
	"time"

	"redline/internal/catalog"
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
