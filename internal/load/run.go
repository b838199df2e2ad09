package load

import (
	"context"
	"errors"
	"sync"
	"time"

	"redline/internal/clock"
	"redline/internal/llm"
	"redline/internal/record"
)

// errOver cancels what is still running when the drain has ended.
var errOver = errors.New("the drain has ended")

// errStopped cancels what is still running when the user's grace has ended.
var errStopped = errors.New("stopped")

// interrupted is why a stage ended that its user stopped.
const interrupted = "interrupted"

// ahead is how many sessions are prepared before they are due, so that making
// a prompt never delays a send.
const ahead = 64

// engine drives one stage.
type engine struct {
	stage    *Stage
	target   Target
	clock    *clock.Clock
	sink     func(*record.Record)
	progress *Progress
	window   *window
	gate     *gate
	sessions <-chan *job
	cancel   context.CancelCauseFunc
	running  sync.WaitGroup

	mu     sync.Mutex
	nextID int
}

// job is one session, prepared: its due time and its first turn.
type job struct {
	index   int
	due     int64 // from the run's origin; unset in a closed loop
	session llm.Session
	turn    *llm.Turn
}

// Run offers a stage's load to a target and hands every request's record to
// sink, which owns it from then on and must not block. It returns when the
// window's requests have ended or the drain is over. Cancelling ctx ends it at
// once; everything begun still gets its record.
func Run(ctx context.Context, c *clock.Clock, t Target, s Stage, p *Progress, sink func(*record.Record)) (Outcome, error) {
	if err := s.Validate(); err != nil {
		return Outcome{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	start := c.Now()
	e := &engine{stage: &s, target: t, clock: c, sink: sink, progress: p, cancel: cancel,
		window: newWindow(&s, start), gate: newGate(s.Cap)}
	e.sessions = e.prepare(ctx, start)
	if s.Arrivals != nil {
		e.running.Go(func() { e.open(ctx) })
	} else {
		e.closed(ctx, start)
	}
	stopped := e.conduct(ctx)
	e.running.Wait()
	out := Outcome{Start: start, Stopped: stopped, WarmupCut: e.window.cut, Counts: e.window.counts}
	out.WindowStart, out.WindowEnd = e.window.bounds(c.Now())
	return out, e.window.counts.check()
}

// prepare makes sessions ahead of their due times, in order.
func (e *engine) prepare(ctx context.Context, start int64) <-chan *job {
	jobs := make(chan *job, ahead)
	e.running.Go(func() {
		defer close(jobs)
		i := 0
		send := func(due int64) bool {
			session := e.stage.Session(i)
			turn := session.Next(nil)
			if turn == nil {
				return false
			}
			j := &job{index: i, due: due, session: session, turn: turn}
			i++
			select {
			case jobs <- j:
				return true
			case <-ctx.Done():
			}
			if e.stage.Arrivals == nil || !e.window.owes(due) {
				return false
			}
			jobs <- j // the dispatcher empties the channel to its end
			return true
		}
		if e.stage.Arrivals == nil {
			for send(0) {
			}
			return
		}
		for offset := range e.stage.Arrivals {
			if !send(start + offset) {
				return
			}
		}
	})
	return jobs
}

// conduct walks the stage through its phases and says why it ended early, or
// "". When it returns, nothing new begins and what still ran is being ended.
func (e *engine) conduct(ctx context.Context) (stopped string) {
	stopped = e.awaitWindow(ctx)
	e.window.finish(e.clock.Now())
	if stopped == "" {
		stopped = e.awaitDrain(ctx)
	} else if stopped != interrupted {
		e.window.close()
		if again := e.awaitDrain(ctx); again != "" {
			stopped = again
		}
	}
	cause := errOver
	if stopped == interrupted {
		e.window.close()
		e.gate.shut()
		e.awaitQuiet(ctx)
		cause = errStopped
	}
	e.window.close()
	e.cancel(cause)
	return stopped
}

// awaitWindow waits until the measured window is over, or says what cut it
// short.
func (e *engine) awaitWindow(ctx context.Context) (stopped string) {
	limit := time.NewTimer(warmupLimit)
	defer limit.Stop()
	started, ended := e.window.started, make(chan struct{})
	for {
		select {
		case <-started:
			started = nil
			limit.Stop()
			e.alarm(ctx, ended)
		case <-limit.C:
			e.window.force(e.window.begin + int64(warmupLimit))
		case <-ended:
			return ""
		case <-e.window.full:
			return ""
		case <-e.window.spent:
			return e.window.overrun + " reached"
		case <-e.stage.Stop:
			return interrupted
		case <-ctx.Done():
			return interrupted
		}
	}
}

// alarm closes ended at the end of a window that is bounded by time.
func (e *engine) alarm(ctx context.Context, ended chan<- struct{}) {
	end := e.window.plannedEnd()
	if end == 0 {
		return
	}
	e.running.Go(func() {
		if !e.clock.SleepUntil(end, ctx.Done()) {
			close(ended)
		}
	})
}

// awaitDrain waits for the window's requests to end, while the load goes on.
func (e *engine) awaitDrain(ctx context.Context) (stopped string) {
	drain := time.NewTimer(e.stage.Drain)
	defer drain.Stop()
	select {
	case <-e.window.drained:
	case <-drain.C:
	case <-e.stage.Stop:
		return interrupted
	case <-ctx.Done():
		return interrupted
	}
	return ""
}

// awaitQuiet gives every request in flight the stage's grace to end.
func (e *engine) awaitQuiet(ctx context.Context) {
	grace := time.NewTimer(e.stage.Grace)
	defer grace.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for e.progress.InFlight.Load() > 0 {
		select {
		case <-tick.C:
		case <-grace.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// open dispatches arrivals at their due times, on a thread of its own.
func (e *engine) open(ctx context.Context) {
	defer clock.Pin()()
	for j := range e.sessions {
		if e.clock.SleepUntil(j.due, ctx.Done()) || ctx.Err() != nil {
			e.miss(j)
			break
		}
		phase, ok := e.window.admit(j.due, j.turn.Request)
		if !ok {
			e.miss(j)
			break
		}
		e.progress.phase.Store(phase)
		rec := e.newRecord(j, phase)
		e.running.Go(func() { e.serve(ctx, j, rec) })
	}
	for j := range e.sessions {
		e.miss(j)
	}
}
