package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/run/doctor"
	"redline/internal/run/measure"
)

const (
	// beat is how often a worker tells what has happened.
	beat = 100 * time.Millisecond
	// silence is how long a worker keeps sending although its conductor says
	// nothing, which else it does every second: one that was killed may come back.
	silence = 30 * time.Second
)

// Worker does what conductors ask, one at a time.
type Worker struct {
	// Clock is the worker's own, Dial for virtual time only.
	Clock *clock.Clock
	Dial  client.Dial
	// Outlet is where the batches of a run go.
	Outlet func(run string, share int) Outlet
	// Keep is the directory that complete records are kept in, under the worker's
	// Name; "" for none.
	Keep, Name string
	// Pace is how long it looks at its machine when it is asked to.
	Pace doctor.Pace
	// Say is told, in one line each, what goes on.
	Say func(format string, args ...any)

	mu          sync.Mutex
	claimedBy   string // who has claimed it, "" for nobody
	lastContact time.Time
	part        *measure.Part
	assigned    measure.Assignment
	job         *job
	released    chan struct{}
}

// Owner is the conductor that has claimed the worker, "" for none, or only one
// that has not been heard of for long.
func (w *Worker) Owner() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owner()
}

func (w *Worker) owner() string {
	if time.Since(w.lastContact) > silence {
		return ""
	}
	return w.claimedBy
}

// Serve returns once a conductor that has claimed the worker is done, whether or
// not it came to a load, or has been silent for so long that it is gone.
func (w *Worker) Serve(ctx context.Context) {
	w.mu.Lock()
	if w.released == nil {
		w.released = make(chan struct{})
	}
	done := w.released
	w.mu.Unlock()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-look.C:
			w.mu.Lock()
			gone := w.claimedBy != "" && time.Since(w.lastContact) > silence+flushWait
			w.mu.Unlock()
			if gone {
				w.say("its conductor is gone")
				return
			}
		}
	}
}

// Answer does what a conductor asks.
func (w *Worker) Answer(ctx context.Context, q Question) Answer {
	now := w.Clock.Now()
	err := w.hear(q)
	switch {
	case err != nil, q.Claim != "":
	case q.Clock:
		return Answer{Now: now}
	case q.Prepare != nil:
		err = w.prepare(ctx, q.From, *q.Prepare)
	case q.Start != 0:
		err = w.start(q.Start)
	case q.Order != nil:
		w.order(*q.Order)
	case q.Examine != nil:
		found, err := examine(ctx, q.Examine, w.Pace)
		if err != nil {
			return Answer{Refused: err.Error()}
		}
		return Answer{Found: found}
	case q.Release:
		w.Release()
	}
	if err != nil {
		return Answer{Refused: err.Error()}
	}
	return Answer{}
}

// hear notes that the conductor is there, or a new one where the worker is free.
// Nobody else is obeyed: a conductor that was suspended for long may have lost
// the worker to another.
func (w *Worker) hear(q Question) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	by := cmp.Or(q.Claim, q.From)
	if by != w.claimedBy {
		switch {
		case q.Claim == "" && w.claimedBy == "":
			return errors.New("it was released")
		case q.Claim == "", w.owner() != "":
			return fmt.Errorf("it works for %s", w.claimedBy)
		}
		w.say("claimed by %s", by)
	}
	w.claimedBy, w.lastContact = by, time.Now()
	return nil
}

func (w *Worker) prepare(ctx context.Context, from string, a measure.Assignment) error {
	w.end("it was given other work")
	part, err := measure.Take(ctx, a, w.Clock, w.Dial)
	if err == nil && w.Keep != "" {
		if err = part.Keep(w.Keep, w.Name); err != nil {
			part.Close()
		}
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.claimedBy != from {
		part.Close()
		return fmt.Errorf("it works for %s by now", w.claimedBy)
	}
	w.part, w.assigned = part, a
	return nil
}

func (w *Worker) start(at int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.part == nil {
		return fmt.Errorf("it has nothing to begin with")
	}
	j := &job{worker: w, owner: w.claimedBy, part: w.part, clock: w.part.Clock(), assignment: w.assigned, outlet: w.Outlet(w.assigned.Run, w.assigned.Share.Index),
		orders: make(chan load.Order, 16), ended: make(chan struct{}), news: map[int]*record.Record{}}
	w.part, w.job = nil, j
	w.say("run %s: sending 1/%d of its load", w.assigned.Run, w.assigned.Share.Of)
	go j.run(at)
	return nil
}

func (w *Worker) order(o load.Order) {
	w.mu.Lock()
	j := w.job
	w.mu.Unlock()
	if j != nil {
		j.order(o)
	}
}

// end stops what the worker does or was about to do, and says why.
func (w *Worker) end(why string) {
	w.mu.Lock()
	part, j := w.part, w.job
	w.part, w.job = nil, nil
	w.mu.Unlock()
	if part != nil {
		part.Close()
	}
	if j != nil {
		j.interrupt(why)
		select {
		case j.orders <- load.Order{End: true, Stopped: true}:
		case <-j.ended:
		}
		<-j.ended
	}
}

// Release ends what the worker does and makes it free.
func (w *Worker) Release() {
	w.mu.Lock()
	by := w.claimedBy
	w.mu.Unlock()
	w.end("it was stopped")
	w.mu.Lock()
	defer w.mu.Unlock()
	if by == "" || w.claimedBy != by { // the other of two releases was first
		return
	}
	w.claimedBy = ""
	w.say("released")
	if w.released != nil {
		close(w.released)
		w.released = nil
	}
}

func (w *Worker) say(format string, args ...any) {
	if w.Say != nil {
		w.Say(format, args...)
	}
}

// has reports whether a conductor still has the worker: it has not been silent for
// too long, and no other has claimed it since.
func (w *Worker) has(conductor string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owner() == conductor
}
