package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"redline/internal/llm"
	"redline/internal/wire"
)

const (
	// tries bounds how often one request is put on the wire: once more on a
	// fresh connection, and once more for each quirk a server can have.
	tries = 5
	// closing bounds the wait for the end of a body whose stream has closed.
	closing = time.Second

	maxErrorBody = 64 << 10
	maxWholeBody = 64 << 20
)

// Stream sends r and yields its events as they arrive; a fault comes last.
func (c *Client) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		x := exchange{c: c, ctx: ctx, r: r, yield: yield, ep: c.next(), trace: c.trace.Swap(nil)}
		if fault := x.run(); fault != nil && !x.abandoned {
			yield(llm.Event{}, fault)
		}
	}
}

// exchange is one request on its way.
type exchange struct {
	c         *Client
	ctx       context.Context
	r         *llm.Request
	ep        *endpoint
	yield     func(llm.Event, error) bool
	abandoned bool // the consumer wants no more
	conn      *conn
	trace     *trace
	sse       *wire.SSE
	delta     wire.Delta
	output    bool
	lastRead  int64 // the read that brought the last output event
}

func (x *exchange) emit(ev llm.Event) bool {
	if x.abandoned {
		return false
	}
	if !x.yield(ev, nil) {
		x.abandoned = true
	}
	return !x.abandoned
}

// errAgain asks for another try of the exchange.
var errAgain = &llm.Fault{Message: "again"}

// run tries the exchange until it is decided.
func (x *exchange) run() *llm.Fault {
	for range tries {
		fault := x.try()
		if fault != errAgain {
			return fault
		}
	}
	return x.c.fault(llm.HTTP, "the server refused every form of the request")
}

func (x *exchange) try() *llm.Fault {
	if fault := x.acquire(); fault != nil {
		return fault
	}
	deadline := time.Now().Add(x.c.timeout)
	// A deadline that cannot be set belongs to a connection that is already
	// closed, which the write will say.
	_ = x.conn.SetDeadline(deadline)
	stop := context.AfterFunc(x.ctx, func() { _ = x.conn.SetDeadline(time.Unix(1, 0)) })
	reusable, fault := x.send()
	if untouched := stop(); untouched && reusable {
		_ = x.conn.SetDeadline(time.Time{})
		x.conn.used = true
		x.ep.pool.put(x.conn)
	} else {
		x.conn.close()
	}
	return fault
}

// acquire finds a waiting connection that is alive, or opens one.
func (x *exchange) acquire() *llm.Fault {
	for {
		x.conn = x.ep.pool.get()
		if x.conn == nil {
			break
		}
		if x.conn.head == x.conn.tail && x.conn.raw.alive() {
			x.emit(llm.Event{Kind: llm.Ready, At: x.c.clock.Now(), Addr: x.conn.remote})
			return nil
		}
		x.conn.close()
	}
	fresh, fault := x.c.connect(x.ctx, x.ep, x.emit)
	if fault != nil {
		return fault
	}
	x.conn = fresh
	x.emit(llm.Event{Kind: llm.Ready, At: x.c.clock.Now(), Addr: fresh.remote})
	return nil
}

// send writes the request and reads the reply. It reports whether the
// connection can carry another request.
func (x *exchange) send() (reusable bool, fault *llm.Fault) {
	quirks := *x.c.quirks.Load()
	x.encode(quirks)
	x.trace.request(x.conn.out)
	x.emit(llm.Event{Kind: llm.Sent, At: x.c.clock.Now()})
	if _, err := x.conn.Write(x.conn.out); err != nil {
		return false, x.early(err)
	}
	x.emit(llm.Event{Kind: llm.Written, At: x.c.clock.Now()})
	head, err := x.conn.readResponse()
	if err != nil {
		return false, x.early(err)
	}
	x.trace.head(head)
	x.emit(llm.Event{Kind: llm.Head, At: head.at, Status: head.status})
	b := newBody(x.conn, head)
	if head.status != 200 {
		return x.refused(head, &b, quirks)
	}
	if fault := x.readable(head); fault != nil {
		return false, fault
	}
	if !x.r.Stream {
		fault = x.whole(&b)
	} else {
		fault = x.stream(&b)
	}
	return fault == nil && head.keepAlive && x.finished(&b), fault
}

// encode puts head and body into one buffer, so that one write sends both.
func (x *exchange) encode(q wire.Quirks) {
	payload := bodies.Get().(*[]byte)
	defer bodies.Put(payload)
	*payload = x.c.dialect.Encode((*payload)[:0], x.r, q)
	out := append(x.conn.out[:0], x.ep.head...)
	if x.r.ID != "" {
		out = append(out, "X-Request-Id: "...)
		out = append(out, x.r.ID...)
		out = append(out, "\r\n"...)
	}
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(len(*payload)), 10)
	out = append(out, "\r\n\r\n"...)
	x.conn.out = append(out, *payload...)
}

var bodies = sync.Pool{New: func() any { return new([]byte) }}

// early judges an error before the first byte of a reply. A connection that
// was kept alive may simply have been closed meanwhile: that is tried again,
// once, because a fresh one is not kept alive.
func (x *exchange) early(err error) *llm.Fault {
	if x.conn.used && x.conn.head == x.conn.tail && isCut(err) && x.ctx.Err() == nil {
		x.emit(llm.Event{Kind: llm.Reconnect, At: x.c.clock.Now()})
		return errAgain
	}
	return x.broken(err)
}

func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// broken names what an error on an open connection means.
func (x *exchange) broken(err error) *llm.Fault {
	var protocol errProtocol
	switch {
	case isCancelled(x.ctx):
		return x.c.fault(llm.Cancelled, "cancelled")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return x.c.fault(llm.Timeout, "not finished within %v (provider.timeout)", x.c.timeout)
	case errors.As(err, &protocol):
		return x.c.fault(llm.Malformed, "%s", string(protocol))
	case isCut(err) && x.output:
		return x.c.fault(llm.Reset, "the connection was cut in mid stream")
	case isCut(err):
		return x.c.fault(llm.Reset, "the connection was cut before any output")
	}
	return x.c.fault(llm.Reset, "the connection failed: %s", innermost(err))
}

// refused reads the body of a reply that is not a success, and asks again if
// another form of the request would do.
func (x *exchange) refused(head response, b *body, q wire.Quirks) (reusable bool, fault *llm.Fault) {
	content, err := b.rest(maxErrorBody)
	x.trace.body(content)
	reusable = err == nil && head.keepAlive
	if head.status == 400 || head.status == 422 {
		if adapted, ok := x.c.dialect.Adapt(content, q); ok {
			x.c.quirks.Store(&adapted)
			return reusable, errAgain
		}
	}
	fault = x.c.fault(llm.HTTP, "%s", x.message(head, content))
	fault.Status, fault.RetryAfter = head.status, head.retryAfter
	if head.status == 429 || head.status == 503 {
		fault.Outcome = llm.Rejected
	}
	return reusable, fault
}

func (x *exchange) message(head response, content []byte) string {
	if head.status >= 300 && head.status < 400 && head.location != "" {
		return "redirected to " + head.location + ": give that URL with --url"
	}
	if message := x.c.dialect.DecodeError(content); message != "" {
		return clip(message)
	}
	return clip(strings.Join(strings.Fields(string(content)), " "))
}

// clip keeps a server's words to a length that a record can carry.
func clip(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// readable refuses bodies that cannot be the stream, or the JSON, asked for.
func (x *exchange) readable(head response) *llm.Fault {
	switch {
	case head.encoding != "" && head.encoding != "identity":
		return x.c.fault(llm.Malformed, "the server compresses its reply (%s) although identity was asked for: turn compression off, it delays tokens", head.encoding)
	case x.r.Stream && (strings.HasSuffix(head.kind, "json") || head.kind == "text/html"):
		return x.c.fault(llm.Malformed, "asked for an event stream, got %s: is this the right path, and does the server stream?", head.kind)
	}
	return nil
}

// whole reads a reply that is not streamed.
func (x *exchange) whole(b *body) *llm.Fault {
	content, err := b.rest(maxWholeBody)
	if err != nil {
		return x.broken(err)
	}
	x.trace.body(content)
	at := x.conn.at
	if err := x.c.dialect.DecodeWhole(content, &x.delta); err != nil {
		return x.malformed(content)
	}
	if fault := x.deliver(at, x.conn.reads); fault != nil {
		return fault
	}
	return x.end(at)
}

func (x *exchange) malformed(content []byte) *llm.Fault {
	return x.c.fault(llm.Malformed, "unreadable event: %.120q", content)
}

// stream reads events until the one that closes the stream.
func (x *exchange) stream(b *body) *llm.Fault {
	x.sse = readers.Get().(*wire.SSE)
	defer func() {
		x.sse.Reset()
		readers.Put(x.sse)
	}()
	for !x.abandoned {
		data, err := b.next()
		switch {
		case errors.Is(err, io.EOF):
			return x.unclosed()
		case err != nil:
			return x.broken(err)
		}
		x.trace.read(x.conn.at, data)
		x.sse.Push(data)
		done, fault := x.events()
		if fault != nil {
			return fault
		}
		if done {
			return x.end(x.conn.at)
		}
	}
	return x.c.fault(llm.Cancelled, "abandoned")
}

var readers = sync.Pool{New: func() any { return new(wire.SSE) }}

// events delivers every event that the last read completed.
func (x *exchange) events() (done bool, fault *llm.Fault) {
	for {
		frame, ok := x.sse.Next()
		if !ok {
			break
		}
		if err := x.c.dialect.Decode(frame.Name, frame.Data, &x.delta); err != nil {
			return false, x.malformed(frame.Data)
		}
		if fault := x.deliver(x.conn.at, x.conn.reads); fault != nil {
			return false, fault
		}
		if x.delta.Done {
			return true, nil
		}
	}
	if err := x.sse.Err(); err != nil {
		return false, x.c.fault(llm.Malformed, "%v", err)
	}
	return false, nil
}

// deliver yields what one event carries. Of several output events from one
// read, only one can have its true time.
func (x *exchange) deliver(at, read int64) *llm.Fault {
	d := &x.delta
	if d.HasErr {
		f := x.c.fault(llm.ErrorEvent, "%s", clip(string(d.Err)))
		f.At = at
		return f
	}
	if d.HasOutput() {
		ev := llm.Event{Kind: llm.Output, At: at, Coalesced: x.output && read == x.lastRead}
		switch {
		case len(d.Text) > 0:
			ev.Text = d.Text
		case len(d.Tool) > 0:
			ev.Part, ev.Text = llm.Tool, d.Tool
		default:
			ev.Part, ev.Text = llm.Reasoning, d.Reasoning
		}
		x.output, x.lastRead = true, read
		x.emit(ev)
	}
	if d.HasUsage {
		x.emit(llm.Event{Kind: llm.UsageSeen, At: at, Usage: d.Usage})
	}
	return nil
}

// end closes the exchange in order: success needs at least one output.
func (x *exchange) end(at int64) *llm.Fault {
	if !x.output {
		f := x.c.fault(llm.Empty, "HTTP 200 and no output")
		f.At = at
		return f
	}
	x.emit(llm.Event{Kind: llm.End, At: at})
	return nil
}

// unclosed judges a body that ended in order without its closing event.
func (x *exchange) unclosed() *llm.Fault {
	if x.output || x.sse.Pending() {
		return x.c.fault(llm.Truncated, "the stream ended without its closing event")
	}
	return x.c.fault(llm.Empty, "HTTP 200 and no output")
}

// finished reads what is left of the body, its end marker as a rule, so that
// the connection can be used again.
func (x *exchange) finished(b *body) bool {
	if x.abandoned {
		return false
	}
	if b.state != ended {
		_ = x.conn.SetReadDeadline(time.Now().Add(closing))
	}
	_, err := b.rest(maxErrorBody)
	return err == nil
}
