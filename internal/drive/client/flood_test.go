package client

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/internal/llm"
)

// floodEnd is when a server stops to send faster than it is read: a client that
// is held up by it finds a cut stream then, and the test fails.
const floodEnd = 10 * time.Second

func flood(c net.Conn) bool {
	block := bytes.Repeat([]byte(chunk(strings.Repeat(hello, 1000))), 16)
	_, err := io.WriteString(c, chunkedHead+chunk(hello))
	for end := time.Now().Add(floodEnd); err == nil && time.Now().Before(end); {
		_, err = c.Write(block)
	}
	return false
}

// TestFloodIsTimedOut: a server that sends faster than anybody can read does
// not outlast the limit of its request.
func TestFloodIsTimedOut(t *testing.T) {
	url, _ := serveRaw(t, func(c net.Conn, _, _ int) bool { return flood(c) })
	c := newClient(t, Spec{Timeouts: Timeouts{Total: 100 * time.Millisecond}}, url)
	for range 3 {
		for fault := range floods(t, t.Context(), c, 1) {
			if fault.Outcome != llm.Timeout {
				t.Errorf("%v, want a timeout", fault)
			}
		}
	}
}

// TestFloodHoldsUpNobody: beside floods another stream goes on to its end, and
// they can be cancelled.
func TestFloodHoldsUpNobody(t *testing.T) {
	const streams = 2
	url, _ := serveRaw(t, func(c net.Conn, n, _ int) bool {
		if n < streams {
			return flood(c)
		}
		_, err := io.WriteString(c, chunkedHead)
		for i := 0; err == nil && i < 20; i++ {
			time.Sleep(time.Millisecond)
			_, err = io.WriteString(c, chunk(hello))
		}
		_, err = io.WriteString(c, chunk(done)+"0\r\n\r\n")
		return err == nil
	})
	c := newClient(t, Spec{}, url)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	faults := floods(t, ctx, c, streams)
	events, fault := collect(t, t.Context(), c, requestOf(true), nil)
	if fault != nil || textOf(events) != strings.Repeat("Hello", 20) {
		t.Errorf("beside floods: %v after %q", fault, textOf(events))
	}
	cancel()
	for fault := range faults {
		if fault.Outcome != llm.Cancelled {
			t.Errorf("%v, want cancelled", fault)
		}
	}
}

// TestReplyWithoutEnd: what a reply may come to is bounded, however long it may
// take.
func TestReplyWithoutEnd(t *testing.T) {
	event := []byte(chunk(strings.Replace(hello, "Hello", strings.Repeat("x", 1<<20), 1)))
	url, _ := serveRaw(t, func(c net.Conn, _, _ int) bool {
		_, err := io.WriteString(c, chunkedHead)
		for i := 0; err == nil && i < 2*maxOutput>>20; i++ {
			_, err = c.Write(event)
		}
		return false
	})
	c := newClient(t, Spec{}, url)
	size := 0
	events, fault := collect(t, t.Context(), c, requestOf(true), func(ev llm.Event) { size += len(ev.Text) })
	if fault == nil || fault.Outcome != llm.Malformed || size > maxOutput {
		t.Errorf("%v after %d events of %d bytes, want the reply refused at %d", fault, len(events), size, maxOutput)
	}
}

// TestTraceHoldsUpNobody: whoever writes a trace down may be slow; other streams
// do not wait for that.
func TestTraceHoldsUpNobody(t *testing.T) {
	url, _ := serveRaw(t, func(c net.Conn, n, _ int) bool {
		_, err := io.WriteString(c, chunkedHead+chunk(hello))
		time.Sleep(5 * time.Millisecond) // until it is followed
		if err == nil {
			_, err = io.WriteString(c, chunk(bang)+chunk(done)+"0\r\n\r\n")
		}
		return err == nil
	})
	c := newClient(t, Spec{}, url)
	slow := &slowWriter{at: "!", reached: make(chan struct{}), release: make(chan struct{})}
	c.TraceNext(slow)
	traced := make(chan *llm.Fault)
	go func() {
		_, fault := collect(t, t.Context(), c, requestOf(true), nil)
		traced <- fault
	}()
	<-slow.reached
	ctx, cancel := context.WithTimeout(t.Context(), floodEnd)
	defer cancel()
	if _, fault := collect(t, ctx, c, requestOf(true), nil); fault != nil {
		t.Errorf("beside a trace: %v", fault)
	}
	close(slow.release)
	if fault := <-traced; fault != nil {
		t.Errorf("traced: %v", fault)
	}
}

// slowWriter takes the bytes that hold at only once it is released.
type slowWriter struct {
	at               string
	reached, release chan struct{}
	once             sync.Once
}

func (w *slowWriter) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(w.at)) {
		w.once.Do(func() { close(w.reached) })
		<-w.release
	}
	return len(b), nil
}

// floods drives n requests whose output has begun by its return, and gives how
// they end.
func floods(t *testing.T, ctx context.Context, c *Client, n int) <-chan *llm.Fault {
	t.Helper()
	faults := make(chan *llm.Fault, n)
	var begun, ended sync.WaitGroup
	begun.Add(n)
	for range n {
		ended.Go(func() {
			var once sync.Once
			defer once.Do(begun.Done)
			for ev, err := range c.Stream(ctx, requestOf(true)) {
				if ev.Kind == llm.Output {
					once.Do(begun.Done)
				}
				if err != nil {
					faults <- err.(*llm.Fault)
				}
			}
		})
	}
	begun.Wait()
	go func() {
		ended.Wait()
		close(faults)
	}()
	return faults
}
