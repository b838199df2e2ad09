package config

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Event is something to do at a time of the measured window.
type Event struct {
	At time.Duration
	// Action is a command for the shell, or one of EngineActions, and Away for how long
	// a restarted engine is gone.
	Action string
	Away   time.Duration
}

// defaultAway is how long a restarted engine is gone where nothing is said.
const defaultAway = 5 * time.Second

// The actions on the engine that redline itself runs.
const (
	KillEngine    = "kill"
	StopEngine    = "stop"
	StartEngine   = "start"
	RestartEngine = "restart"
)

// EngineActions are all of them.
var EngineActions = []string{KillEngine, StopEngine, StartEngine, RestartEngine}

// OnEngine reports whether the event is about the engine that redline runs.
func (e Event) OnEngine() bool { return slices.Contains(EngineActions, e.Action) }

// Events are what the plan makes happen, in the order of time.
func (c *Config) Events() (list []Event) {
	for _, given := range c.Load.At {
		if e, ok := parseEvent(given); ok {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return list
}

func parseEvent(given string) (Event, bool) {
	when, action, ok := strings.Cut(given, ":")
	at, err := time.ParseDuration(strings.TrimSpace(when))
	e := Event{At: at, Action: strings.TrimSpace(action), Away: defaultAway}
	ok = ok && err == nil && at > 0 && e.Action != ""
	name, away, timed := strings.Cut(e.Action, "(")
	if timed && slices.Contains(EngineActions, name) { // which no command begins with
		away, closed := strings.CutSuffix(away, ")")
		e.Action = name
		e.Away, err = time.ParseDuration(away)
		ok = ok && closed && name == RestartEngine && err == nil && e.Away > 0
	}
	return e, ok
}

// events checks what is to happen, and that it can within the run.
func (c *Config) events() error {
	const key = "load_profile.at"
	length := c.Load.Bounds.Duration
	for _, given := range c.Load.At {
		e, ok := parseEvent(given)
		switch {
		case !ok:
			return c.errorAt(key, "want a time in the window and a command such as '60s: systemctl restart vllm', or one of %s, restart(20s), got %s", strings.Join(EngineActions, ", "), quote(given))
		case length == 0:
			return c.errorAt(key, "needs a window of a known length: give --duration")
		case e.At >= length:
			return c.errorAt(key, "%s is past the end of the window of %v: give a longer --duration, or an earlier time", quote(given), length)
		case e.OnEngine() && !c.Embedded() && !c.Launched():
			return c.errorAt(key, "%s is for the embedded engine and for a server that redline starts (--server-command), but a URL is given: write the command that does it there", quote(e.Action))
		}
	}
	return nil
}
