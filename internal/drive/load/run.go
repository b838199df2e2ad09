package load

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/llm"
)

// errOver cancels what is still running when the drain has ended.
var errOver = errors.New("the drain has ended")

// errStopped cancels what is still running when the user's grace has ended.
var errStopped = errors.New("stopped")

// Why a stage ended early.
const (
	interrupted = "interrupted"
	RanOut      = "the workload has no more requests"
)

// ahead is how many sessions are prepared before they are due, so that making
// a prompt never delays a send: more for a closed loop, whose requests may end
// together, but not one for every user, which would hold every prompt twice.
const (
	ahead    = 256
	maxAhead = 1024
)

// maxPrepared bounds the bytes of requests that are composed before they are
// due; those beyond it are composed when they are sent. Requests that want to be
// composed ahead wait until there is room for them.
const (
	maxPrepared      = 8 << 20
	maxPreparedAhead = 96 << 20
)

// engine drives one stage.
type engine struct {
	stage         *Stage
	target        Target
	clock         *clock.Clock
	sink          func(*record.Record)
	progress      *Progress
	window        *window
	gate          *gate // nil without a cap
	sessions      <-chan *job
	flights       *flights // nil where nobody looks
	looking       sync.WaitGroup
	running       sync.WaitGroup
	quiet         chan struct{} // closed when nothing runs any more
	checked       atomic.Int64  // replies of the window that ended ok, their text kept
	keeping       atomic.Int64  // replies on their way whose text is kept to be checked
	prepared      atomic.Int64  // bytes of requests that are composed and not due yet
	ttft          atomic.Int64  // of the requests so far, smoothed; 0 before the first
	room          chan struct{} // holds one when there are fewer of them
	odd           atomic.Bool   // a reply's usage and events left its tokens open
	marks         *marks        // nil where not every text is looked at
	counting      chan struct{} // holds one for each reply whose tokens are being counted
	reportedUntil *atomic.Int64 // the time up to which workers have told everything, nil without workers
}

// job is one session on its way: its next turn and when that is due.
type job struct {
	index   int
	session llm.Session
	number  int // of the turn, from 0
	turn    *llm.Turn
	due     int64 // from the run's origin
	size    int64 // of the turn's request where it is composed already
}

// Run offers a stage's load to a target and hands every request's record to
// sink, which owns it from then on, is called from many goroutines and must
// not block. It returns when the window's requests have ended or the drain is
// over. Cancelling ctx ends it at once; everything begun still gets its
// record. The clock's origin must lie before the call.
func Run(ctx context.Context, c *clock.Clock, t Target, s Stage, p *Progress, sink func(*record.Record)) (Outcome, error) {
	if err := s.Validate(); err != nil {
		return Outcome{}, err
	}
	s.Retries = s.Retries.Complete()
	start := cmp.Or(s.Start, c.Now())
	e := &engine{stage: &s, target: t, clock: c, sink: sink, progress: p,
		window: newWindow(&s, start), quiet: make(chan struct{}), room: make(chan struct{}, 1),
		counting: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	if s.Cap > 0 && (s.Arrivals != nil || !s.Branching) {
		e.gate = newGate(s.Share.Part(s.Cap))
	}
	if s.CheckText {
		e.marks = newMarks()
	}
	if s.Decided != nil {
		e.flights = &flights{now: map[*record.Record]*flight{}}
	}
	// Only the conductor cancels requests, after it has closed the stage: none
	// is taken in just to be cancelled.
	requests, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	e.sessions = e.prepare(start)
	if s.Arrivals != nil {
		e.running.Go(func() { e.open(requests) })
	} else {
		p.next.Store(never)
		e.startWorkers(requests, start)
	}
	go func() {
		e.running.Wait()
		close(e.quiet)
	}()
	conduct := e.conduct
	if s.Orders != nil {
		conduct = e.followOrders
	}
	return e.outcome(conduct(ctx, cancel))
}

// outcome is how the stage went, once everything has ended.
func (e *engine) outcome(stopped string) (Outcome, error) {
	<-e.quiet
	e.looking.Wait()
	out := Outcome{Start: e.window.stageStart, Stopped: stopped, WarmupCut: e.window.warmupCut, Unsettled: e.window.warmupCut && e.window.unsettled, Broke: e.window.broke, Counts: e.window.counts}
	out.WindowStart, out.WindowEnd = e.window.bounds()
	return out, e.window.counts.check()
}

// prepare makes sessions ahead of their due times, in order.
func (e *engine) prepare(start int64) <-chan *job {
	share := e.stage.Share
	jobs := make(chan *job, min(max(ahead, share.Part(e.stage.Cap)), maxAhead))
	e.running.Go(func() {
		defer close(jobs)
		i := 0
		if e.stage.Arrivals == nil {
			for e.offer(jobs, share.at(i), start) {
				i++
			}
			return
		}
		for offset := range e.stage.Arrivals {
			if share.has(i) && !e.offer(jobs, i, start+offset) {
				return
			}
			i++
		}
	})
	return jobs
}

// offer makes the i-th session, or reports false when there is none or the
// stage wants no more.
func (e *engine) offer(jobs chan<- *job, i int, due int64) bool {
	session := e.stage.Session(i)
	turn := session.Next(nil)
	if turn == nil {
		return false
	}
	j := &job{index: i, session: session, number: turn.Number, turn: turn, due: due}
	e.compose(j)
	select {
	case jobs <- j:
		return true
	case <-e.window.stopped:
	}
	if e.stage.Arrivals == nil || !e.window.owes(due) {
		return false
	}
	jobs <- j // the dispatcher empties the channel to its end
	return true
}

// compose has the target prepare a session's first request, within bounds.
func (e *engine) compose(j *job) {
	p, ok := e.target.(Preparer)
	switch ahead := j.turn.Ahead; {
	case !ok || j.turn.Write != nil && !ahead || e.prepared.Load() >= maxPrepared && !ahead:
		return
	case ahead:
		e.awaitRoom()
		j.turn.Compose()
		_, bytes, _ := j.turn.Request.Images()
		j.size = int64(bytes)
	}
	j.size += int64(p.Prepare(j.turn.Request))
	e.prepared.Add(j.size)
}

// awaitRoom waits until few enough bytes are composed and not due yet.
func (e *engine) awaitRoom() {
	for e.prepared.Load() > maxPreparedAhead {
		select {
		case <-e.room:
		case <-e.window.stopped:
			return
		}
	}
}

// release takes a request that is due, or never will be, out of those that are
// composed ahead.
func (e *engine) release(j *job) {
	if j.size == 0 {
		return
	}
	e.prepared.Add(-j.size)
	j.size = 0
	select {
	case e.room <- struct{}{}:
	default:
	}
}

// conduct walks the stage through its phases and says why it ended early, or
// "". When it returns, nothing new begins and what still ran is being ended.
func (e *engine) conduct(ctx context.Context, cancel context.CancelCauseFunc) (stopped string) {
	stopped = e.awaitWindow(ctx)
	if stopped != interrupted && e.awaitDrain(ctx) {
		stopped = interrupted
	}
	if stopped == interrupted {
		e.window.closeEarly(e.clock.Now())
	}
	e.end()
	if stopped == interrupted {
		e.awaitQuiet(ctx)
		cancel(errStopped)
		return stopped
	}
	cancel(errOver)
	return cmp.Or(stopped, e.window.endedBy())
}

// end closes the stage; requests in flight continue.
func (e *engine) end() {
	e.window.close(e.clock.Now())
	if e.gate != nil {
		e.gate.close()
	}
}

// awaitWindow waits until the measured window is over, or says what cut it
// short.
func (e *engine) awaitWindow(ctx context.Context) (stopped string) {
	bound := time.NewTimer(e.stage.WarmupLimit())
	defer bound.Stop()
	started, quiet := e.window.started, e.quiet
	looks := e.newLooks()
	defer looks.due.Stop()
	for {
		select {
		case <-started:
			started = nil
			if e.stage.Begun != nil {
				start, _ := e.window.bounds()
				e.stage.Begun(start)
			}
			bound.Stop()
			e.awaitEnd(bound)
			looks.next()
		case <-looks.due.C:
			looks.take()
		case decided := <-looks.decided:
			if !decided {
				looks.next()
				continue
			}
			e.window.endSoon(e.clock.Now())
			bound.Stop()
			e.awaitEnd(bound)
		case <-bound.C:
			if started == nil {
				e.window.finish()
				return ""
			}
			e.window.endWarmup()
		case <-e.window.full:
			return ""
		case <-e.window.stopped:
			return e.window.shortfall()
		case <-quiet:
			if !e.stage.Whole {
				return e.window.shortfall()
			}
			quiet = nil // nothing more is due before the window's end
		case <-e.stage.Enough:
			e.window.close(e.clock.Now())
			return ""
		case <-e.stage.Stop:
			return interrupted
		case <-ctx.Done():
			return interrupted
		}
	}
}

// awaitEnd sets a timer to the end of a window that is bounded by time.
func (e *engine) awaitEnd(bound *time.Timer) {
	if end := e.window.plannedEnd(); end != 0 {
		bound.Reset(time.Duration(end - e.clock.Now()))
	}
}

// awaitDrain waits for the window's requests to end while the load goes on,
// or for all requests where a budget has ended the load already. It reports
// whether the user stopped it.
func (e *engine) awaitDrain(ctx context.Context) (stopped bool) {
	limit := time.NewTimer(e.stage.Drain)
	defer limit.Stop()
	drained := e.window.drained
	select {
	case <-e.window.stopped:
		drained = nil
	default:
	}
	select {
	case <-drained:
	case <-e.quiet:
	case <-limit.C:
	case <-e.stage.Stop:
		return true
	case <-ctx.Done():
		return true
	}
	return false
}

// awaitQuiet gives every request in flight the stage's grace to end.
func (e *engine) awaitQuiet(ctx context.Context) {
	grace := time.NewTimer(e.stage.Grace)
	defer grace.Stop()
	select {
	case <-e.quiet:
	case <-grace.C:
	case <-ctx.Done():
	}
}
