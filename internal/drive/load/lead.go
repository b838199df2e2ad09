package load

import (
	"context"
	"slices"
	"sync/atomic"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/llm"
)

// Order is what the conductor of a stage has decided, for those who offer its
// load.
type Order struct {
	// Window is when the measured window begins, 0 if that is not the order.
	Window int64
	// Halt ends the sending; what is in flight goes on.
	Halt bool
	// End ends what is in flight too: the drain is over, or the user has Stopped
	// the run.
	End, Stopped bool
}

// followOrders does what it is told, and says whether the user stopped the stage.
func (e *engine) followOrders(ctx context.Context, cancel context.CancelCauseFunc) (stopped string) {
	for {
		select {
		case o := <-e.stage.Orders:
			if o.Window != 0 {
				e.window.startNow(o.Window)
			}
			if o.Halt || o.End {
				e.end()
			}
			if o.Stopped {
				cancel(errStopped)
				return interrupted
			}
			if o.End {
				cancel(errOver)
				return ""
			}
		case <-e.quiet:
			return ""
		case <-ctx.Done():
			e.end()
			cancel(errStopped)
			return interrupted
		}
	}
}

// startNow begins the window when others say.
func (w *window) startNow(at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.windowStart == 0 && w.stageEnd == 0 {
		w.startAt(at)
	}
}

// News is what a worker has to tell.
type News struct {
	// Record is a request that has begun, was sent, has shown output or, where it
	// has an outcome, has ended. Nil where nothing has happened.
	Record *record.Record
	// Known is the time up to which everything was told, 0 where that is not the
	// news.
	Known int64
	// Output is how many output events have come since the last news of it.
	Output int64
	// Gone are the requests on their way whose workers are lost at present, nil
	// where that is not the news: nobody waits for them.
	Gone []int
}

// Workers offer a stage's load in several processes.
type Workers interface {
	// News calls take with what happens, in the order of time as far as that is
	// known, until all of them have ended.
	News(take func(News))
	// Order passes an order on. It does not wait for the workers.
	Order(Order)
}

// Lead is Run where workers send the requests: the stage decides by what they
// tell, as if it had sent them itself, and sink gets their records in the phase
// that it decides. The stage's own Session, Count and Retries are not used.
func Lead(ctx context.Context, c *clock.Clock, workers Workers, s Stage, p *Progress, sink func(*record.Record)) (Outcome, error) {
	e := &engine{stage: &s, clock: c, sink: sink, progress: p, window: newWindow(&s, s.Start), quiet: make(chan struct{}), reportedUntil: new(atomic.Int64)}
	if s.Decided != nil {
		e.flights = &flights{now: map[*record.Record]*flight{}}
	}
	requests, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	go func() {
		e.hear(workers)
		close(e.quiet)
	}()
	e.running.Go(func() { e.passDecisions(requests, workers) })
	stopped := e.conduct(ctx, cancel)
	cancel(nil)
	e.running.Wait()
	return e.outcome(stopped)
}

// passDecisions passes on what the stage decides.
func (e *engine) passDecisions(requests context.Context, workers Workers) {
	select {
	case <-e.window.started:
		start, _ := e.window.bounds()
		workers.Order(Order{Window: start})
	case <-e.window.stopped:
	}
	<-e.window.stopped
	workers.Order(Order{Halt: true})
	<-requests.Done()
	workers.Order(Order{End: true, Stopped: context.Cause(requests) == errStopped})
}

// remoteRequest is a request that a worker has begun.
type remoteRequest struct {
	rec    *record.Record // as it was when it was taken in
	flight *flight
}

// hear takes in what the workers tell, until they have ended.
func (e *engine) hear(workers Workers) {
	open := map[int]remoteRequest{}
	workers.News(func(n News) {
		e.progress.Events.Add(n.Output)
		if n.Known != 0 {
			e.reportedUntil.Store(n.Known)
			e.window.advance(n.Known)
		}
		if n.Gone != nil {
			e.window.writeOff(len(slices.DeleteFunc(n.Gone, func(id int) bool {
				one, known := open[id]
				return !known || one.rec.Phase != record.Measure
			})))
		}
		rec := n.Record
		if rec == nil {
			return
		}
		one, known := open[rec.ID]
		if !known {
			one = e.enterRemote(rec)
		}
		if rec.Outcome == "" {
			e.followRemote(&one, rec)
			open[rec.ID] = one
			return
		}
		delete(open, rec.ID)
		if one.rec.First == 0 && (rec.First != 0 || rec.Outcome == llm.OK) {
			e.progress.Answered.Add(1) // and ended before it was heard of
		}
		rec.Phase, rec.Due = one.rec.Phase, one.rec.Due
		if one.rec.Sent != 0 {
			e.progress.InFlight.Add(-1)
		}
		e.finish(rec)
		e.flights.end(one.rec)
	})
	e.window.advance(never)
}

// enterRemote takes in a request that is new.
func (e *engine) enterRemote(rec *record.Record) remoteRequest {
	p := e.window.enterBegun(rec)
	e.progress.Due.Add(1)
	e.progress.phase.Store(p.phase)
	begun := rec.Opening()
	begun.Phase, begun.Due, begun.Sent, begun.First = p.phase, p.due, 0, 0
	e.note(begun)
	return remoteRequest{begun, e.flights.begin(begun)}
}

// followRemote follows a request that has been sent or has shown output.
func (e *engine) followRemote(one *remoteRequest, rec *record.Record) {
	if rec.Sent != 0 && one.rec.Sent == 0 {
		one.rec.Sent = rec.Sent
		e.progress.InFlight.Add(1)
		one.flight.observe(llm.Sent, rec)
		e.note(one.rec)
	}
	if rec.First != 0 && one.rec.First == 0 {
		one.rec.First = rec.First
		e.progress.Answered.Add(1)
		one.flight.observe(llm.Output, rec)
		e.note(one.rec)
	}
}

// knownUntil is the time up to which the stage knows what has happened.
func (e *engine) knownUntil() int64 {
	if e.reportedUntil != nil {
		return e.reportedUntil.Load()
	}
	return e.clock.Now()
}
