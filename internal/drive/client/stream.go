package client

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"redline/internal/drive/frame"
	"redline/internal/llm"
)

const (
	// closing bounds the wait for the end of a body whose stream has closed. A
	// server that needs longer costs a new connection rather than more time.
	closing = 250 * time.Millisecond

	maxWholeBody = 64 << 20

	// maxOutput bounds what a streamed reply may come to: its text, and what a
	// record keeps of each event.
	maxOutput = 64 << 20
	perEvent  = 16
)

// streams reports whether the reply is asked for as a stream.
func (x *exchange) streams() bool { return x.r.Stream && x.c.dialect.Framing != frame.Single }

// readable refuses bodies that cannot be the stream, or the JSON, asked for.
func (x *exchange) readable(head *response) *llm.Fault {
	const page = "text/html"
	framing := frame.Single
	if x.streams() {
		framing = x.c.dialect.Framing
	}
	events := head.kind == frame.Events.ContentType()
	lines := strings.HasSuffix(head.kind, "ndjson") || strings.HasSuffix(head.kind, "jsonl")
	single := strings.HasSuffix(head.kind, "json") && !lines
	switch {
	case head.encoding != "" && head.encoding != "identity":
		return x.c.fault(llm.Malformed, "the server compresses its reply (%s) although identity was asked for: turn compression off, it delays tokens", x.words(head.encoding))
	case framing == frame.Events && (single || lines || head.kind == page):
		return x.c.fault(llm.Malformed, "asked for an event stream, got %s: is the path right? If the server does not stream, measure whole replies with --no-stream", x.words(head.kind))
	case framing == frame.Lines && (events || head.kind == page):
		return x.c.fault(llm.Malformed, "asked for a stream of JSON lines, got %s: is this the right path, and does --api name what the server speaks?", x.words(head.kind))
	case framing == frame.Single && (events || lines || head.kind == page):
		return x.c.fault(llm.Malformed, "asked for one JSON reply, got %s: is this the right path, and can the server reply without streaming?", x.words(head.kind))
	}
	return nil
}

// instead is the fault of a reply that is not what was asked for. Some servers
// and gateways answer 200 with an error, which says more than its type does.
func (x *exchange) instead(head *response, b *body, fault *llm.Fault) *llm.Fault {
	if !strings.HasSuffix(head.kind, "json") || head.encoding != "" && head.encoding != "identity" {
		return fault
	}
	content, _ := b.rest(maxErrorBody, nil) // what there is of it
	x.trace.body(content)
	said := x.c.dialect.DecodeError(content)
	if said == "" {
		return fault
	}
	outcome := llm.ErrorEvent
	if isOverloaded(said) || isOverloaded(string(content)) {
		outcome = llm.Rejected
	}
	refusal := x.c.fault(outcome, "an error in place of a stream: %s", x.words(said))
	refusal.Status = head.status
	return refusal
}

// isOverloaded reports whether a server says that it has too much to do.
func isOverloaded(said string) bool {
	said = strings.ToLower(said)
	for _, word := range []string{"overloaded", "rate limit", "rate_limit", "too many requests", "at capacity", "server is busy", ":429", ": 429", ":503", ": 503"} {
		if strings.Contains(said, word) {
			return true
		}
	}
	return false
}

// whole reads a reply that is not streamed.
func (x *exchange) whole(b *body) *llm.Fault {
	content, err := b.rest(maxWholeBody, x.hold)
	if err != nil {
		return x.connFault(err)
	}
	x.trace.body(content)
	if err := x.c.dialect.DecodeWhole(content, &x.delta); err != nil {
		return x.malformedFault(err, content)
	}
	if fault := x.deliver(); fault != nil {
		return fault
	}
	if x.c.dialect.PoolsReplies() {
		return x.checkItems()
	}
	return x.end()
}

// checkItems judges a reply of vectors or scores: there is one for every text, or
// the reply is none.
func (x *exchange) checkItems() *llm.Fault {
	want, got := x.c.dialect.Items(x.r), x.delta.Items
	switch {
	case got == 0:
		return x.empty()
	case got != want:
		return x.c.fault(llm.Malformed, "the reply holds %d results for %d texts: does the server cut what it is sent?", got, want)
	}
	x.emit(llm.Event{Kind: llm.End, At: x.conn.At})
	return nil
}

func (x *exchange) malformedFault(err error, content []byte) *llm.Fault {
	shown := string(content[:min(len(content), maxErrorBody)])
	if isPage(strings.TrimSpace(shown)) {
		shown = x.gist(shown)
	}
	const limit = 120
	return x.c.fault(llm.Malformed, "%s: %s", x.words(err.Error()), x.mask().Line(shown, limit))
}

// stream reads events until the one that closes the stream.
func (x *exchange) stream(b *body) *llm.Fault {
	readers := &readers[x.c.dialect.Framing]
	x.frames, _ = readers.Get().(*frame.Reader)
	if x.frames == nil {
		x.frames = x.c.dialect.Framing.NewReader()
	}
	defer func() {
		// What has grown for one stream is not kept for the next.
		if x.frames.Reset(); !x.holdsLarge {
			readers.Put(x.frames)
		}
	}()
	var fault *llm.Fault
	digest := func() (more bool) {
		more, fault = x.digest(b)
		return more
	}
	for more := digest(); more; {
		var err error
		if x.output && !x.flows {
			x.flows = true
			x.awaitMoreFor(x.c.timeouts.Idle)
		}
		if x.output && x.trace == nil { // whose writer may wait for somebody
			more, err = x.conn.Follow(digest)
		} else if err = x.conn.Fill(); err == nil {
			more = digest()
		}
		if err == nil {
			continue
		}
		switch err = b.cut(err); {
		case errors.Is(err, io.EOF):
			return x.checkUnclosed()
		case !x.stillFlows(err):
			return x.connFault(err)
		}
	}
	return fault
}

// digest delivers what the bytes at hand complete, and reports whether the
// stream goes on. It never waits, because it may run on the reader that serves
// every other stream too.
func (x *exchange) digest(b *body) (more bool, fault *llm.Fault) {
	for {
		data, err := b.take()
		switch {
		case err == errMore:
			return true, nil
		case errors.Is(err, io.EOF):
			return false, x.checkUnclosed()
		case err != nil:
			return false, x.connFault(err)
		}
		x.trace.read(x.conn.At, data)
		x.frames.Push(data)
		done, fault := x.events()
		switch {
		case fault != nil:
			return false, fault
		case x.abandoned:
			return false, x.c.cancelFault()
		case done:
			return false, x.end()
		}
	}
}

// readers holds those of each framing that are at rest.
var readers [frame.Single]sync.Pool

// events delivers every event that the last read completed.
func (x *exchange) events() (done bool, fault *llm.Fault) {
	for !x.abandoned {
		frame, ok := x.frames.Next()
		if !ok {
			break
		}
		if err := x.c.dialect.Decode(frame.Name, frame.Data, &x.delta); err != nil {
			return false, x.malformedFault(err, frame.Data)
		}
		if fault := x.deliver(); fault != nil {
			return false, fault
		}
		if x.delta.Done {
			return true, nil
		}
	}
	if err := x.frames.Err(); err != nil {
		return false, x.c.fault(llm.Malformed, "%v", err)
	}
	if err := x.hold(x.frames.Buffered()); err != nil {
		return false, x.connFault(err)
	}
	return false, nil
}

// deliver yields what one event carries. Of k output events from one read only
// one can have its true time, so k-1 are marked.
func (x *exchange) deliver() *llm.Fault {
	d, at := &x.delta, x.conn.At
	if d.HasErr {
		f := x.c.fault(llm.ErrorEvent, "%s", x.words(string(d.Err)))
		f.At = at
		return f
	}
	if d.HasOutput() {
		ev := llm.Event{Kind: llm.Output, At: at, Coalesced: x.output && x.conn.Reads == x.lastRead}
		ev.Part, ev.Text = x.content()
		if ev.Coalesced {
			x.conn.Merged++
		}
		x.output, x.lastRead = true, x.conn.Reads
		if x.size += perEvent + len(ev.Text); x.size > maxOutput && x.streams() {
			return x.c.fault(llm.Malformed, "the reply has more than %d MiB of output: does the server keep to max_tokens?", maxOutput>>20)
		}
		x.emit(ev)
	}
	if d.HasUsage {
		x.emit(llm.Event{Kind: llm.UsageSeen, At: at, Usage: d.Usage})
	}
	x.tell(d.Timing)
	x.tellPlace(d.Served)
	return nil
}

// content is the text of an output event. One that has several parts, as whole
// replies do, is one event all the same, and no reasoning once it answers.
func (x *exchange) content() (part llm.PartKind, text []byte) {
	d := &x.delta
	switch {
	case len(d.Text) > 0:
		part, text = llm.Text, d.Text
	case len(d.Tool) > 0:
		part, text = llm.ToolCall, d.Tool
	default:
		part, text = llm.Reasoning, d.Reasoning
	}
	if len(text) < len(d.Text)+len(d.Tool)+len(d.Reasoning) {
		x.parts = append(x.parts[:0], d.Reasoning...)
		x.parts = append(x.parts, d.Text...)
		x.parts = append(x.parts, d.Tool...)
		text = x.parts
	}
	return part, text
}

// end closes the exchange in order: success needs at least one output.
func (x *exchange) end() *llm.Fault {
	if !x.output {
		return x.empty()
	}
	x.emit(llm.Event{Kind: llm.End, At: x.conn.At, Calls: x.delta.Calls()})
	return nil
}

func (x *exchange) empty() *llm.Fault {
	f := x.c.fault(llm.Empty, "HTTP 200 and no output")
	f.At = x.conn.At
	return f
}

// checkUnclosed judges a body that ended in order without its closing event.
func (x *exchange) checkUnclosed() *llm.Fault {
	if x.output && x.c.dialect.OpenEnded && !x.frames.Pending() {
		return x.end()
	}
	if x.output || x.frames.Pending() {
		return x.c.fault(llm.Truncated, "the stream ended without its closing event")
	}
	return x.empty()
}

// finish reads what is left of the body, its end marker as a rule, so that
// the connection can be used again.
func (x *exchange) finish(b *body) bool {
	if x.abandoned {
		return false
	}
	_ = x.conn.SetReadDeadline(time.Now().Add(closing))
	_, err := b.rest(maxErrorBody, nil)
	return err == nil
}
