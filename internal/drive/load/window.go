package load

import (
	"sync"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// window decides which phase each request falls into, always by its due time,
// and tells the stage's conductor how far the stage has come.
type window struct {
	stage      *Stage
	stageStart int64 // the stage's start

	started chan struct{} // closed when start is known
	full    chan struct{} // closed when the window holds all its requests
	drained chan struct{} // closed when its end is final and its requests have ended
	stopped chan struct{} // closed when the stage takes no more requests

	mu                     sync.Mutex
	windowStart, windowEnd int64 // 0: not known
	timeUp                 bool  // the planned end has passed
	endFinal               bool  // end is final
	next                   int64 // the arrival that the dispatcher is at; nothing due before it is left
	stageEnd               int64 // what is due from then on is not part of the stage; 0: not known
	warmupCut              bool
	settleTime             int64 // when the mix of turns will be steady, by the last estimate
	unsettled              bool
	lastDue                int64 // the latest due time so far
	lastEnd                int64 // when the last request ended
	windowCount            int   // requests in the window
	windowOpen             int   // of those, not ended
	writtenOff             int   // of those, nobody waits for
	e2eSum                 int64
	e2eN                   int64
	running                int64 // requests taken in and not ended
	runningDue             int64 // the sum of their due times since begin
	counts                 Counts
	used                   []float64 // by budget
	breaker                breaker
	broke                  bool
	cause                  string // what ended the sending before its time: a budget, or the breaker
}

func newWindow(s *Stage, begin int64) *window {
	w := &window{stage: s, stageStart: begin, counts: Counts{By: map[llm.Outcome]int{}}, used: make([]float64, len(s.Budgets)), breaker: breaker{limit: s.MaxErrorRate},
		started: make(chan struct{}), full: make(chan struct{}),
		drained: make(chan struct{}), stopped: make(chan struct{})}
	if s.Arrivals == nil {
		w.next = never
	}
	if s.Warmup != nil {
		w.startAt(begin + int64(*s.Warmup))
	}
	return w
}

func (w *window) startAt(start int64) {
	w.windowStart = start
	if w.stage.Duration > 0 {
		w.windowEnd = start + int64(w.stage.Duration)
	}
	close(w.started)
}

// place is where a request stands in its stage.
type place struct {
	id    int
	phase record.Phase
	due   int64
}

// admit takes in a request that is due, or reports false when the stage takes
// no more.
func (w *window) admit(due int64, r *llm.Request) (place, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stage.Plain && w.windowEnd != 0 && due >= w.windowEnd {
		w.endInTime() // it may come before the timer of the end
	}
	w.book(due, r.PromptTokens, r.MaxTokens)
	if w.stageEnd != 0 {
		return place{}, false
	}
	return w.enter(due), true
}

// enterBegun takes in a request that a worker has begun, also where it had not heard
// of the stage's end yet.
func (w *window) enterBegun(rec *record.Record) place {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.book(rec.Due, rec.AskedPrompt, rec.AskedOutput)
	return w.enter(rec.Due)
}

// book charges a request to the budgets, or ends the stage where one is used up.
func (w *window) book(due int64, prompt, output int) {
	if w.stageEnd == 0 && !w.afford(prompt, output) {
		w.stop(due)
	}
}

// enter takes in a request by its due time.
func (w *window) enter(due int64) place {
	w.warmUp(due)
	phase, due := w.phase(due)
	p := w.take(phase, due)
	if phase == record.Measure && w.windowCount == w.stage.Requests {
		close(w.full)
		if w.stage.Plain {
			w.stop(due)
		}
	}
	return p
}

// enterMissed takes in a request that was due before the stage was over but found
// it closed, or reports false for one that was due later.
func (w *window) enterMissed(due int64) (place, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if due >= w.stageEnd || w.stage.Plain && w.isFull() {
		return place{}, false
	}
	phase, due := w.phase(due)
	return w.take(phase, due), true
}

func (w *window) take(phase record.Phase, due int64) place {
	p := place{id: w.stage.Share.at(w.counts.Due), phase: phase, due: due}
	w.counts.Due++
	w.running++
	w.runningDue += due - w.stageStart
	w.lastDue = max(w.lastDue, due)
	if phase == record.Measure {
		w.windowCount++
		w.windowOpen++
	}
	return p
}

// phase gives the phase of a due time. The first request too many is the
// unbiased end of a window that is bounded by their number. Ends of a closed
// loop are taken up in no strict order: one that is found to be too many after
// a later one was measured counts as due at the window's end.
func (w *window) phase(due int64) (record.Phase, int64) {
	switch {
	case w.windowStart == 0 || due < w.windowStart:
		return record.Warmup, due
	case w.isFull():
		w.seal(max(due, w.lastDue+1))
		return record.Cooldown, max(due, w.windowEnd)
	case w.windowEnd != 0 && due >= w.windowEnd:
		return record.Cooldown, due
	}
	return record.Measure, due
}

func (w *window) isFull() bool {
	return w.stage.Requests > 0 && w.windowCount >= w.stage.Requests
}

// afford books a request on every budget at the length it asks for, or says
// that one is used up.
func (w *window) afford(asked, longest int) bool {
	prompt, output := asked, longest
	if w.stage.Beside != nil {
		besidePrompt, besideOutput := w.stage.Beside()
		prompt, output = prompt+besidePrompt, output+besideOutput
	}
	for i, b := range w.stage.Budgets {
		if w.used[i]+b.Cost(prompt, output) > b.Limit {
			w.cause = b.Name + " reached"
			return false
		}
	}
	for i, b := range w.stage.Budgets {
		w.used[i] += b.Cost(asked, longest)
	}
	return true
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

// finishRequest takes in a request's outcome and reports whether it made the breaker
// end the stage.
func (w *window) finishRequest(rec *record.Record) (broke bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.By[rec.Outcome]++
	w.running--
	w.runningDue -= rec.Due - w.stageStart
	if rec.Outcome == llm.OK {
		w.e2eSum += rec.Last - rec.Sent
		w.e2eN++
	}
	w.rebook(rec)
	w.lastEnd = max(w.lastEnd, rec.End)
	if rec.Phase == record.Measure {
		w.windowOpen--
		w.checkDrained()
	}
	if broke = w.breaker.observe(rec.Outcome) && w.stageEnd == 0; broke {
		w.broke, w.cause = true, w.breaker.String()
		w.stop(rec.End)
	}
	return broke
}

// seal makes end final: at, or what was planned if that is earlier.
func (w *window) seal(at int64) {
	if w.endFinal {
		return
	}
	w.endFinal = true
	if w.windowEnd == 0 || at < w.windowEnd {
		w.windowEnd = at
	}
	w.checkDrained()
}

// writeOff removes n requests of the window from those the drain waits for.
func (w *window) writeOff(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writtenOff = n
	w.checkDrained()
}

func (w *window) checkDrained() {
	if !w.endFinal || w.windowOpen > w.writtenOff {
		return
	}
	select {
	case <-w.drained:
	default:
		close(w.drained)
	}
}

// plannedEnd is the end of a window that is bounded by time, else 0.
func (w *window) plannedEnd() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.windowEnd
}

// finish records that the planned end has passed. A late dispatcher still
// admits what was due before it.
func (w *window) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endInTime()
}

func (w *window) endInTime() {
	w.timeUp = true
	w.sealInTime()
	if w.stage.Plain {
		w.stop(w.windowEnd)
	}
}

// endSoon moves the end of the window up to the next whole second, so that runs
// of one seed measure the same requests however long a look takes. Whatever was
// taken in before stays in the window.
func (w *window) endSoon(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.endFinal || w.timeUp || w.windowStart == 0 {
		return
	}
	lasted := max(now, w.lastDue+1) - w.windowStart
	w.windowEnd = min(w.windowEnd, w.windowStart+(lasted+warmupGrain-1)/warmupGrain*warmupGrain)
}

// advance says which arrival the dispatcher is at.
func (w *window) advance(due int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = due
	w.sealInTime()
}

func (w *window) sealInTime() {
	if w.timeUp && w.next >= w.windowEnd {
		w.seal(w.windowEnd)
	}
}

// close ends the stage: nothing that is due from now on is part of it.
func (w *window) close(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop(now)
}

// closeEarly ends the stage where somebody wants it to. A dispatcher that is late by then
// owes nothing that it has not come to.
func (w *window) closeEarly(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next > 0 {
		now = min(now, w.next)
	}
	w.stop(now)
}

func (w *window) stop(at int64) {
	if w.stageEnd != 0 {
		return
	}
	w.stageEnd = max(at, w.lastDue+1)
	if w.windowStart >= w.stageEnd {
		w.windowStart = 0 // it ended in its warm-up
	}
	if w.windowStart == 0 {
		w.windowEnd = 0
	}
	w.seal(w.stageEnd)
	close(w.stopped)
}

// isOver reports whether the stage takes no more requests.
func (w *window) isOver() bool {
	select {
	case <-w.stopped:
		return true
	default:
		return false
	}
}

// owes reports whether a request that was not taken in was due before the
// stage was over.
func (w *window) owes(due int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return due < w.stageEnd
}

// shortfall says why the load has ended before the window had what it was to
// have, or "".
func (w *window) shortfall() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.cause != "":
		return w.cause
	case w.isFull() || w.timeUp:
		return ""
	}
	return RanOut
}

// endedBy says what ended the sending before its time, or "".
func (w *window) endedBy() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cause
}

// bounds gives the window as it came out; both are 0 where there was none.
func (w *window) bounds() (start, end int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.windowStart == 0 {
		return 0, 0
	}
	if w.stage.Plain {
		return w.windowStart, max(w.windowEnd, w.lastEnd)
	}
	return w.windowStart, w.windowEnd
}
