package wire

import (
	"bytes"
	"fmt"
	"strings"
)

// Framing is how a dialect cuts its stream into events.
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
	return 0, fmt.Errorf("want sse, ndjson or json, got %q", strings.TrimSpace(name))
}

// Reader takes in the bytes of a stream, read by read, and gives its events.
// Each read is pushed and then the events that it completes are taken with
// Next; the pushed bytes may be overwritten after that.
type Reader interface {
	Push(b []byte)
	Next() (Frame, bool)
	// Pending reports whether bytes of an event that has not ended are held.
	Pending() bool
	// Held is how many bytes of such an event are held.
	Held() int
	Err() error
	// Reset makes the reader ready for another stream and keeps its memory.
	Reset()
}

// NewReader makes a reader of streams that are framed so; nil for Single.
func (f Framing) NewReader() Reader {
	switch f {
	case Events:
		return new(SSE)
	case Lines:
		return new(NDJSON)
	}
	return nil
}

// NDJSON reads a stream that has a JSON value a line. A line is complete with
// its line feed; empty ones mean nothing. The zero value is ready for use.
type NDJSON struct {
	in   []byte // pushed and not yet read
	line []byte // the beginning of a line whose end was not pushed yet
	used bool   // line was given out and is over
	err  error
}

// Push hands over the bytes of one read.
func (n *NDJSON) Push(b []byte) {
	if n.err != nil {
		return
	}
	if len(n.in) > 0 {
		b = append(bytes.Clone(n.in), b...)
	}
	n.in = b
}

// Next gives the next line that the pushed bytes complete.
func (n *NDJSON) Next() (Frame, bool) {
	if n.used {
		n.line, n.used = n.line[:0], false
	}
	for len(n.in) > 0 {
		end := bytes.IndexByte(n.in, '\n')
		if end < 0 {
			n.hold(n.in)
			n.in = nil
			break
		}
		line := n.in[:end]
		n.in = n.in[end+1:]
		if len(n.line) > 0 {
			n.hold(line)
			line, n.used = n.line, true
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return Frame{Data: line}, true
		}
		if n.used {
			n.line, n.used = n.line[:0], false
		}
	}
	return Frame{}, false
}

// hold keeps a piece of a line beyond the read that brought it.
func (n *NDJSON) hold(piece []byte) {
	if len(n.line)+len(piece) > MaxEvent {
		n.Reset()
		n.err = ErrEventTooLong
		return
	}
	n.line = append(n.line, piece...)
}

// Pending reports whether a line has begun and not ended.
func (n *NDJSON) Pending() bool { return len(n.in) > 0 || !n.used && len(n.line) > 0 }

// Held is how many bytes of a line that has not ended are held.
func (n *NDJSON) Held() int {
	if n.used {
		return len(n.in)
	}
	return len(n.in) + len(n.line)
}

// Err says why the stream can not be read on, if so.
func (n *NDJSON) Err() error { return n.err }

// Reset makes n ready for another stream and keeps its memory.
func (n *NDJSON) Reset() { *n = NDJSON{line: n.line[:0]} }
