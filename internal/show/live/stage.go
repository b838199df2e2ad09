package live

import (
	"fmt"
	"strings"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/text"
)

// Stage is one of several runs, as the live line names it.
type Stage struct {
	Name string
	// What is the kind of stage; Number counts it from 1, and Of is how many
	// there will be, or about so many; 0 where that is not known.
	What       string
	Number, Of int
	About      bool
	// Warmup and Window are its lengths, 0 where they are not known.
	Warmup, Window time.Duration
	// Found is what is known so far of what the stages are for: "limit so far
	// 17.0–24.0 requests/s"; "" before anything is.
	Found string
	// Ahead is what it and all that follow will probably take, 0 where that is
	// not known.
	Ahead time.Duration
	// Next are the following stages, as far as they are known.
	Next []string
	// Load is the rate that it offers, or its requests in flight; 0 for neither.
	Load   float64
	Closed bool // Load is requests in flight
	// Side is which of two servers answers, "" where there is one.
	Side string

	ended bool // and the next has not begun
}

// loadName is what Load counts.
func (s *Stage) loadName() string {
	if s.Closed {
		return "in flight"
	}
	return "offered/s"
}

// stageEvery is how far the plain lines of a stage lie apart. The stage's own
// line follows when it has ended, so that there are fewer than in a single run.
const stageEvery = 15 * time.Second

// Stage begins one of several runs: what is shown from here on is about it.
func (l *Line) Stage(s Stage) {
	if l.screen != nil {
		l.screen.update(func(v *view) {
			v.restart()
			v.stage, v.window, v.messageLog = &s, s.Window, nil
		})
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stage, l.o.Window = &s, s.Window
	l.phase, l.next, l.measuring = "", stageEvery, 0
}

// place says which of the stages it is: "level 3 of about 8, 12 requests/s".
func (s *Stage) place() string {
	text := fmt.Sprintf("%s %d", s.What, s.Number)
	name := s.Name
	if name == text {
		name = ""
	}
	switch {
	case s.Of > 0 && s.About:
		text += fmt.Sprintf(" of about %d", s.Of)
	case s.Of > 0:
		text += fmt.Sprintf(" of %d", s.Of)
	}
	if name != "" {
		text += ", " + name
	}
	return text
}

// shortPlace is the same without how many there will be.
func (s *Stage) shortPlace() string {
	one := *s
	one.Of = 0
	return one.place()
}

// timeLeft is how long the stage still offers load, 0 where that is not known.
func (l *Line) timeLeft(s progress.Snapshot) time.Duration {
	switch {
	case l.stage.Window == 0 || s.Phase == record.Cooldown:
		return 0
	case s.Phase == record.Measure:
		return max(0, l.stage.Window-(s.Elapsed-l.measuring))
	case l.stage.Warmup > 0:
		return max(0, l.stage.Warmup+l.stage.Window-s.Elapsed)
	}
	return 0
}

// stageParts are those of a line about one of several stages.
func (l *Line) stageParts(lay layout, s progress.Snapshot) []part {
	left := l.timeLeft(s)
	now := "warming up"
	switch {
	case left > 0 && s.Phase == record.Measure:
		now = clockTime(left) + " left"
	case left > l.stage.Window:
		now = "warm-up " + clockTime(left-l.stage.Window) + " left"
	case s.Phase == record.Cooldown:
		now = "last replies"
	case s.Phase == record.Measure:
		now = "measuring"
	}
	figures := lay.parts(s, "")[1:]
	parts := []part{{text: l.stage.place(), brief: l.stage.shortPlace()}, {text: lay.padRight(now, len("last replies")), brief: now}}
	if l.stage.Found != "" {
		parts = append(parts, part{text: l.stage.Found, brief: strings.TrimSuffix(l.stage.Found, " requests/s"), rank: 1})
	}
	parts = append(parts, figures...)
	if togo := max(l.stage.Ahead-s.Elapsed, left); togo > 0 && l.stage.Ahead > 0 {
		parts = append(parts, part{text: "about " + roughTime(togo) + " to go", rank: 2})
	}
	return parts
}

// roughTime is a time that nobody should set a watch by.
func roughTime(d time.Duration) string {
	const step = 10 * time.Second
	return text.About((d + step - 1) / step * step)
}
