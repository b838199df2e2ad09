package load

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// unsentPause keeps a closed loop from hammering a server that cannot even be
// reached.
const unsentPause = int64(250 * time.Millisecond)

// composeAhead is how long before it is due a long prompt is written, so that none is
// held by a session that waits, and writing it delays no send.
const composeAhead = int64(250 * time.Millisecond)

// never is when nothing happens any more.
const never = math.MaxInt64

// open dispatches arrivals at their due times. It makes way for each request
// at once: that runs to the end of its sending on the same thread, where a
// request handed to another thread would first have to wake it.
func (e *engine) open(ctx context.Context) {
	for j := range e.sessions {
		e.progress.next.Store(j.due)
		e.window.advance(j.due)
		if b := e.begin(j); b != nil {
			e.running.Go(func() { e.serve(ctx, j, b) })
			runtime.Gosched()
		}
	}
	e.progress.next.Store(never)
	e.window.advance(never)
}

// startWorkers starts the workers of a closed loop: each asks again as soon as it is
// answered, and no sooner than its pace allows.
func (e *engine) startWorkers(ctx context.Context, start int64) {
	for i := range e.stage.Share.Part(e.stage.Cap) {
		due := start + int64(e.stage.Stagger)*int64(e.stage.Share.at(i))/int64(e.stage.Cap)
		e.running.Go(func() { e.work(ctx, due) })
	}
}

// work takes a session only when one is due, so that sessions come in the
// order of their due times.
func (e *engine) work(ctx context.Context, due int64) {
	for {
		e.clock.SleepUntil(due, e.window.stopped)
		j, ok := <-e.sessions
		if !ok {
			return
		}
		j.due = due
		b := e.begin(j)
		if b == nil {
			return
		}
		due = max(e.serve(ctx, j, b), due+int64(e.stage.Pace))
	}
}

// startedRequest is a request that the stage has taken in and its place at the gate.
type startedRequest struct {
	rec    *record.Record
	slot   *ticket    // nil without a cap
	flight *flight    // nil where nobody looks
	kept   *replyText // of its last try; nil before the first
}

// begin waits until a session's turn is due and takes it in, or gives nil when
// the stage takes no more. Requests queue for a slot in the order in which
// they begin.
func (e *engine) begin(j *job) *startedRequest {
	if j.turn.Write != nil && !e.window.isOver() {
		e.clock.SleepUntil(j.due-composeAhead, e.window.stopped)
	}
	if !e.window.isOver() {
		j.turn.Compose()
		e.clock.SleepUntil(j.due, e.window.stopped)
	}
	e.release(j)
	p, ok := e.window.admit(j.due, j.turn.Request)
	if !ok {
		e.miss(j)
		return nil
	}
	e.progress.phase.Store(p.phase)
	b := &startedRequest{rec: e.newRecord(j, p)}
	b.rec.Begin = e.clock.Now()
	b.flight = e.flights.begin(b.rec)
	e.note(b.rec)
	if e.gate != nil {
		b.slot = e.gate.join()
	}
	return b
}

func (e *engine) note(rec *record.Record) {
	if e.stage.Note != nil {
		e.stage.Note(rec)
	}
}

// newRecord starts the record of a turn.
func (e *engine) newRecord(j *job, p place) *record.Record {
	e.progress.Due.Add(1)
	r := j.turn.Request
	r.ID = llm.RequestID(e.stage.Run, p.id)
	rec := &record.Record{ID: p.id, Session: j.index, Turn: j.number, Class: r.Class, Tenant: r.Tenant,
		Phase: p.phase, Due: p.due, AskedPrompt: r.PromptTokens, AskedOutput: r.MaxTokens, Streamed: r.Stream,
		Inputs: r.Inputs, Natural: r.Natural, Tools: r.Tools.Len(), Schema: r.Format.Place(), Turns: j.turn.Of, Depth: j.turn.Depth, IdealCached: j.turn.Ideal,
		Adapter: r.Adapter, Priority: r.Priority, Prefix: j.turn.Prefix, PrefixTokens: j.turn.PrefixTokens}
	rec.Images, rec.ImageBytes, rec.ImagePixels = r.Images()
	return rec
}

// serve runs a session turn by turn, those beside others at the same time, and
// gives the time at which its slot is free for another: when the last of them
// has ended.
func (e *engine) serve(ctx context.Context, j *job, b *startedRequest) (free int64) {
	var beside branches
	e.branch(ctx, &beside, j, j.turn, j.due)
	for {
		e.request(ctx, j.turn, b)
		text, reply := b.kept.text(b.rec), b.kept.reply(b.rec.Outcome)
		reply.Turn, reply.Due, reply.End = b.rec.Turn, b.rec.Due, b.rec.End
		end, reached := b.rec.End, b.rec.Sent != 0
		e.settle(b.rec, text, b.kept)
		if reply.Outcome.Count().Unfinished && e.window.isOver() {
			return beside.wait(never)
		}
		free = end
		if !reached {
			free += unsentPause
		}
		turn := j.session.Next(&reply)
		if turn == nil {
			return beside.wait(free)
		}
		j.follow(turn, end)
		e.branch(ctx, &beside, j, turn, end)
		if b = e.begin(j); b == nil {
			// Its user was still to ask: nobody is free for another session.
			return beside.wait(never)
		}
	}
}

// follow takes the turn behind one that ended.
func (j *job) follow(t *llm.Turn, end int64) {
	j.turn, j.number = t, max(j.number+1, t.Number)
	j.due = max(end, t.After) + int64(t.Think)
}

// branches are the turns that a session has beside others, and what comes of
// them.
type branches struct {
	running sync.WaitGroup
	mu      sync.Mutex
	free    int64
}

// branch runs the turns beside another one, which is due behind origin.
func (e *engine) branch(ctx context.Context, all *branches, j *job, t *llm.Turn, origin int64) {
	for _, turn := range t.Beside {
		beside := &job{index: j.index, session: j.session, number: j.number - 1}
		beside.follow(turn, origin)
		all.running.Add(1)
		e.running.Go(func() {
			defer all.running.Done()
			free := int64(never)
			if b := e.begin(beside); b != nil {
				free = e.serve(ctx, beside, b)
			}
			all.mu.Lock()
			all.free = max(all.free, free)
			all.mu.Unlock()
		})
	}
}

// wait gives when the last turn of all has ended, where one has at free.
func (b *branches) wait(free int64) int64 {
	b.running.Wait()
	return max(b.free, free)
}

// request sends one turn, once the cap lets it and as often as the stage wants
// it tried, and observes what comes back.
func (e *engine) request(ctx context.Context, t *llm.Turn, b *startedRequest) {
	rec := b.rec
	if b.slot != nil {
		slot, through := e.enter(b.slot, rec.Due)
		if !through {
			rec.Fail(&llm.Fault{Outcome: llm.Unsent, At: e.clock.Now(), Message: "no slot became free in time"})
			return
		}
		rec.Slot = slot
	}
	rec.Try = 1
	ready := max(rec.Due, rec.Slot)
	for tries := 1; ; tries++ {
		fault := e.try(ctx, t, b, ready)
		if fault == nil {
			return
		}
		var again bool
		if ready, again = e.retry(rec, tries, fault); !again {
			return
		}
	}
}

// enter waits for a slot. The cap lets a request through when a slot is free
// for it, which is never before it is ready, and not when it gets round to
// using it: the difference is lag.
func (e *engine) enter(place *ticket, ready int64) (slot int64, through bool) {
	e.progress.Waiting.Add(1)
	defer e.progress.Waiting.Add(-1)
	through = place.wait()
	return max(ready, place.since), through
}

// try sends a request once.
func (e *engine) try(ctx context.Context, t *llm.Turn, b *startedRequest, ready int64) *llm.Fault {
	rec := b.rec
	rec.Expect(t.Request.MaxTokens)
	t.Compose()
	e.progress.InFlight.Add(1)
	fault := e.observe(ctx, t, b, ready)
	e.progress.InFlight.Add(-1)
	if fault != nil {
		rec.Fail(fault)
	}
	if e.gate != nil {
		e.gate.leave(rec.End)
	}
	return fault
}

// observe streams one try into its record. ready is when nothing but a
// connection was wanting any more.
func (e *engine) observe(ctx context.Context, t *llm.Turn, b *startedRequest, ready int64) *llm.Fault {
	rec := b.rec
	whole := t.KeepReply || e.marks != nil || e.inCountShare(rec) || e.stage.Count != nil && e.odd.Load()
	if !whole && e.mayCheck(rec) {
		whole = true
		defer e.keeping.Add(-1)
	}
	b.kept = newReplyText(t, whole, e.stage.Count != nil)
	e.marks.add(rec.Session, t.Request.Messages)
	ctx, abandon := e.abandonable(ctx, t.Request.Cancel)
	defer abandon.stop()
	for ev, err := range e.target.Stream(ctx, t.Request) {
		if err != nil {
			return e.fault(ctx, err)
		}
		first := rec.Sent == 0
		if ev.Kind == llm.Output {
			b.kept.add(rec, ev)
		}
		if ev.Kind == llm.Output || ev.Kind == llm.Head && ev.Status == 200 {
			t.LetGo() // it is not sent again
		}
		rec.Observe(ev)
		b.flight.observe(ev.Kind, rec)
		if abandon.observe(ev.Kind, rec) {
			return abandonFault(e.clock.Now())
		}
		switch ev.Kind {
		case llm.Ready:
			if first && !rec.ConnNew {
				// A connection that was kept ready held nobody up.
				rec.Conn = min(ev.At, ready)
			}
		case llm.End:
			b.kept.calls = ev.Calls
		case llm.Written:
			e.note(rec) // not when it is sent, which must not wait for it
		case llm.Output:
			e.progress.Events.Add(1)
			if rec.ChunkCount() == 1 {
				e.noteTTFT(rec)
				e.progress.Answered.Add(1)
				e.note(rec)
			}
		}
	}
	switch {
	case rec.Outcome == llm.OK && rec.ChunkCount() == 0 && rec.Inputs != 0:
		e.progress.Answered.Add(1)
	case rec.Outcome == "" && ctx.Err() != nil:
		return e.fault(ctx, ctx.Err())
	case rec.Outcome == "":
		return &llm.Fault{Outcome: llm.Truncated, At: e.clock.Now(), Message: "the target stopped without a word"}
	case rec.Outcome == llm.OK && rec.ChunkCount() == 0:
		return &llm.Fault{Outcome: llm.Empty, At: rec.End, Message: "the stream closed without output"}
	}
	return nil
}

// minSampled is how many replies of a window are counted at least: a run of
// twenty requests is checked too. maxKept is how many are kept for that at a
// time: some may fail.
const (
	minSampled = 20
	maxKept    = 100
)

// mayCheck reports whether a reply that begins may be one of the first of the
// window; the caller takes it from keeping once it has ended.
func (e *engine) mayCheck(rec *record.Record) bool {
	if e.stage.Count == nil || e.stage.CountShare <= 0 || e.stage.CountEvenly || rec.Phase != record.Measure || e.checked.Load() >= minSampled {
		return false
	}
	if e.keeping.Add(1) > maxKept {
		e.keeping.Add(-1)
		return false
	}
	return true
}

// inCountShare picks replies to check evenly over ids.
func (e *engine) inCountShare(rec *record.Record) bool {
	return e.stage.Count != nil && record.InShare(rec.ID, e.stage.CountShare)
}

// inSample picks replies whose text is counted to check the server's own count:
// the first of the window, then evenly over ids.
func (e *engine) inSample(rec *record.Record, text []byte) bool {
	if e.stage.CountShare > 0 && !e.stage.CountEvenly && rec.Phase == record.Measure && rec.Outcome == llm.OK && rec.Whole(text) && e.checked.Add(1) <= minSampled {
		return true
	}
	return e.inCountShare(rec)
}

// fault turns what a target yielded into a fault, and a cancellation into what
// it means for the stage.
func (e *engine) fault(ctx context.Context, err error) *llm.Fault {
	now := e.clock.Now()
	var f *llm.Fault
	known := errors.As(err, &f)
	switch {
	case known && f.Outcome == llm.Cancelled, !known && errors.Is(err, context.Canceled) && ctx.Err() != nil:
		switch context.Cause(ctx) {
		case errAbandoned:
			return abandonFault(now)
		case errOver:
			return &llm.Fault{Outcome: llm.Censored, At: now, Message: "still running when the drain ended"}
		}
		return &llm.Fault{Outcome: llm.Cancelled, At: now, Message: "cancelled by the user"}
	case !known:
		return &llm.Fault{Outcome: llm.Malformed, At: now, Message: err.Error()}
	case f.At == 0:
		stamped := *f
		stamped.At = now
		return &stamped
	}
	return f
}

// settle counts the tokens of a reply's text where it is sampled, or where
// usage and events leave them open, and checks what is to be checked, apart from the session, whose next turn
// must not wait for that.
func (e *engine) settle(rec *record.Record, text []byte, reply *replyText) {
	sampled := len(text) > 0 && e.stage.Count != nil && e.inSample(rec, text)
	plain := rec.Plain()
	if rec.Outcome == llm.OK && !plain {
		e.odd.Store(true) // from now on every word may be needed
	}
	counts := len(text) > 0 && e.stage.Count != nil && (sampled || !plain)
	looks := (counts || e.marks != nil) && rec.Outcome == llm.OK && len(text) > 0 && rec.Whole(text)
	if !counts && !looks && (reply == nil || reply.check == nil) {
		rec.Settle()
		e.finish(rec)
		return
	}
	e.running.Go(func() {
		// Tokenizing must not take the processor from the requests that still run.
		e.counting <- struct{}{}
		defer func() { <-e.counting }()
		if counts {
			rec.CountText(text, e.stage.Count, e.stage.OwnCount, sampled)
		}
		if looks && !rec.Repeats {
			rec.Garbage = e.marks.judge(rec.Session, string(text))
		}
		rec.Settle()
		reply.checkInto(rec)
		e.finish(rec)
	})
}

// finish counts a request's outcome and hands its record on.
func (e *engine) finish(rec *record.Record) {
	if rec.Sent == 0 && rec.Outcome.Count().Unfinished {
		rec.Outcome = llm.Unsent
	}
	switch {
	case rec.Outcome == llm.OK:
		e.progress.OK.Add(1)
	case rec.Outcome.Count().Fault:
		e.progress.Errors.Add(1)
	}
	if e.window.finishRequest(rec) && e.gate != nil {
		e.gate.close()
	}
	e.sink(rec)
	e.flights.end(rec)
}

// miss records a request that was due before the stage was over but came too
// late for it.
func (e *engine) miss(j *job) {
	p, owed := e.window.enterMissed(j.due)
	if !owed {
		return
	}
	rec := e.newRecord(j, p)
	rec.Fail(&llm.Fault{Outcome: llm.Unsent, At: e.clock.Now(), Message: "never begun"})
	e.finish(rec)
}
