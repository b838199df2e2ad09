package client

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"redline/internal/drive/frame"
	"redline/internal/drive/socket"
	"redline/internal/drive/wire"
	"redline/internal/llm"
)

const maxErrorBody = 64 << 10

// Stream sends r and yields its events as they arrive; a fault comes last.
func (c *Client) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		x := new(exchange) // not from a literal, of which the stack would hold a copy
		x.c, x.ctx, x.r, x.yield, x.ep, x.trace = c, ctx, r, yield, c.take(r), c.trace.Swap(nil)
		defer c.leave(x.ep)
		fault := errAgain
		for fault == errAgain {
			fault = x.try()
		}
		if fault != nil && !x.abandoned {
			yield(llm.Event{}, fault)
		}
	}
}

// exchange is one request on its way.
type exchange struct {
	c          *Client
	ctx        context.Context
	r          *llm.Request
	ep         *endpoint
	yield      func(llm.Event, error) bool
	abandoned  bool // the consumer wants no more
	reopened   bool // a connection that had waited turned out to be dead
	adapted    bool // asked again in another form
	conn       *socket.Conn
	sentAt     time.Time    // when the present try began
	limit      limit        // the time limit in force
	placed     llm.ServedBy // as it was last said
	trace      *trace
	frames     *frame.Reader
	delta      wire.Delta
	parts      []byte // the joined parts of an event that has several
	output     bool
	size       int   // of the output so far
	flows      bool  // output has begun, and silence is bounded
	lastRead   int64 // the read that brought the last output event
	held       int64 // bytes that count into what all streams hold
	holdsLarge bool  // some did
}

// emit yields an event and reports whether the consumer wants more.
func (x *exchange) emit(ev llm.Event) bool {
	if !x.abandoned {
		x.abandoned = !x.yield(ev, nil)
	}
	return !x.abandoned
}

// errAgain asks for another try of the exchange. There are few: a dead connection
// is replaced once, and a server has only so many quirks to learn.
var errAgain = &llm.Fault{Message: "again"}

func (x *exchange) try() *llm.Fault {
	if fault := x.acquire(); fault != nil {
		return fault
	}
	c := x.conn
	x.sentAt, x.limit = time.Now(), limit{}
	x.setLimit(x.fromStart("header", x.c.timeouts.Header), x.firstToken())
	stop := context.AfterFunc(x.ctx, c.Abort)
	reusable, fault := x.send()
	x.holds().sum.Add(-x.held)
	x.held = 0
	switch {
	case stop() && reusable:
		x.ep.pool.Put(c)
	case fault != nil:
		c.Abort()
	default:
		_ = c.Close()
	}
	return fault
}

// acquire takes a waiting connection, or opens one.
func (x *exchange) acquire() (fault *llm.Fault) {
	if x.ctx.Err() != nil {
		return x.c.cancelFault()
	}
	x.conn = nil
	if !x.reopened {
		x.conn = x.ep.pool.Get()
	}
	if x.conn == nil {
		if fault := x.connect(); fault != nil {
			return fault
		}
	}
	if !x.emit(llm.Event{Kind: llm.Ready, At: x.c.clock.Now(), Addr: x.conn.Remote}) {
		x.ep.pool.Put(x.conn)
		return x.c.cancelFault()
	}
	return nil
}

// connect opens a connection, on a goroutine of its own: the stack that this
// takes would stay with the request's as long as it streams.
func (x *exchange) connect() (fault *llm.Fault) {
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		x.conn, fault = x.c.connect(x.ctx, x.ep, x.emit)
	}()
	<-opened
	return fault
}

// send writes the request and reads the reply. It reports whether the
// connection can carry another request.
func (x *exchange) send() (reusable bool, fault *llm.Fault) {
	quirks := x.c.quirks.Load()
	asked, fault, unsent := x.ask(quirks)
	if fault != nil {
		return false, fault
	}
	// A server may refuse a request and close before it has read all of it:
	// then the write fails, and the reply says why.
	head, err := readResponse(x.conn, x.c.replicaHeader)
	if err != nil {
		// A connection that had waited may simply have been closed meanwhile: if
		// nothing of a reply has arrived the request is sent again, once, on a fresh one.
		if x.conn.Reused && !x.conn.GotBytes && isCut(err) && x.ctx.Err() == nil {
			return false, x.reconnect()
		}
		return false, x.connFault(err)
	}
	x.trace.head(head)
	if x.isForeignReply(head, asked) {
		return false, x.disown()
	}
	if !x.emit(llm.Event{Kind: llm.Head, At: head.at, Status: head.status, Trip: x.conn.QuickestTrip()}) {
		return false, x.c.cancelFault()
	}
	x.tellPlace(head.placing.servedBy())
	x.tell(head.timing)
	reusable, fault = x.receive(head, quirks)
	return reusable && head.keepAlive && unsent == nil, fault
}

// ask writes the request, from a buffer that it has only for that: those of
// all streams would be as much memory as their prompts. It gives when it began, why
// there is no use in going on, and what kept the request from being written whole.
func (x *exchange) ask(q *wire.Quirks) (asked int64, fault *llm.Fault, unsent error) {
	out := requests.Get().(*[]byte)
	defer requests.Put(out)
	var large []byte
	*out, large = x.encode((*out)[:0], q)
	x.conn.GotBytes = false
	if x.trace != nil {
		x.trace.request(append(slices.Clip(*out), large...))
	}
	if x.conn.Reused && !x.conn.Fit() {
		return 0, x.reconnect(), nil
	}
	if !x.emit(llm.Event{Kind: llm.Sent, At: x.c.clock.Now(), Retried: x.adapted}) {
		return 0, x.c.cancelFault(), nil
	}
	asked = x.c.clock.Now()
	if _, unsent = x.conn.Write(*out); unsent == nil && large != nil {
		_, unsent = x.conn.Write(large)
	}
	if unsent == nil && !x.emit(llm.Event{Kind: llm.Written, At: x.c.clock.Now()}) {
		return 0, x.c.cancelFault(), nil
	}
	return asked, nil, unsent
}

// largeBody is what is better written by itself than copied behind its head.
const largeBody = 128 << 10

// encode appends head and body, so that one write sends both; a large body that
// is composed already is given as it is.
func (x *exchange) encode(out []byte, q *wire.Quirks) (all, large []byte) {
	payload := x.takePrepared(q)
	if payload == nil {
		buffer := requests.Get().(*[]byte)
		defer requests.Put(buffer)
		*buffer = x.c.dialect.Encode((*buffer)[:0], x.r, *q)
		payload = *buffer
	} else if len(payload) >= largeBody {
		large = payload
	}
	out = x.headOf(out)
	if x.r.ID != "" && !x.c.ownID && !holds(x.r.Headers, requestID) {
		out = append(out, requestID+": "...)
		out = append(out, x.r.ID...)
		out = append(out, "\r\n"...)
	}
	if x.c.traceparent && !holds(x.r.Headers, traceHeader) {
		out = appendTraceparent(out, x.r.ID)
	}
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(len(payload)), 10)
	out = append(out, "\r\n\r\n"...)
	if large == nil {
		out = append(out, payload...)
	}
	return out, large
}

// requests are buffers that requests are composed in.
var requests = sync.Pool{New: func() any { return new([]byte) }}

// reconnect gives a connection that had waited up for a fresh one, once.
func (x *exchange) reconnect() *llm.Fault {
	x.reopened = true
	if !x.emit(llm.Event{Kind: llm.Reconnect, At: x.c.clock.Now()}) {
		return x.c.cancelFault()
	}
	return errAgain
}

// stampSlack is by how much the kernel's clock and ours may differ.
const stampSlack = int64(50 * time.Microsecond)

// isForeignReply reports whether a reply is not the answer to this request: it bears
// the number of another one, or it arrived before this one left, after the
// connection was last seen to be silent.
func (x *exchange) isForeignReply(head *response, asked int64) bool {
	early := x.conn.Reused && x.conn.FirstAt >= x.conn.SilentAt-stampSlack && x.conn.FirstAt < asked-stampSlack
	return early || otherOfRun(head.requestID, x.r.ID)
}

// otherOfRun reports whether an echoed id is that of another request of the
// same run. Ids of the server's own making say nothing.
func otherOfRun(echoed, own string) bool {
	cut := strings.LastIndexByte(own, '-')
	return cut > 0 && echoed != own && len(echoed) == len(own) && strings.HasPrefix(echoed, own[:cut+1])
}

// disown counts a reply that is another request's, and asks again where the
// connection may be to blame.
func (x *exchange) disown() *llm.Fault {
	x.c.sockets.Counts.Unsolicited.Add(1)
	if x.conn.Reused {
		return x.reconnect()
	}
	return x.c.fault(llm.Malformed, "the server answered another request than the one it was asked (by its X-Request-Id): look for a proxy that mixes up connections")
}

// receive reads the body that follows head, to its end if it can.
func (x *exchange) receive(head *response, q *wire.Quirks) (complete bool, fault *llm.Fault) {
	b := newBody(x.conn, head)
	x.setLimit(x.firstToken())
	if head.status != http.StatusOK {
		return x.handleErrorReply(head, &b, q)
	}
	if fault := x.readable(head); fault != nil {
		return false, x.instead(head, &b, fault)
	}
	if x.streams() {
		fault = x.stream(&b)
	} else {
		fault = x.whole(&b)
	}
	return fault == nil && head.keepAlive && x.finish(&b), fault
}

// handleErrorReply reads the body of a reply that is not a success, and asks again if
// another form of the request would do.
func (x *exchange) handleErrorReply(head *response, b *body, q *wire.Quirks) (complete bool, fault *llm.Fault) {
	content, err := b.rest(maxErrorBody, nil)
	x.trace.body(content)
	// A status that may mean that the server did not like the form of the request:
	// some answer 500 to a schema that they cannot take.
	if head.status == http.StatusBadRequest || head.status == http.StatusUnprocessableEntity ||
		head.status == http.StatusInternalServerError && x.r.Format != nil && x.r.Format.Optional {
		if adapted, ok := x.c.dialect.Adapt(content, *q); ok {
			x.c.learn(adapted)
			x.adapted = true
			return err == nil, errAgain
		}
	}
	fault = x.c.fault(llm.HTTP, "%s", x.message(head, content))
	fault.Status, fault.RetryAfter = head.status, head.retryAfter
	if head.status == http.StatusTooManyRequests || head.status == http.StatusServiceUnavailable {
		fault.Outcome, fault.Reason = llm.Rejected, head.dropped
	}
	return err == nil, fault
}
