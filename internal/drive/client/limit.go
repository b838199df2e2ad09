package client

import (
	"fmt"
	"time"
)

// DefaultTimeout bounds a request whose spec sets none. It is generous: a
// long answer is not a fault.
const DefaultTimeout = 10 * time.Minute

// Timeouts are the longest times that a server may take for a request. Where
// one is not set, Total alone counts.
type Timeouts struct {
	// Header bounds the time from the first byte sent to the reply's head.
	Header time.Duration `yaml:"header,omitempty"`
	// FirstToken bounds the time from the first byte sent to the first output
	// of a streamed reply.
	FirstToken time.Duration `yaml:"first_token,omitempty"`
	// Idle bounds the silence of a stream whose output has begun.
	Idle time.Duration `yaml:"idle,omitempty"`
	// Total bounds the time from the first byte sent to the reply's end.
	Total time.Duration `yaml:"total,omitempty"`
}

// Validate reports the first limit that is none.
func (t Timeouts) Validate() error {
	for _, l := range []limit{{"header", t.Header, time.Time{}}, {"first_token", t.FirstToken, time.Time{}},
		{"idle", t.Idle, time.Time{}}, {"total", t.Total, time.Time{}}} {
		if l.length < 0 {
			return fmt.Errorf("timeouts.%s: expected a positive duration such as 2m, got %v", l.key, l.length)
		}
	}
	return nil
}

// limit is a time limit of a request: its key in the plan, its length, and
// when it will have passed.
type limit struct {
	key    string
	length time.Duration
	at     time.Time
}

// String is what a request is told that passes the limit.
func (l limit) String() string {
	return fmt.Sprintf(map[string]string{
		"header":      "no reply within %v: raise --header-timeout if that is no fault",
		"first_token": "no output within %v: raise --first-token-timeout if that is no fault",
		"idle":        "silent for %v in mid stream: raise --idle-timeout if that is no fault",
		"total":       "not finished within %v: raise --timeout if that is no fault",
		"deadline":    "not finished by its deadline of %v",
	}[l.key], l.length)
}

// awaitMoreFor bounds the silence between events.
func (x *exchange) awaitMoreFor(left time.Duration) {
	x.setLimit(limit{"idle", x.c.timeouts.Idle, time.Now().Add(left)})
}

func (x *exchange) firstToken() limit {
	if !x.r.Stream {
		return limit{}
	}
	return x.fromStart("first_token", x.c.timeouts.FirstToken)
}

func (x *exchange) fromStart(key string, length time.Duration) limit {
	return limit{key, length, x.sentAt.Add(length)}
}

// setLimit puts the first of these limits in force, or that of the whole request
// if it is earlier still.
func (x *exchange) setLimit(limits ...limit) {
	first := x.fromStart("total", x.c.timeouts.Total)
	for _, l := range append(limits, x.fromStart("deadline", x.r.Deadline)) {
		if l.length > 0 && l.at.Before(first.at) {
			first = l
		}
	}
	if first == x.limit {
		return
	}
	x.limit = first
	// A deadline that cannot be set belongs to a connection that is already
	// closed, which the next write or read will say.
	_ = x.conn.SetDeadline(first.at)
}

// stillFlows reports whether err is only the idle limit's alarm although
// something has arrived since it was set. The alarm is not moved with every
// read, which would cost each token a little, but when it goes off.
func (x *exchange) stillFlows(err error) bool {
	if !isLate(err) || x.limit.key != "idle" {
		return false
	}
	silent := time.Duration(x.c.clock.Now() - x.conn.At)
	if silent >= x.limit.length {
		return false
	}
	x.awaitMoreFor(x.limit.length - silent)
	return true
}
