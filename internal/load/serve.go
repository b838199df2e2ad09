package load

import (
	"context"
	"errors"
	"strconv"
	"time"

	"redline/internal/llm"
	"redline/internal/record"
)

// refusedPause keeps a closed loop from hammering a server that cannot even be
// reached.
const refusedPause = int64(250 * time.Millisecond)

// closed starts the workers of a closed loop: each asks again as soon as it is
// answered.
func (e *engine) closed(ctx context.Context, start int64) {
	for i := range e.stage.Cap {
		due := start + int64(e.stage.Stagger)*int64(i)/int64(e.stage.Cap)
		e.running.Go(func() { e.work(ctx, due) })
	}
}

func (e *engine) work(ctx context.Context, due int64) {
	for j := range e.sessions {
		if e.clock.SleepUntil(due, ctx.Done()) {
			return
		}
		phase, ok := e.window.admit(due, j.turn.Request)
		if !ok {
			return
		}
		e.progress.phase.Store(phase)
		j.due = due
		due = e.serve(ctx, j, e.newRecord(j, phase))
	}
}

// newRecord begins the record of a request that was just admitted.
func (e *engine) newRecord(j *job, phase record.Phase) *record.Record {
	e.progress.Due.Add(1)
	e.mu.Lock()
	id := e.nextID
	e.nextID++
	e.mu.Unlock()
	r := j.turn.Request
	r.ID = e.stage.Run + "-" + strconv.Itoa(id)
	rec := &record.Record{ID: id, Session: j.index, Class: r.Class, Tenant: r.Tenant, Phase: phase,
		Due: j.due, Begin: e.clock.Now(), AskedPrompt: r.PromptTokens, AskedOutput: r.MaxTokens,
		Streamed: r.Stream}
	rec.Expect(r.MaxTokens)
	return rec
}

// serve runs a session turn by turn and gives the time at which its slot is
// free for another.
func (e *engine) serve(ctx context.Context, j *job, rec *record.Record) (free int64) {
	for turn := 1; ; turn++ {
		reply := e.request(ctx, j.turn, rec)
		free = rec.End
		if unreachable(reply.Outcome) {
			free += refusedPause
		}
		e.finish(rec)
		j.turn = j.session.Next(&reply)
		if j.turn == nil || ctx.Err() != nil {
			return free
		}
		j.due = rec.End + int64(j.turn.Think)
		if e.clock.SleepUntil(j.due, ctx.Done()) {
			return free
		}
		phase, ok := e.window.admit(j.due, j.turn.Request)
		if !ok {
			return free
		}
		rec = e.newRecord(j, phase)
		rec.Turn = turn
	}
}

func unreachable(o llm.Outcome) bool {
	return o == llm.Connect || o == llm.DNS || o == llm.TLS
}

// request sends one turn, once the cap lets it, and observes what comes back.
func (e *engine) request(ctx context.Context, t *llm.Turn, rec *record.Record) llm.Reply {
	e.progress.Waiting.Add(1)
	entered := e.gate.enter(ctx)
	e.progress.Waiting.Add(-1)
	if !entered {
		rec.Fail(&llm.Fault{Outcome: llm.Unsent, At: e.clock.Now(), Message: "no slot became free in time"})
		return llm.Reply{Outcome: rec.Outcome}
	}
	rec.Slot, rec.Try = e.clock.Now(), 1
	e.progress.InFlight.Add(1)
	text := e.observe(ctx, t, rec)
	e.progress.InFlight.Add(-1)
	e.gate.leave()
	reply := llm.Reply{Outcome: rec.Outcome}
	if t.KeepReply {
		reply.Text = string(text)
	}
	if e.stage.Count != nil && len(text) > 0 {
		rec.LocalTokens = e.stage.Count(string(text))
	}
	rec.Settle()
	return reply
}

// observe streams one request into its record. It gives the reply's text where
// someone wants it.
func (e *engine) observe(ctx context.Context, t *llm.Turn, rec *record.Record) (text []byte) {
	keep := t.KeepReply || e.sampled(rec.ID)
	for ev, err := range e.target.Stream(ctx, t.Request) {
		if err != nil {
			rec.Fail(e.fault(ctx, err))
			return text
		}
		rec.Observe(ev)
		if ev.Kind == llm.Output {
			e.progress.Events.Add(1)
			if keep {
				text = append(text, ev.Text...)
			}
		}
	}
	if rec.Outcome == "" {
		rec.Fail(&llm.Fault{Outcome: llm.Truncated, At: e.clock.Now(), Message: "the target stopped without a word"})
	}
	return text
}

// sampled picks requests whose text is kept for counting, evenly over ids.
func (e *engine) sampled(id int) bool {
	if e.stage.Count == nil {
		return false
	}
	const golden = 0x9E3779B97F4A7C15
	return float64(uint64(id+1)*golden>>11)/(1<<53) < e.stage.CountShare
}

// fault turns what a target yielded into a fault, and a cancellation into what
// it means for the stage.
func (e *engine) fault(ctx context.Context, err error) *llm.Fault {
	var f *llm.Fault
	if !errors.As(err, &f) {
		f = &llm.Fault{Outcome: llm.Malformed, At: e.clock.Now(), Message: err.Error()}
	}
	if f.Outcome == llm.Cancelled {
		f = &llm.Fault{Outcome: llm.Cancelled, At: e.clock.Now(), Message: "cancelled by the user"}
		if context.Cause(ctx) == errOver {
			f.Outcome, f.Message = llm.Censored, "still running when the drain ended"
		}
	}
	return f
}

// finish counts a request's outcome and hands its record on.
func (e *engine) finish(rec *record.Record) {
	if rec.Sent == 0 && (rec.Outcome == llm.Cancelled || rec.Outcome == llm.Censored) {
		rec.Outcome = llm.Unsent
	}
	switch {
	case rec.Outcome == llm.OK:
		e.progress.OK.Add(1)
	case rec.Outcome == llm.Rejected || rec.Outcome.Failed():
		e.progress.Errors.Add(1)
	}
	e.window.ended(rec)
	e.sink(rec)
}

// miss records a request that was due in the window but came too late for the
// stage.
func (e *engine) miss(j *job) {
	phase, owed := e.window.missed(j.due)
	if !owed {
		return
	}
	rec := e.newRecord(j, phase)
	rec.Begin = 0
	rec.Fail(&llm.Fault{Outcome: llm.Unsent, At: e.clock.Now(), Message: "never begun"})
	e.finish(rec)
}
