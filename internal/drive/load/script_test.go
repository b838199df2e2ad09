package load

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/must"
)

const ms = time.Millisecond

// reply is how a scripted target answers one request.
type reply struct {
	dial   time.Duration // opening a connection, 0 for one that was kept
	ttft   time.Duration
	gap    time.Duration // between output events
	tokens int
	word   string     // the text of each, "word " unless set
	usage  int        // tokens that the server counts, 0 where it does not
	fault  *llm.Fault // comes in place of the end
	hang   bool       // never ends by itself
}

// after is a reply of one token.
func after(d time.Duration) reply { return reply{ttft: d, tokens: 1} }

// script is a target in virtual time that answers each request as told.
type script struct {
	clock  *clock.Clock
	answer func(r *llm.Request) reply

	now, most atomic.Int64 // streams at once
}

func always(a reply) func(*llm.Request) reply { return func(*llm.Request) reply { return a } }

func (s *script) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if n := s.now.Add(1); n > s.most.Load() {
			s.most.Store(n)
		}
		defer s.now.Add(-1)
		if fault := s.play(ctx, s.answer(r), yield); fault != nil {
			yield(llm.Event{}, fault)
		}
	}
}

func (s *script) play(ctx context.Context, a reply, yield func(llm.Event, error) bool) error {
	emit := func(kind llm.EventKind, text string) {
		yield(llm.Event{Kind: kind, At: s.clock.Now(), Text: []byte(text)}, nil)
	}
	cancelled := &llm.Fault{Outcome: llm.Cancelled, Message: "cancelled"}
	if a.dial > 0 {
		if !wait(ctx, a.dial) {
			return cancelled
		}
		emit(llm.Dialed, "")
	}
	emit(llm.Ready, "")
	emit(llm.Sent, "")
	for i := range a.tokens {
		pause := a.gap
		if i == 0 {
			pause = a.ttft
		}
		if !wait(ctx, pause) {
			return cancelled
		}
		emit(llm.Output, cmp.Or(a.word, "word "))
	}
	switch {
	case a.hang:
		<-ctx.Done()
		return cancelled
	case a.fault != nil:
		return a.fault
	}
	if a.usage > 0 {
		yield(llm.Event{Kind: llm.UsageSeen, At: s.clock.Now(), Usage: llm.Usage{OutputTokens: a.usage}}, nil)
	}
	emit(llm.End, "")
	return nil
}

func wait(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// targetFunc is a target that is one func.
type targetFunc func(ctx context.Context, yield func(llm.Event, error) bool)

func (f targetFunc) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) { f(ctx, yield) }
}

// singles are sessions of one request each, without end.
func singles(int) llm.Session {
	return llm.Single(&llm.Request{PromptTokens: 10, MaxTokens: 1, Stream: true})
}

// every is a constant arrival process that begins at once.
func every(gap time.Duration) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for at := int64(0); yield(at); at += int64(gap) {
		}
	}
}

// at is a schedule of these arrivals and no more.
func at(offsets ...time.Duration) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, offset := range offsets {
			if !yield(int64(offset)) {
				return
			}
		}
	}
}

func durationPointer(d time.Duration) *time.Duration { return &d }

// played is what came of a stage. Times are from the stage's start.
type played struct {
	Outcome
	Took    time.Duration
	records []*record.Record // by id
}

// fate is what most tests compare of a record, from the stage's start.
type fate struct {
	Session, Turn                     int
	Phase                             record.Phase
	Outcome                           llm.Outcome
	Due, Begin, Slot, Sent, Last, End time.Duration
}

// fates gives every record's fate. A stamp that is unknown reads -1.
func (p played) fates() []fate {
	var list []fate
	for _, r := range p.records {
		from := func(ns int64) time.Duration {
			if ns == 0 {
				return -1
			}
			return time.Duration(ns - p.Start)
		}
		list = append(list, fate{r.Session, r.Turn, r.Phase, r.Outcome,
			from(r.Due), from(r.Begin), from(r.Slot), from(r.Sent), from(r.Last), from(r.End)})
	}
	return list
}

// window gives the bounds from the stage's start, zero where there is none.
func (p played) window() [2]time.Duration {
	if p.WindowEnd == 0 {
		return [2]time.Duration{}
	}
	return [2]time.Duration{time.Duration(p.WindowStart - p.Start), time.Duration(p.WindowEnd - p.Start)}
}

// by counts records by phase and outcome.
func (p played) by() map[record.Phase]map[llm.Outcome]int {
	m := map[record.Phase]map[llm.Outcome]int{}
	for _, r := range p.records {
		if m[r.Phase] == nil {
			m[r.Phase] = map[llm.Outcome]int{}
		}
		m[r.Phase][r.Outcome]++
	}
	return m
}

// bubble runs f in virtual time, on a clock whose origin lies a second back.
func bubble(t *testing.T, f func(t *testing.T, c *clock.Clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := clock.Virtual()
		time.Sleep(time.Second)
		f(t, c)
	})
}

// drive runs a stage to its end.
func drive(ctx context.Context, t *testing.T, c *clock.Clock, target Target, s Stage) played {
	t.Helper()
	var mu sync.Mutex
	var p played
	var progress Progress
	if s.Session == nil {
		s.Session = singles
	}
	out := must.Get(Run(ctx, c, target, s, &progress, func(r *record.Record) {
		mu.Lock()
		defer mu.Unlock()
		p.records = append(p.records, r)
	}))(t)
	if n := progress.InFlight.Load() + progress.Waiting.Load(); n != 0 {
		t.Errorf("%d requests are in flight or waiting after the end", n)
	}
	slices.SortFunc(p.records, func(a, b *record.Record) int { return a.ID - b.ID })
	p.Outcome, p.Took = out, time.Duration(c.Now()-out.Start)
	return p
}

// play runs a stage in virtual time against a target that answers as told.
func play(t *testing.T, s Stage, answer func(*llm.Request) reply) (p played) {
	t.Helper()
	bubble(t, func(t *testing.T, c *clock.Clock) {
		p = drive(t.Context(), t, c, &script{clock: c, answer: answer}, s)
	})
	return p
}
