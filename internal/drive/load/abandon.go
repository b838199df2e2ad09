package load

import (
	"context"
	"errors"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// errAbandoned cancels a request that the load wants closed before its end.
var errAbandoned = errors.New("closed before its end")

func abandonFault(at int64) *llm.Fault {
	return &llm.Fault{Outcome: llm.Abandoned, At: at, Message: "closed by redline before its end"}
}

// abandonment closes a request at its moment; nil never does.
type abandonment struct {
	engine *engine
	when   *llm.Cancel
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil before the request is written
}

// abandonable gives the context of one try of a request that may be closed.
func (e *engine) abandonable(ctx context.Context, when *llm.Cancel) (context.Context, *abandonment) {
	if when == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &abandonment{engine: e, when: when, cancel: cancel}
}

// observe takes in an event, and reports whether the request is to be closed at
// once. What stands before the first token ends with it.
func (a *abandonment) observe(kind llm.EventKind, rec *record.Record) bool {
	switch {
	case a == nil:
	case kind == llm.Output && a.when.Tokens > 0:
		return max(rec.ChunkCount(), rec.OutputTokens) >= a.when.Tokens
	case kind == llm.Output:
		return a.when.Prefill > 0
	case kind == llm.Written && a.when.Tokens == 0:
		wait := a.when.After + time.Duration(a.when.Prefill*float64(a.engine.ttft.Load()))
		if wait <= 0 {
			return true
		}
		a.timer = time.AfterFunc(wait, func() { a.cancel(errAbandoned) })
	}
	return false
}

func (a *abandonment) stop() {
	if a == nil {
		return
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.cancel(nil)
}

// ttftWeight is that of the latest request in the smoothed time to first token.
const ttftWeight = 0.1

// noteTTFT smooths the time to first token, by which others are closed before it.
func (e *engine) noteTTFT(rec *record.Record) {
	last, seen := e.ttft.Load(), rec.First-rec.Sent
	if last != 0 {
		seen = last + int64(ttftWeight*float64(seen-last))
	}
	e.ttft.Store(seen) // of two at once one may be lost
}
