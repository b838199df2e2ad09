package client

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

// TestMain runs every test with each way to read plain connections: the reader
// of our own, and Go's runtime.
func TestMain(m *testing.M) { goleak.VerifyTestMain(bothWays{m}) }

type bothWays struct{ *testing.M }

func (b bothWays) Run() int {
	if code := b.M.Run(); code != 0 || !useRuntime() {
		return code
	}
	fmt.Println("again, read by the runtime")
	return b.M.Run()
}

// useRuntime leaves connections to the runtime from now on. It reports whether
// they were not before; benchmarks and fuzzing are not done twice.
func useRuntime() bool {
	own := ownReaders
	ownReaders = false
	return own && flag.Lookup("test.bench").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == ""
}

// newClient makes a client of urls that is closed with the test.
func newClient(t testing.TB, s Spec, urls ...string) *Client {
	t.Helper()
	s.URLs = append(s.URLs, urls...)
	c := must.Get(New(s, Options{Clock: clock.New()}))(t)
	t.Cleanup(c.Close)
	return c
}

func requestOf(stream bool) *llm.Request {
	return &llm.Request{ID: "run-1", Model: "m", MaxTokens: 8, Stream: stream,
		Messages: []llm.Message{{Role: "user", Content: "Say hello."}}}
}

// collect drives one request to its end; each is called with every event.
func collect(t testing.TB, ctx context.Context, c *Client, r *llm.Request, each func(llm.Event)) (events []llm.Event, fault *llm.Fault) {
	t.Helper()
	for ev, err := range c.Stream(ctx, r) {
		if fault != nil {
			t.Errorf("event %+v after the fault %v", ev, fault)
		}
		if err != nil {
			if !errors.As(err, &fault) {
				t.Fatalf("error %v is no fault", err)
			}
			continue
		}
		if each != nil {
			each(ev)
		}
		ev.Text = append([]byte(nil), ev.Text...)
		events = append(events, ev)
	}
	return events, fault
}

// plainly collects a request's events, checks their stamps and drops what
// differs from run to run.
func plainly(t testing.TB, c *Client, r *llm.Request, each func(llm.Event)) ([]llm.Event, *llm.Fault) {
	t.Helper()
	events, fault := collect(t, t.Context(), c, r, each)
	checkStamps(t, events)
	for i := range events {
		events[i].At, events[i].Since, events[i].Trip, events[i].Addr = 0, 0, 0, ""
	}
	if fault != nil {
		if fault.At <= 0 {
			t.Errorf("fault at %d, want after the origin", fault.At)
		}
		fault.At = 0
	}
	return events, fault
}

// checkStamps demands that time goes on from event to event. The end of a
// write is stamped here and the arrival of its reply by the kernel, so those
// two may cross.
func checkStamps(t testing.TB, events []llm.Event) {
	t.Helper()
	var last int64
	for _, ev := range events {
		if ev.At <= 0 || ev.At < last {
			t.Errorf("event %d at %d, want after the one before it at %d", ev.Kind, ev.At, last)
		}
		if ev.Kind == llm.Dialed && (ev.Since < last || ev.Since > ev.At) {
			t.Errorf("dialed from %d to %d, want its beginning after the event before it at %d", ev.Since, ev.At, last)
		}
		if ev.Kind != llm.Written {
			last = ev.At
		}
	}
}

// textOf gives the text of all outputs.
func textOf(events []llm.Event) string {
	var b strings.Builder
	for _, ev := range events {
		b.Write(ev.Text)
	}
	return b.String()
}

func kinds(events []llm.Event) (list []llm.EventKind) {
	for _, ev := range events {
		list = append(list, ev.Kind)
	}
	return list
}

func has(events []llm.Event, k llm.EventKind) bool {
	for _, ev := range events {
		if ev.Kind == k {
			return true
		}
	}
	return false
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	expect.NoDiff(t, cmp.Diff(want, got), "%s (-want +got)", what)
}

// serveRaw accepts connections and hands each to script, which is called once
// for every request with the number of the connection and of the request on it
// and says whether the connection stays open.
func serveRaw(t testing.TB, script func(c net.Conn, conn, request int) bool) (url string, conns *atomic.Int64) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	conns = new(atomic.Int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := int(conns.Add(1)) - 1
			stop := context.AfterFunc(t.Context(), func() { c.Close() })
			go func() {
				defer stop()
				defer c.Close()
				converse(c, n, script)
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return "http://" + l.Addr().String(), conns
}

func converse(c net.Conn, n int, script func(c net.Conn, conn, request int) bool) {
	in := bufio.NewReader(c)
	for i := 0; ; i++ {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if !script(c, n, i) {
			return
		}
	}
}

// always replies to every request with the same bytes.
func always(reply string, stays bool) func(net.Conn, int, int) bool {
	return func(c net.Conn, _, _ int) bool {
		_, err := io.WriteString(c, reply)
		return err == nil && stays
	}
}

func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	role       = `data: {"choices":[{"delta":{"role":"assistant","content":""}}]}` + "\n\n"
	hello      = `data: {"choices":[{"delta":{"content":"Hello"}}]}` + "\n\n"
	bang       = `data: {"choices":[{"delta":{"content":"!"}}]}` + "\n\n"
	done       = "data: [DONE]\n\n"
	greeting   = role + hello + bang + done
)

// newDialing makes a client with its own way to connect.
func newDialing(t testing.TB, s Spec, dial Dial) *Client {
	t.Helper()
	c := must.Get(New(s, Options{Clock: clock.New(), Dial: dial}))(t)
	t.Cleanup(c.Close)
	return c
}

// pipeTo connects in memory to a server.
func pipeTo(server func(net.Conn)) Dial {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			server(far)
		}()
		return near, nil
	}
}
