package load

import (
	"context"
	"testing"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/must"
)

// hearsay are workers that tell of each request that it has begun, and next that
// it has ended.
type hearsay []*record.Record

func (h hearsay) News(take func(News)) {
	for _, r := range h {
		begun := r.Opening()
		begun.Outcome, begun.Sent, begun.First = "", 0, 0
		take(News{Record: begun})
		take(News{Record: r})
	}
}

func (h hearsay) Order(Order) {}

// A request that has had its answer is no queue, however its answer comes: a
// search for the limit would end at it.
func TestAnswered(t *testing.T) {
	const n = 5
	bubble(t, func(t *testing.T, c *clock.Clock) {
		var told hearsay
		for i := range n {
			at := int64(i+1) * int64(ms)
			told = append(told, &record.Record{ID: i, Session: i, Due: at, Begin: at, Sent: at, First: at + 1, Last: at + 2, End: at + 2, Outcome: llm.OK})
		}
		var p Progress
		stage := Stage{Start: 1, Duration: time.Second, Warmup: durationPointer(0), Arrivals: func(func(int64) bool) {}}
		must.Get(Lead(t.Context(), c, told, stage, &p, func(*record.Record) {}))(t)
		if got := p.Answered.Load(); got != n {
			t.Errorf("workers told of the ends of %d requests: %d answered", n, got)
		}
	})
	bubble(t, func(t *testing.T, c *clock.Clock) {
		vectors := targetFunc(func(_ context.Context, yield func(llm.Event, error) bool) {
			for _, kind := range []llm.EventKind{llm.Ready, llm.Sent, llm.End} {
				yield(llm.Event{Kind: kind, At: c.Now()}, nil)
			}
		})
		var p Progress
		stage := Stage{Requests: n, Warmup: durationPointer(0), Arrivals: every(ms),
			Session: func(int) llm.Session { return llm.Single(&llm.Request{Inputs: 1}) }}
		must.Get(Run(t.Context(), c, vectors, stage, &p, func(*record.Record) {}))(t)
		if ok, got := p.OK.Load(), p.Answered.Load(); ok < n || got != ok {
			t.Errorf("%d embeddings: %d ok, %d answered", n, ok, got)
		}
	})
}
