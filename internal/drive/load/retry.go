package load

import (
	"fmt"
	"slices"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// What holds for retries where the plan asks for them and says no more.
const (
	defaultBackoff = 500 * time.Millisecond
	defaultMaxWait = 30 * time.Second
	maxRetries     = 100
)

// defaultRetried are the faults after which nothing has been generated yet.
func defaultRetried() []llm.Outcome { return []llm.Outcome{llm.Rejected, llm.Connect} }

// Retries says what is asked again. The zero value asks nothing twice.
type Retries struct {
	// Max is how often one request is asked again.
	Max int `yaml:"max,omitempty"`
	// Outcomes are the faults that are retried: rejected and connect where
	// nothing is said.
	Outcomes []llm.Outcome `yaml:"outcomes,omitempty"`
	// Backoff is the wait before the second try, doubled before each further
	// one. A server's Retry-After takes its place.
	Backoff time.Duration `yaml:"backoff,omitempty"`
	// MaxWait bounds a wait. A server that wants a longer one is not asked
	// again.
	MaxWait time.Duration `yaml:"max_wait,omitempty"`
}

// Complete fills in what was left open.
func (r Retries) Complete() Retries {
	if r.Max == 0 {
		return r
	}
	if len(r.Outcomes) == 0 {
		r.Outcomes = defaultRetried()
	}
	if r.Backoff == 0 {
		r.Backoff = defaultBackoff
	}
	if r.MaxWait == 0 {
		r.MaxWait = defaultMaxWait
	}
	return r
}

// Validate reports the first thing that is wrong; its errors begin with the
// key that is meant.
func (r Retries) Validate() error {
	switch {
	case r.Max < 0 || r.Max > maxRetries:
		return fmt.Errorf("retries.max: expected a number from 0 to %d, got %d", maxRetries, r.Max)
	case r.Max == 0 && (len(r.Outcomes) > 0 || r.Backoff != 0 || r.MaxWait != 0):
		return fmt.Errorf("retries.max: must be at least 1, since the block says how to retry")
	case r.Backoff < 0:
		return fmt.Errorf("retries.backoff: expected a duration above 0, got %v", r.Backoff)
	case r.MaxWait < 0:
		return fmt.Errorf("retries.max_wait: expected a duration above 0, got %v", r.MaxWait)
	}
	for _, o := range r.Outcomes {
		if !slices.Contains(llm.Faults(), o) {
			return fmt.Errorf("retries.outcomes: expected some of %v, got %q", llm.Faults(), o)
		}
	}
	return nil
}

// wait is how long to wait after so many tries, the last of which ended with
// f; or that there is to be no other.
func (r Retries) wait(tries int, f *llm.Fault) (wait time.Duration, again bool) {
	if tries > r.Max || !slices.Contains(r.Outcomes, f.Outcome) {
		return 0, false
	}
	if f.RetryAfter > 0 {
		return f.RetryAfter, f.RetryAfter <= r.MaxWait
	}
	wait = r.Backoff
	for range tries - 1 {
		if wait >= r.MaxWait {
			break
		}
		wait *= 2
	}
	return min(wait, r.MaxWait), true
}

// retry waits until a request may be asked again and makes its record ready
// for that; or reports false, and the record stands as it is. Whoever waits
// holds no slot, so that the cap bounds what the server has to do, and queues
// for one again behind those that came meanwhile. A stage that takes no more
// requests begins no further try either.
func (e *engine) retry(rec *record.Record, tries int, f *llm.Fault) (ready int64, again bool) {
	wait, again := e.stage.Retries.wait(tries, f)
	if !again {
		return 0, false
	}
	due := rec.End + int64(wait)
	e.clock.SleepUntil(due, e.window.stopped)
	if e.window.isOver() {
		return 0, false
	}
	begin := e.clock.Now()
	var slot int64
	if e.gate != nil {
		var through bool
		if slot, through = e.enter(e.gate.join(), due); !through {
			return 0, false
		}
	}
	renew(rec, begin, slot)
	return max(due, slot), true
}

// renew makes a record ready for another try: who asks what, and when it was
// due, stays; every other stamp will be the new try's.
func renew(rec *record.Record, begin, slot int64) {
	old := *rec
	rec.Reset()
	rec.ID, rec.Session, rec.Turn, rec.Class, rec.Tenant = old.ID, old.Session, old.Turn, old.Class, old.Tenant
	rec.Phase, rec.Due, rec.Streamed, rec.Inputs, rec.Natural = old.Phase, old.Due, old.Streamed, old.Inputs, old.Natural
	rec.AskedPrompt, rec.AskedOutput, rec.IdealCached, rec.Turns, rec.Depth = old.AskedPrompt, old.AskedOutput, old.IdealCached, old.Turns, old.Depth
	rec.Images, rec.ImageBytes, rec.ImagePixels = old.Images, old.ImageBytes, old.ImagePixels
	rec.Adapter, rec.Priority, rec.Prefix, rec.PrefixTokens = old.Adapter, old.Priority, old.Prefix, old.PrefixTokens
	rec.Reconnects, rec.Tools, rec.Schema = old.Reconnects, old.Tools, old.Schema
	rec.Try, rec.Begin, rec.Slot, rec.Refused = old.Try+1, begin, slot, old.RefusedBefore()
}
