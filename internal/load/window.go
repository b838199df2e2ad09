package load

import (
	"sync"
	"time"

	"redline/internal/llm"
	"redline/internal/record"
)

// The adaptive warm-up: at least so many requests and twice the mean e2e seen
// so far, at most a minute.
const (
	warmupRequests = 50
	warmupLimit    = time.Minute
	// warmupGrain rounds the start of the window up, so that runs of one seed
	// measure the same requests although a server's times differ a little.
	warmupGrain = int64(time.Second)
)

// window decides which phase each request falls into, and tells the stage's
// conductor when the window has begun, is full, and has drained.
type window struct {
	stage *Stage
	begin int64 // the stage's start

	started chan struct{} // closed when start is known
	full    chan struct{} // closed when the window holds all its requests
	drained chan struct{} // closed when its requests have ended after finish
	spent   chan struct{} // closed when a budget is used up

	mu         sync.Mutex
	start, end int64 // 0: not known yet
	cut        bool
	begun      int // requests admitted so far
	measured   int // of them in the window
	open       int // of those, not ended
	finishing  bool
	closed     bool // no more requests are admitted
	e2eSum     int64
	e2eN       int64
	counts     Counts
	used       []float64 // by budget
	overrun    string    // the budget that is used up
}

func newWindow(s *Stage, begin int64) *window {
	w := &window{stage: s, begin: begin, used: make([]float64, len(s.Budgets)),
		started: make(chan struct{}), full: make(chan struct{}),
		drained: make(chan struct{}), spent: make(chan struct{})}
	if s.Warmup != nil {
		w.startAt(begin + int64(*s.Warmup))
	}
	return w
}

func (w *window) startAt(start int64) {
	w.start = start
	if w.stage.Duration > 0 {
		w.end = start + int64(w.stage.Duration)
	}
	close(w.started)
}

// force begins the window although the warm-up is not done.
func (w *window) force(start int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.start == 0 {
		w.cut = true
		w.startAt(start)
	}
}

// admit takes in a request that is due and gives its phase, or false when the
// stage takes no more.
func (w *window) admit(due int64, r *llm.Request) (record.Phase, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || !w.afford(r) {
		return "", false
	}
	if w.start == 0 && w.warm(due) {
		grains := (due - w.begin + warmupGrain - 1) / warmupGrain
		w.startAt(w.begin + grains*warmupGrain)
	}
	w.begun++
	w.counts.Due++
	return w.phase(due), true
}

func (w *window) phase(due int64) record.Phase {
	switch {
	case w.start == 0 || due < w.start:
		return record.Warmup
	case w.end != 0 && due >= w.end:
		return record.Cooldown
	case w.stage.Requests > 0 && w.measured >= w.stage.Requests:
		// The first request too many is the unbiased end of a window that is
		// bounded by their number.
		w.end = due
		return record.Cooldown
	}
	w.measured++
	w.open++
	if w.measured == w.stage.Requests {
		close(w.full)
	}
	return record.Measure
}

// warm reports whether the adaptive warm-up has done its work.
func (w *window) warm(due int64) bool {
	return w.begun >= warmupRequests && w.e2eN > 0 && due-w.begin >= 2*w.e2eSum/w.e2eN
}

// afford books a request on every budget at the length it asks for, or says
// that one is used up.
func (w *window) afford(r *llm.Request) bool {
	for i, b := range w.stage.Budgets {
		if w.used[i]+b.Cost(r.PromptTokens, r.MaxTokens) > b.Limit {
			if w.overrun == "" {
				w.overrun = b.Name
				close(w.spent)
			}
			return false
		}
	}
	for i, b := range w.stage.Budgets {
		w.used[i] += b.Cost(r.PromptTokens, r.MaxTokens)
	}
	return true
}

// ended takes in a request's outcome.
func (w *window) ended(rec *record.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.add(rec.Outcome)
	if rec.Outcome == llm.OK {
		w.e2eSum += rec.Last - rec.Sent
		w.e2eN++
	}
	w.rebook(rec)
	if rec.Phase == record.Measure {
		w.open--
		w.checkDrained()
	}
}

// rebook replaces what a request was booked at by what it used.
func (w *window) rebook(rec *record.Record) {
	for i, b := range w.stage.Budgets {
		w.used[i] -= b.Cost(rec.AskedPrompt, rec.AskedOutput)
		if rec.Sent != 0 {
			w.used[i] += b.Cost(max(rec.PromptTokens, rec.AskedPrompt), rec.OutputTokens)
		}
	}
}

func (w *window) checkDrained() {
	if w.finishing && w.open == 0 {
		select {
		case <-w.drained:
		default:
			close(w.drained)
		}
	}
}

// finish says that the window takes no more requests after now, whatever was
// planned, and that its own are to be waited for.
func (w *window) finish(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.start != 0 && now > w.start && (w.end == 0 || now < w.end) && !w.isFull() {
		w.end = now
	}
	w.finishing = true
	w.checkDrained()
}

func (w *window) isFull() bool {
	return w.stage.Requests > 0 && w.measured >= w.stage.Requests
}

// plannedEnd is the end of a window that is bounded by time, else 0.
func (w *window) plannedEnd() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end
}

// close refuses every further request.
func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// owes reports whether an arrival belongs to a window that ended without it.
func (w *window) owes(due int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.start != 0 && due < w.end
}

// missed counts a request that was due in the window but never admitted.
func (w *window) missed(due int64) (record.Phase, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.start == 0 || due >= w.end {
		return "", false
	}
	w.counts.Due++
	if due < w.start {
		return record.Warmup, true
	}
	w.measured++
	w.open++
	return record.Measure, true
}

// bounds gives the window as it came out; both are 0 where there was none.
func (w *window) bounds(now int64) (start, end int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.start == 0 || w.start >= now {
		return 0, 0
	}
	if w.end == 0 {
		w.end = now
	}
	return w.start, min(w.end, now)
}
