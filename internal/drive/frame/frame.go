// Package frame cuts the bytes of a streamed reply into events. It takes them
// read by read, whole or in pieces, and gives each event once it is complete;
// what an event means it does not know.
package frame

import (
	"fmt"
	"strings"
)

// Framing is how a stream is cut into events.
type Framing uint8

// The framings there are.
const (
	Events Framing = iota // server-sent events
	Lines                 // a JSON object a line
	Single                // nothing streams: a reply is one JSON body
)

var framings = [...]struct{ name, content string }{
	Events: {"sse", "text/event-stream"},
	Lines:  {"ndjson", "application/x-ndjson"},
	Single: {"json", "application/json"},
}

// String is the framing's name: sse, ndjson or json.
func (f Framing) String() string { return framings[f].name }

// ContentType is how a server labels a reply that is framed so.
func (f Framing) ContentType() string { return framings[f].content }

// ParseFraming reads a framing's name.
func ParseFraming(name string) (Framing, error) {
	for f, known := range framings {
		if known.name == name {
			return Framing(f), nil
		}
	}
	return 0, fmt.Errorf("expected sse, ndjson or json, got %q", strings.TrimSpace(name))
}

// NewReader makes a reader of streams that are framed so; nil for Single.
func (f Framing) NewReader() *Reader {
	if f == Single {
		return nil
	}
	return &Reader{lines: f == Lines}
}
