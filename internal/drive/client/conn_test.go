package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"redline/internal/llm"
	"redline/internal/must"
)

// hails answers every request with the greeting.
func hails(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, greeting)
}

var (
	greetingOnNew  = []llm.EventKind{llm.Dialed, llm.Ready, llm.Sent, llm.Written, llm.Head, llm.Output, llm.Output, llm.End}
	greetingOnKept = greetingOnNew[1:]
)

func TestOpenConnectionsAreUsed(t *testing.T) {
	url, conns := serveRaw(t, always(withLength(streamHead), true))
	c := newClient(t, Spec{}, url)
	must.Do(t, c.Open(t.Context(), 100))
	for conns.Load() < 100 { // until the server has seen them all
		runtime.Gosched()
	}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			events, fault := plainly(t, c, requestOf(true), nil)
			equal(t, "fault", fault, (*llm.Fault)(nil))
			equal(t, "kinds", kinds(events), greetingOnKept)
		})
	}
	all.Wait()
}

func TestOpenStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newClient(t, Spec{}, "http://127.0.0.1:1").Open(ctx, 500); err != context.Canceled {
		t.Errorf("Open says %v, want that it was cancelled", err)
	}
}

// TestReconnect: what a server does with the second request on a connection,
// and what becomes of that request.
func TestReconnect(t *testing.T) {
	reply := withLength(streamHead)
	for _, tc := range []struct {
		name   string
		script func(c net.Conn, conn, request int) bool
		kinds  []llm.EventKind
		want   llm.Outcome
		conns  int64
	}{
		{"closes it unanswered", func(c net.Conn, conn, request int) bool {
			if conn == 0 && request == 1 {
				return false
			}
			_, err := io.WriteString(c, reply)
			return err == nil
		}, append([]llm.EventKind{llm.Ready, llm.Sent, llm.Written, llm.Reconnect}, greetingOnNew...), "", 2},
		{"closes the new one too", func(c net.Conn, conn, request int) bool {
			if conn == 1 || request == 1 {
				return false
			}
			_, err := io.WriteString(c, reply)
			return err == nil
		}, []llm.EventKind{llm.Ready, llm.Sent, llm.Written, llm.Reconnect, llm.Dialed, llm.Ready, llm.Sent, llm.Written}, llm.Reset, 2},
		{"closes it after the status line", func(c net.Conn, _, request int) bool {
			if request == 1 {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
				return false
			}
			_, err := io.WriteString(c, reply)
			return err == nil
		}, []llm.EventKind{llm.Ready, llm.Sent, llm.Written}, llm.Reset, 1},
		{"answers nonsense", func(c net.Conn, _, request int) bool {
			if request == 1 {
				_, _ = io.WriteString(c, "nonsense")
				return false
			}
			_, err := io.WriteString(c, reply)
			return err == nil
		}, []llm.EventKind{llm.Ready, llm.Sent, llm.Written}, llm.Malformed, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url, conns := serveRaw(t, tc.script)
			c := newClient(t, Spec{}, url)
			if _, fault := plainly(t, c, requestOf(true), nil); fault != nil {
				t.Fatal(fault)
			}
			events, fault := plainly(t, c, requestOf(true), nil)
			equal(t, "kinds", kinds(events), tc.kinds)
			if fault == nil {
				fault = &llm.Fault{}
			}
			equal(t, "outcome", fault.Outcome, tc.want)
			equal(t, "connections", conns.Load(), tc.conns)
		})
	}
}

// TestClosedBetweenRequests: a server that closes a connection without a word
// costs another one, but never the request.
func TestClosedBetweenRequests(t *testing.T) {
	url, conns := serveRaw(t, always(withLength(streamHead), false))
	c := newClient(t, Spec{}, url)
	for range 20 {
		events, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "text", textOf(events), "Hello!")
	}
	equal(t, "connections", conns.Load(), int64(20))
}

// TestOpenedAndDead: also a connection that was opened ahead of the load, and
// that the server closes instead of answering its first request, is replaced,
// and not by another one that has waited as long.
func TestOpenedAndDead(t *testing.T) {
	var accepted atomic.Int64
	c := newDialing(t, Spec{URLs: []string{"http://pipe"}}, pipeTo(func(server net.Conn) {
		if accepted.Add(1) > 3 {
			converse(server, 0, always(withLength(streamHead), true))
			return
		}
		_, _ = server.Read(make([]byte, 1))
	}))
	must.Do(t, c.Open(t.Context(), 3))
	events, fault := plainly(t, c, requestOf(true), nil)
	equal(t, "fault", fault, (*llm.Fault)(nil))
	equal(t, "kinds", kinds(events), append([]llm.EventKind{llm.Ready, llm.Sent, llm.Reconnect}, greetingOnNew...))
}

// TestCancel: a request that is cancelled ends at once, whatever it waits for,
// and its connection is closed rather than kept.
func TestCancel(t *testing.T) {
	for _, tc := range []struct {
		name  string
		sends string
		at    llm.EventKind
		then  llm.Outcome
	}{
		{"before the head", "", llm.Written, llm.Cancelled},
		{"before the first event", streamHead + "\r\n", llm.Head, llm.Cancelled},
		{"in mid stream", streamHead + "\r\n" + hello, llm.Output, llm.Cancelled},
		{"before the body's end", chunkedHead + inChunks(greeting)[:len(inChunks(greeting))-5], llm.End, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{})
			url, _ := serveRaw(t, func(c net.Conn, conn, _ int) bool {
				if conn > 0 {
					return always(withLength(streamHead), true)(c, 0, 0)
				}
				_, _ = io.WriteString(c, tc.sends)
				_, _ = c.Read(make([]byte, 1))
				close(gone)
				return false
			})
			c := newClient(t, Spec{}, url)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, fault := collect(t, ctx, c, requestOf(true), func(ev llm.Event) {
				if ev.Kind == tc.at {
					cancel()
				}
			})
			if fault == nil {
				fault = &llm.Fault{}
			}
			equal(t, "outcome", fault.Outcome, tc.then)
			<-gone
			events, fault := plainly(t, c, requestOf(true), nil)
			equal(t, "fault of the next request", fault, (*llm.Fault)(nil))
			equal(t, "kinds of the next request", kinds(events), greetingOnNew)
		})
	}
}

// TestAbandoned: a consumer that stops listening at any event gets no other,
// and the client goes on with the next request.
func TestAbandoned(t *testing.T) {
	c := newClient(t, Spec{}, serve(t, hails))
	for _, last := range greetingOnNew[1:] {
		for ev, err := range c.Stream(t.Context(), requestOf(true)) {
			must.Do(t, err)
			if ev.Kind == last {
				break
			}
		}
		events, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "text", textOf(events), "Hello!")
	}
}

func TestAbandonedFault(t *testing.T) {
	c := newClient(t, Spec{}, "http://127.0.0.1:1")
	for range c.Stream(t.Context(), requestOf(true)) {
		break
	}
}

func TestUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l := must.Get(net.Listen("unix", socket))(t)
	s := &http.Server{Handler: http.HandlerFunc(hails)}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	c := newClient(t, Spec{}, "unix:"+socket)
	for _, want := range [][]llm.EventKind{greetingOnNew, greetingOnKept} {
		events, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "kinds", kinds(events), want)
	}
	equal(t, "URL", c.URL(), "unix:"+socket)
	equal(t, "local", c.Local(), true)
}

func TestSeveralServersInTurn(t *testing.T) {
	var counts [3]atomic.Int64
	var urls []string
	for i := range counts {
		urls = append(urls, serve(t, func(w http.ResponseWriter, r *http.Request) {
			counts[i].Add(1)
			hails(w, r)
		}))
	}
	c := newClient(t, Spec{}, urls...)
	must.Do(t, c.Open(t.Context(), 3))
	for range 6 {
		events, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "kinds", kinds(events), greetingOnKept)
	}
	for i := range counts {
		equal(t, "requests to one server", counts[i].Load(), int64(2))
	}
}

func TestClosedClientKeepsNothing(t *testing.T) {
	c := newClient(t, Spec{}, serve(t, hails))
	c.Close()
	for range 2 {
		events, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "kinds", kinds(events), greetingOnNew)
	}
}

// TestKernelStamps: over TCP every read is stamped by the kernel, once it has
// begun to stamp at all, also on connections that open later.
func TestKernelStamps(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells when bytes arrived")
	}
	url, _ := serveRaw(t, always(withLength(streamHead), false))
	c := newClient(t, Spec{}, url)
	counts := func() (kernel, user int64) {
		if _, fault := plainly(t, c, requestOf(true), nil); fault != nil {
			t.Fatal(fault)
		}
		return c.Timestamps()
	}
	var before, byClock int64
	for range 1000 {
		if before, byClock = counts(); before > 0 {
			break
		}
	}
	for range 20 {
		counts()
	}
	if kernel, user := c.Timestamps(); kernel-before < 20 || user != byClock {
		t.Errorf("%d reads stamped by the kernel and %d by the clock, want at least 20 and none", kernel-before, user-byClock)
	}
}

// TestNoKernelStamps: a client that is to do without them stamps every read by
// the clock, with a reader of its own and without.
func TestNoKernelStamps(t *testing.T) {
	url, _ := serveRaw(t, always(withLength(streamHead), false))
	c := newClient(t, Spec{NoKernelStamps: true}, url)
	for range 20 {
		if _, fault := plainly(t, c, requestOf(true), nil); fault != nil {
			t.Fatal(fault)
		}
	}
	if kernel, user := c.Timestamps(); kernel != 0 || user < 20 {
		t.Errorf("%d reads stamped by the kernel and %d by the clock, want none and at least 20", kernel, user)
	}
}
