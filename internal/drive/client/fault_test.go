package client

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/llm"
	"redline/internal/must"
)

// refusal is a whole reply with a status, more headers and a body.
func refusal(status, headers, body string) string {
	return "HTTP/1.1 " + status + "\r\n" + headers + "Connection: close\r\n\r\n" + body
}

// TestFaults: bytes of a server, and the one line they become.
func TestFaults(t *testing.T) {
	const (
		http2  = "the server speaks HTTP/2 only; redline measures over HTTP/1.1: enable HTTP/1.1 on the server or its proxy"
		stream = streamHead + "\r\n"
	)
	for _, tc := range []struct {
		name, reply string
		want        llm.Fault
	}{
		{"429", refusal("429 Too Many Requests", "Retry-After: 7\r\n", `{"error":{"message":"slow down"}}`),
			llm.Fault{Outcome: llm.Rejected, Status: 429, Message: "slow down", RetryAfter: 7 * time.Second}},
		{"503", refusal("503 Service Unavailable", "Retry-After: soon\r\n", "<h1>busy</h1>\n<p>later</p>"),
			llm.Fault{Outcome: llm.Rejected, Status: 503, Message: `an HTML page titled "busy"`}},
		{"500", refusal("500 Oops", "", `{"detail":"out of memory"}`),
			llm.Fault{Outcome: llm.HTTP, Status: 500, Message: "out of memory"}},
		{"401", refusal("401 Unauthorized", "", `{"error":"no key sk-secret-1"}`),
			llm.Fault{Outcome: llm.HTTP, Status: 401, Message: "no key ***"}},
		{"404 of a model", refusal("404 Not Found", "", `{"error":{"message":"The model m does not exist."}}`),
			llm.Fault{Outcome: llm.HTTP, Status: 404, Message: "The model m does not exist."}},
		{"400 that cannot be adapted to", refusal("400 Bad Request", "", `{"error":{"message":"prompt too long"}}`),
			llm.Fault{Outcome: llm.HTTP, Status: 400, Message: "prompt too long"}},
		{"no reason", refusal("502 Bad Gateway", "", ""),
			llm.Fault{Outcome: llm.HTTP, Status: 502, Message: "the server gave no reason (Bad Gateway)"}},
		{"long reason", refusal("500 Oops", "", strings.Repeat("é", 40_000)),
			llm.Fault{Outcome: llm.HTTP, Status: 500, Message: strings.Repeat("é", 100) + "…"}},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n",
			llm.Fault{Outcome: llm.HTTP, Status: 204, Message: "the server gave no reason (No Content)"}},
		{"redirect", refusal("301 Moved", "Location: https://elsewhere/v1/chat/completions?key=sk-secret-1\r\n", ""),
			llm.Fault{Outcome: llm.HTTP, Status: 301, Message: "redirected to https://elsewhere/v1/chat/completions: give that URL with --url"}},
		{"plain request on a TLS port", refusal("400 Bad Request", "", "Client sent an HTTP request to an HTTPS server.\n"),
			llm.Fault{Outcome: llm.HTTP, Status: 400, Message: "Client sent an HTTP request to an HTTPS server. Use https:// in --url."}},
		{"another word on HTTPS", refusal("400 Bad Request", "", `{"error":"image_url must be HTTPS"}`),
			llm.Fault{Outcome: llm.HTTP, Status: 400, Message: "image_url must be HTTPS"}},
		{"TLS alert", "\x15\x03\x01\x00\x02\x02\x46",
			llm.Fault{Outcome: llm.Malformed, Message: "the server speaks TLS: use https:// instead of http://"}},
		{"HTTP/2 settings", "\x00\x00\x00\x04\x00\x00\x00\x00\x00", llm.Fault{Outcome: llm.Malformed, Message: http2}},
		{"HTTP/2 goodbye", "\x00\x00\x08\x07\x00\x00\x00\x00\x00", llm.Fault{Outcome: llm.Malformed, Message: http2}},
		{"an error instead of a stream", reply200(`{"error":{"message":"model overloaded"}}`),
			llm.Fault{Outcome: llm.Rejected, Status: 200, Message: "an error in place of a stream: model overloaded"}},
		{"an error with a code instead of a stream", reply200(`{"error":{"message":"try later","code":429}}`),
			llm.Fault{Outcome: llm.Rejected, Status: 200, Message: "an error in place of a stream: try later"}},
		{"another error instead of a stream", reply200(`{"detail":"no such adapter for sk-secret-1"}`),
			llm.Fault{Outcome: llm.ErrorEvent, Status: 200, Message: "an error in place of a stream: no such adapter for ***"}},
		{"a document instead of a stream", reply200(`{"choices":[]}`),
			llm.Fault{Outcome: llm.Malformed, Message: "asked for an event stream, got application/json: is the path right? If the server does not stream, measure whole replies with --no-stream"}},
		{"escape sequences", refusal("500 Oops", "", `{"error":"\u001b[2J\u202egnp\u0007"}`),
			llm.Fault{Outcome: llm.HTTP, Status: 500, Message: `\x1b[2J\u202egnp\x07`}},
		{"another protocol", "SSH-2.0-OpenSSH_9.9\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: `not an HTTP/1.1 response: "SSH-2.0-OpenSSH_9.9\r\n"`}},
		{"HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: `not an HTTP/1.1 response: "HTTP/1.2 200 OK"`}},
		{"unasked upgrade", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: "the server switched to another protocol unasked (HTTP 101)"}},
		{"no reply", "", llm.Fault{Outcome: llm.Reset, Message: "the connection was cut before any reply: the server closed it"}},
		{"cut in the status line", "HTTP/1.",
			llm.Fault{Outcome: llm.Reset, Message: "the connection was cut before any output: the server closed it"}},
		{"cut between headers", streamHead,
			llm.Fault{Outcome: llm.Reset, Message: "the connection was cut before any output: the server closed it"}},
		{"endless head", streamHead + strings.Repeat("X-Fill: "+strings.Repeat("x", 1000)+"\r\n", 300),
			llm.Fault{Outcome: llm.Malformed, Message: "the response head is larger than 256 KiB"}},
		{"header without a colon", "HTTP/1.1 200 OK\r\nwhat\r\n\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: `not a response header: "what"`}},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: `the response has no clear length: Content-Length "6"`}},
		{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: `the response has no clear length: Content-Length "-5"`}},
		{"gzip as a transfer coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: `the response has a transfer coding that was not asked for: "gzip, chunked"`}},
		{"gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: "the server compresses its reply (gzip) although identity was asked for: turn compression off, it delays tokens"}},
		{"JSON", "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n\r\n{}",
			llm.Fault{Outcome: llm.Malformed, Message: "asked for an event stream, got application/json: is the path right? If the server does not stream, measure whole replies with --no-stream"}},
		{"HTML", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
			llm.Fault{Outcome: llm.Malformed, Message: "asked for an event stream, got text/html: is the path right? If the server does not stream, measure whole replies with --no-stream"}},
		{"empty", stream, llm.Fault{Outcome: llm.Empty, Message: "HTTP 200 and no output"}},
		{"closing event alone", stream + done, llm.Fault{Outcome: llm.Empty, Message: "HTTP 200 and no output"}},
		{"role alone", stream + role + done, llm.Fault{Outcome: llm.Empty, Message: "HTTP 200 and no output"}},
		{"no closing event", stream + hello, llm.Fault{Outcome: llm.Truncated, Message: "the stream ended without its closing event"}},
		{"half an event", stream + hello[:20], llm.Fault{Outcome: llm.Truncated, Message: "the stream ended without its closing event"}},
		{"error event", stream + hello + "data: {\"error\":{\"message\":\"CUDA out of memory\"}}\n\n",
			llm.Fault{Outcome: llm.ErrorEvent, Message: "CUDA out of memory"}},
		{"not UTF-8", refusal("500 Oops", "", "b\xffd"), llm.Fault{Outcome: llm.HTTP, Status: 500, Message: `b\xffd`}},
		{"not an object", stream + "data: 42\n\n", llm.Fault{Outcome: llm.Malformed, Message: `stream event: expected a JSON object, got a number: 42`}},
		{"fewer bytes than promised", streamHead + "Content-Length: 9999\r\n\r\n" + hello,
			llm.Fault{Outcome: llm.Reset, Message: "the connection was cut in mid stream: the server closed it"}},
		{"cut in a chunk", chunkedHead + "ff\r\n" + hello,
			llm.Fault{Outcome: llm.Reset, Message: "the connection was cut in mid stream: the server closed it"}},
		{"cut in a chunk's size", chunkedHead + "4",
			llm.Fault{Outcome: llm.Reset, Message: "the connection was cut before any output: the server closed it"}},
		{"no chunk size", chunkedHead + "\r\n", llm.Fault{Outcome: llm.Malformed, Message: `not a chunk size: ""`}},
		{"negative chunk size", chunkedHead + "-5\r\n", llm.Fault{Outcome: llm.Malformed, Message: `not a chunk size: "-5"`}},
		{"huge chunk size", chunkedHead + "ffffffffffffffff\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: `not a chunk size: "ffffffffffffffff"`}},
		{"endless chunk size", chunkedHead + strings.Repeat("0", 20_000),
			llm.Fault{Outcome: llm.Malformed, Message: "a line between chunks is longer than 4 KiB"}},
		{"endless trailer", chunkedHead + "0\r\n" + strings.Repeat("X-Fill: "+strings.Repeat("x", 1000)+"\r\n", 300),
			llm.Fault{Outcome: llm.Malformed, Message: "the response trailer is larger than 256 KiB"}},
		{"chunk longer than its size", chunkedHead + "2\r\n:abc\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: `a chunk is longer than its size: "bc"`}},
		{"chunked HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			llm.Fault{Outcome: llm.Malformed, Message: "the response is HTTP/1.0 and chunked, which cannot be read safely"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url, conns := serveRaw(t, always(tc.reply, false))
			_, fault := plainly(t, newClient(t, Spec{APIKey: "sk-secret-1"}, url), requestOf(true), nil)
			equal(t, "fault", fault, &tc.want)
			equal(t, "connections opened", conns.Load(), int64(1))
		})
	}
}

// TestWholeFaults is the same for replies that are not streamed.
func TestWholeFaults(t *testing.T) {
	for _, tc := range []struct {
		name, reply string
		want        llm.Fault
	}{
		{"event stream", streamHead + "\r\n" + greeting, llm.Fault{Outcome: llm.Malformed,
			Message: "asked for one JSON reply, got text/event-stream: is this the right path, and can the server reply without streaming?"}},
		{"cut", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", llm.Fault{Outcome: llm.Reset,
			Message: "the connection was cut before any output: the server closed it"}},
		{"empty choices", "HTTP/1.1 200 OK\r\n\r\n{\"choices\":[]}", llm.Fault{Outcome: llm.Empty, Message: "HTTP 200 and no output"}},
		{"error with 200", "HTTP/1.1 200 OK\r\n\r\n{\"error\":\"no\"}", llm.Fault{Outcome: llm.ErrorEvent, Message: "no"}},
		{"not an object", "HTTP/1.1 200 OK\r\n\r\n[]", llm.Fault{Outcome: llm.Malformed, Message: `reply: expected a JSON object, got an array: []`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url, _ := serveRaw(t, always(tc.reply, false))
			_, fault := plainly(t, newClient(t, Spec{}, url), requestOf(false), nil)
			equal(t, "fault", fault, &tc.want)
		})
	}
}

func TestMalformedEventQuotesIt(t *testing.T) {
	url, _ := serveRaw(t, always(streamHead+"\r\n"+hello+"data: {\"choices\":[{]}\n\n", false))
	events, fault := plainly(t, newClient(t, Spec{}, url), requestOf(true), nil)
	equal(t, "text before it", textOf(events), "Hello")
	if fault == nil || fault.Outcome != llm.Malformed || !strings.Contains(fault.Message, `{"choices":[{]}`) {
		t.Errorf("fault %v, want malformed with the event", fault)
	}
}

// TestOpenEndedProtocols: a server of another protocol that says its word and
// then waits is recognised by it, without any time limit.
func TestOpenEndedProtocols(t *testing.T) {
	url, _ := serveRaw(t, always("\x00\x00\x12\x04\x00\x00\x00\x00\x00", true))
	_, fault := plainly(t, newClient(t, Spec{}, url), requestOf(true), nil)
	if fault == nil || !strings.Contains(fault.Message, "HTTP/2 only") {
		t.Errorf("fault %v, want one about HTTP/2", fault)
	}
}

func TestUnreachable(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	dead := l.Addr().String()
	l.Close()
	c := newClient(t, Spec{}, "http://"+dead)
	refused := dead + " refused the connection: is the server running there?"
	_, fault := plainly(t, c, requestOf(true), nil)
	equal(t, "fault", fault, &llm.Fault{Outcome: llm.Connect, Message: refused})
	if err := c.Open(t.Context(), 1); err == nil || err.Error() != "http://"+dead+"/v1/chat/completions: "+refused {
		t.Errorf("Open says %v", err)
	}
}

// reply200 is a success with a JSON document.
func reply200(body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// TestConnectingIsBoundByTheRequest: a request that may take two seconds does
// not wait thirty for its connection.
func TestConnectingIsBoundByTheRequest(t *testing.T) {
	for total, want := range map[time.Duration]time.Duration{2 * time.Second: 2 * time.Second, 0: connectLimit, time.Hour: connectLimit} {
		synctest.Test(t, func(t *testing.T) {
			dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
			}
			c := must.Get(New(Spec{URLs: []string{"http://far:1"}, Timeouts: Timeouts{Total: total}}, Options{Clock: clock.Virtual(), Dial: dial}))(t)
			defer c.Close()
			begun := time.Now()
			_, fault := plainly(t, c, requestOf(true), nil)
			equal(t, "fault", fault, &llm.Fault{Outcome: llm.Connect, Message: fmt.Sprintf("far:1 did not answer within %v: is it reachable from here?", want)})
			equal(t, "waited", time.Since(begun), want)
		})
	}
}

func TestUnknownHost(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "engine.invalid", IsNotFound: true}}
	}
	c := newDialing(t, Spec{URLs: []string{"http://engine.invalid"}}, dial)
	_, fault := plainly(t, c, requestOf(true), nil)
	equal(t, "fault", fault, &llm.Fault{Outcome: llm.DNS, Message: "cannot resolve engine.invalid (no such host): check the host in --url"})
}

func TestTimeLimit(t *testing.T) {
	for _, sent := range []string{"", "HTTP/1.1 200 OK\r\n", streamHead + "\r\n" + hello} {
		url, conns := serveRaw(t, always(sent, true))
		c := newClient(t, Spec{Timeouts: Timeouts{Total: 50 * time.Millisecond}}, url)
		for range 2 {
			_, fault := plainly(t, c, requestOf(true), nil)
			equal(t, "fault", fault, &llm.Fault{Outcome: llm.Timeout, Message: "not finished within 50ms: raise --timeout if that is no fault"})
		}
		equal(t, "connections, none of them used twice", conns.Load(), int64(2))
	}
}

// TestRefusedWhileSending: a server that answers and closes before it has read
// a long request is heard.
func TestRefusedWhileSending(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.ReadFull(c, make([]byte, 100))
		_, _ = io.WriteString(c, refusal("413 Content Too Large", "Content-Length: 8\r\n", "too long"))
	}()
	r := requestOf(true)
	r.Messages[0].Content = strings.Repeat("word ", 4<<20)
	_, fault := plainly(t, newClient(t, Spec{}, "http://"+l.Addr().String()), r, nil)
	equal(t, "fault", fault, &llm.Fault{Outcome: llm.HTTP, Status: http.StatusRequestEntityTooLarge, Message: "too long"})
}

func TestCancelledBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	events, fault := collect(t, ctx, newClient(t, Spec{}, "http://127.0.0.1:1"), requestOf(true), nil)
	equal(t, "events", events, []llm.Event(nil))
	equal(t, "outcome", fault.Outcome, llm.Cancelled)
}

// replay is a connection on which a reply of given bytes arrives, a few at a
// time, and then an error.
type replay struct {
	net.Conn
	reply io.Reader
	step  int
	end   error
}

func (r *replay) Read(p []byte) (int, error) {
	n, err := r.reply.Read(p[:min(len(p), r.step)])
	if err == io.EOF {
		err = r.end
	}
	return n, err
}

func (r *replay) Write(p []byte) (int, error)     { return len(p), nil }
func (r *replay) Close() error                    { return nil }
func (r *replay) SetDeadline(time.Time) error     { return nil }
func (r *replay) SetReadDeadline(time.Time) error { return nil }
func (r *replay) RemoteAddr() net.Addr            { return nil }

// TestBodyUntilTheEnd: a body that ends with its connection has ended in order
// only where the end is no cut, as TLS can tell.
func TestBodyUntilTheEnd(t *testing.T) {
	for _, tc := range []struct {
		end  error
		want *llm.Fault
	}{
		{io.EOF, &llm.Fault{Outcome: llm.Truncated, Message: "the stream ended without its closing event"}},
		{io.ErrUnexpectedEOF, &llm.Fault{Outcome: llm.Reset, Message: "the connection was cut in mid stream: the server closed it"}},
		{nil, &llm.Fault{Outcome: llm.Reset, Message: "the connection was cut in mid stream: multiple Read calls return no data or error"}},
	} {
		c := newDialing(t, Spec{URLs: []string{"http://h"}}, func(context.Context, string, string) (net.Conn, error) {
			return &replay{reply: strings.NewReader(streamHead + "\r\n" + hello), step: 1000, end: tc.end}, nil
		})
		_, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, tc.want)
	}
}
