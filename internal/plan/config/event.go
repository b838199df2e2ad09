package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is something to do at a time of the measured window.
type Event struct {
	At time.Duration
	// Action is a command for the shell, or one of EngineActions, and Away for how long
	// a restarted engine, or each of a rolled fleet, is gone.
	Action string
	Away   time.Duration
	// OnReplica says that the action is about the replica of that number alone.
	OnReplica bool
	Replica   int
}

// String is what is reported of it.
func (e Event) String() string {
	switch {
	case e.OnReplica:
		return e.Action + " " + strconv.Itoa(e.Replica)
	case slices.Contains(timedActions, e.Action):
		return e.Action + "(" + e.Away.String() + ")"
	}
	return e.Action
}

// defaultAway is how long a restarted engine is gone where nothing is said.
const defaultAway = 5 * time.Second

// The actions on the engine that redline itself runs.
const (
	KillEngine    = "kill"
	StopEngine    = "stop"
	StartEngine   = "start"
	RestartEngine = "restart"
	// DrainReplica and RollFleet are for replicas of the embedded engine alone.
	DrainReplica = "drain"
	RollFleet    = "roll"
)

// EngineActions are all of them, timedActions those that take a time, and
// replicaActions those that take the number of a replica.
var (
	EngineActions  = []string{KillEngine, StopEngine, StartEngine, RestartEngine, DrainReplica, RollFleet}
	timedActions   = []string{RestartEngine, RollFleet}
	replicaActions = []string{KillEngine, StartEngine, DrainReplica}
)

// OnFleet reports whether the event is about single replicas.
func (e Event) OnFleet() bool { return e.OnReplica || e.Action == RollFleet }

// OnEngine reports whether the event is about the engine that redline runs.
func (e Event) OnEngine() bool { return slices.Contains(EngineActions, e.Action) }

// Events are what the plan makes happen, in the order of time.
func (c *Config) Events() (list []Event) {
	for _, given := range c.Load.At {
		if e, ok := c.parseEvent(given); ok {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return list
}

func (c *Config) parseEvent(given string) (Event, bool) {
	when, action, ok := strings.Cut(given, ":")
	at, err := time.ParseDuration(strings.TrimSpace(when))
	e := Event{At: at, Action: strings.TrimSpace(action), Away: defaultAway}
	ok = ok && err == nil && at > 0 && e.Action != ""
	name, away, timed := strings.Cut(e.Action, "(")
	if timed && slices.Contains(EngineActions, name) { // which no command begins with
		away, closed := strings.CutSuffix(away, ")")
		e.Action = name
		e.Away, err = time.ParseDuration(away)
		return e, ok && closed && slices.Contains(timedActions, name) && err == nil && e.Away > 0
	}
	name, number, numbered := strings.Cut(e.Action, " ")
	replica, err := strconv.Atoi(strings.TrimSpace(number))
	// Where there is no fleet, the number of a kill is that of a process.
	if numbered && err == nil && slices.Contains(EngineActions, name) && (c.Embedded() || name != KillEngine) {
		e.Action, e.OnReplica, e.Replica = name, true, replica
		return e, ok && slices.Contains(replicaActions, name)
	}
	return e, ok && e.Action != DrainReplica
}

// misuse says what an action of redline takes, where something else follows its name; "" where
// it is a command. A shell has a kill of its own, of processes and with signals.
func (c *Config) misuse(command string) string {
	given, behind, _ := strings.Cut(command, " ")
	behind = strings.TrimSpace(behind)
	name := strings.ToLower(given)
	ofShell := "-$%`\"'"
	if !c.Embedded() {
		ofShell += "0123456789"
	}
	switch {
	case !slices.Contains(EngineActions, name), given == name && behind == "", given == KillEngine && strings.IndexAny(behind, ofShell) == 0:
		return ""
	case slices.Contains(replicaActions, name):
		return name + " takes a replica's number: '" + name + " 1'"
	case slices.Contains(timedActions, name):
		return name + " takes a time: '" + name + "(20s)'"
	}
	return name + " takes nothing"
}

// events checks what is to happen, and that it can within the run.
func (c *Config) events() error {
	const key = "load_profile.at"
	length, fleet := c.Load.Bounds.Duration, &c.Server.Sim.Fleet
	for _, given := range c.Load.At {
		e, ok := c.parseEvent(given)
		misuse := c.misuse(e.Action)
		switch {
		case misuse != "":
			return c.errorAt(key, "%s: %s; a command of that name needs its path, such as /bin/%s", quote(given), misuse, strings.Fields(misuse)[0])
		case !ok:
			return c.errorAt(key, "expected a time in the window and a command such as '60s: systemctl restart vllm', or one of kill, stop, start, restart, restart(20s), of replicas kill 1, drain 1, start 1, roll, roll(20s), got %s", quote(given))
		case length == 0:
			return c.errorAt(key, "needs a window of a known length: give --duration")
		case e.At >= length:
			return c.errorAt(key, "%s is past the end of the window of %v: give a longer --duration, or an earlier time", quote(given), length)
		case e.OnFleet() && !(c.Embedded() && fleet.IsGateway()):
			return c.errorAt(key, "%s is for replicas of the embedded engine: give --replicas 3 and no server, or write the command that does it there", quote(e.String()))
		case e.OnReplica && (e.Replica < 0 || e.Replica >= fleet.Engines()):
			return c.errorAt(key, "%s: the replicas are 0 to %d", quote(e.String()), fleet.Engines()-1)
		case e.OnEngine() && !c.Embedded() && !c.Launched():
			return c.errorAt(key, "%s is for the embedded engine and for a server that redline starts (--server-command), but a URL is given: write the command that does it there", quote(e.Action))
		}
	}
	return nil
}
