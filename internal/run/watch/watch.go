package watch

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"redline/internal/text"
)

// Watcher runs schedules one after another.
type Watcher struct {
	Spec *Spec
	// Run carries a schedule's plan out. It gives an Exit of stopped where ctx
	// ended it.
	Run func(ctx context.Context, s Schedule, due time.Time) Outcome
	// Tell passes alerts on, each its own way.
	Tell []Teller
	// Say is told, in one line each, what happens.
	Say func(format string, args ...any)
	// State is what was remembered.
	State *State

	mu sync.Mutex // guards State against readers of Metrics
	// owed are times that were missed and are made up for.
	owed map[string]time.Time
}

// exitStopped is the exit code of a run that was ended because the watch was.
const exitStopped = 130

// Teller passes an alert on.
type Teller struct {
	Name string
	Send func(context.Context, Alert) error
}

// Loop runs what is due until ctx ends.
func (w *Watcher) Loop(ctx context.Context) {
	now := time.Now()
	for _, s := range w.Spec.Schedules {
		w.catchUp(s, now)
		w.Say("%s: next at %s", s.Name, w.next(s).Format(time.DateTime))
	}
	w.saveStart()
	for ctx.Err() == nil {
		// The schedule whose run comes first.
		starts := func(s Schedule) time.Time { due := w.next(s); return due.Add(w.delay(s, due)) }
		first := slices.MinFunc(w.Spec.Schedules, func(a, b Schedule) int { return starts(a).Compare(starts(b)) })
		s, due := first, w.next(first)
		if !sleepUntil(ctx, due.Add(w.delay(s, due))) {
			return
		}
		w.one(ctx, s, due)
	}
}

// Once runs every schedule once, now, and gives what came of them.
func (w *Watcher) Once(ctx context.Context) []Outcome {
	var outcomes []Outcome
	for _, s := range w.Spec.Schedules {
		if ctx.Err() != nil {
			break
		}
		outcomes = append(outcomes, w.one(ctx, s, time.Now().Truncate(time.Second)))
	}
	return outcomes
}

// saveStart writes down from when on schedules are watched: the first run of one can
// be missed too.
func (w *Watcher) saveStart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.State.save(); err != nil {
		w.Say("the schedules cannot be remembered: %v", err)
	}
}

func sleepUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// catchUp decides about runs that were due since the last one was handled. A
// schedule that was never run begins with its next time.
func (w *Watcher) catchUp(s Schedule, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.State.of(s.Name)
	if j.Handled.IsZero() || j.Handled.After(now) {
		j.Handled = now
		return
	}
	missed, last := 0, time.Time{}
	for due := s.times.Next(j.Handled); !due.After(now); due = s.times.Next(due) {
		// Years of minutes need not be counted one by one.
		if missed++; missed > 10000 {
			last = now
			break
		}
		last = due
	}
	if missed == 0 {
		return
	}
	j.Handled = now
	if w.Spec.Missed == missedSkip {
		w.Say("%s: %s missed: skipped", s.Name, text.Plural(missed, "run was", "runs were"))
		return
	}
	w.Say("%s: %s missed; one makes up for it", s.Name, text.Plural(missed, "run was", "runs were"))
	if w.owed == nil {
		w.owed = map[string]time.Time{}
	}
	w.owed[s.Name] = last
}

func (w *Watcher) next(s Schedule) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if owed, ok := w.owed[s.Name]; ok {
		return owed
	}
	return s.times.Next(w.State.of(s.Name).Handled)
}

// delay is the jitter of one run: the same however often it is asked.
func (w *Watcher) delay(s Schedule, due time.Time) time.Duration {
	if w.Spec.Jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, s.Name, due.UnixNano())
	return time.Duration(h.Sum64() % uint64(w.Spec.Jitter))
}

// one runs a schedule, remembers what came of it and tells whom it concerns.
func (w *Watcher) one(ctx context.Context, s Schedule, due time.Time) Outcome {
	w.Say("%s: redline %s --plan %s", s.Name, s.Command, s.Plan)
	bounded, cancel := context.WithTimeout(ctx, w.Spec.Timeout)
	defer cancel()
	o := w.Run(bounded, s, due)
	o.Schedule, o.Due, o.Ended = s.Name, due, time.Now().Truncate(time.Second)
	if ctx.Err() != nil {
		return o // it was our end that ended it: the run is still due
	}
	if bounded.Err() != nil {
		o.Exit, o.Said = 1, fmt.Sprintf("it took longer than %v", w.Spec.Timeout)
	}
	o.Said = text.Line(o.Said)
	alerts := w.remember(s, &o)
	w.Say("%s: %s", s.Name, summary(&o))
	for _, a := range alerts {
		w.tell(ctx, a)
	}
	// What of the same schedule came due meanwhile was missed.
	w.catchUp(s, time.Now())
	return o
}

// remember writes an outcome down and gives the alerts that it brings about.
func (w *Watcher) remember(s Schedule, o *Outcome) []Alert {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.State.of(s.Name)
	if o.Due.After(j.Handled) {
		j.Handled = o.Due
	}
	delete(w.owed, s.Name)
	j.Last = o
	if len(o.Values) > 0 {
		j.Values = o.Values
	}
	j.Counts[word(o)]++
	alerts := alertsOf(o, j.Firing)
	if err := w.State.save(); err != nil {
		w.Say("%s: what came of it cannot be remembered: %v", s.Name, err)
	}
	return slices.DeleteFunc(alerts, func(a Alert) bool { return !slices.Contains(w.Spec.Alerts.On, a.Kind) })
}

// tell passes an alert on in every way; one that fails does not stop another.
func (w *Watcher) tell(ctx context.Context, a Alert) {
	w.Say("%s", a.line())
	for _, t := range w.Tell {
		if err := t.Send(ctx, a); err != nil {
			w.Say("%s: the alert did not reach %s: %v", a.Schedule, t.Name, err)
		}
	}
}

func word(o *Outcome) string {
	switch o.Exit {
	case exitOK:
		return "ok"
	case exitMissed:
		return Missed
	case exitRegressed:
		return "regressed"
	case exitInvalid:
		return Invalid
	case exitUndecided:
		return "undecided"
	}
	return Failed
}

func summary(o *Outcome) string {
	line := word(o)
	if o.Exit == exitUndecided {
		line = "too close to call"
		if o.TooFew {
			line = "too few requests"
		}
	}
	if word(o) == Failed {
		return failure(o)
	}
	if d := o.Drift; d != nil {
		line += "; " + d.Verdict
	}
	return line + " [" + o.Dir + "]"
}
