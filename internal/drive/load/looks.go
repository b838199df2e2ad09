package load

import (
	"sync"
	"sync/atomic"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// Look is a stage whose window has not ended yet.
type Look struct {
	// Start and End bound the window so far, from the run's origin.
	Start, End int64
	// Unfinished are the requests that had not ended then, as if they were cut
	// off at End. One that ends meanwhile may have been handed on as well.
	Unfinished []*record.Record
}

// looks asks at growing lengths of the window whether it may end. Each look is
// taken on a goroutine of its own: neither the dispatcher nor the conductor
// waits for it.
type looks struct {
	engine    *engine
	remaining []time.Duration
	due       *time.Timer
	decided   chan bool
}

func (e *engine) newLooks() *looks {
	l := &looks{engine: e, due: time.NewTimer(time.Hour), decided: make(chan bool, 1)}
	l.due.Stop()
	if e.stage.Decided != nil {
		l.remaining = e.stage.Looks
	}
	return l
}

// next waits for the next length that is not past.
func (l *looks) next() {
	start, _ := l.engine.window.bounds()
	now := l.engine.clock.Now()
	for len(l.remaining) > 0 {
		at := start + int64(l.remaining[0])
		l.remaining = l.remaining[1:]
		if at >= now {
			l.due.Reset(time.Duration(at - now))
			return
		}
	}
}

// take looks at the window as it is now.
func (l *looks) take() {
	e := l.engine
	start, _ := e.window.bounds()
	end := e.knownUntil()
	e.looking.Go(func() {
		l.decided <- e.stage.Decided(Look{Start: start, End: end, Unfinished: e.flights.snapshot(end)})
	})
}

// flights are the requests on their way, for looks.
type flights struct {
	mu  sync.Mutex
	now map[*record.Record]*flight
}

// flight is what a look may know of a request that its own goroutine is still
// writing the record of.
type flight struct {
	atStart     record.Record // as it was when it was taken in
	sent, first atomic.Int64
}

func (f *flights) begin(rec *record.Record) *flight {
	if f == nil {
		return nil
	}
	one := &flight{atStart: *rec}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now[rec] = one
	return one
}

func (f *flights) end(rec *record.Record) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.now, rec)
}

// observe notes the stamps of a try as they come.
func (f *flight) observe(kind llm.EventKind, rec *record.Record) {
	switch {
	case f == nil:
	case kind == llm.Sent:
		f.sent.Store(rec.Sent)
		f.first.Store(0)
	case kind == llm.Output && f.first.Load() == 0:
		f.first.Store(rec.First)
	}
}

// snapshot gives what is on its way as records that were cut off at end.
func (f *flights) snapshot(end int64) []*record.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]*record.Record, 0, len(f.now))
	for _, one := range f.now {
		rec := one.atStart
		rec.Sent, rec.First = one.sent.Load(), one.first.Load()
		rec.Outcome, rec.End = llm.Censored, end
		list = append(list, &rec)
	}
	return list
}
