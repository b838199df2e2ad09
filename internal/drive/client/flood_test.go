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
	events, fault := collect(t, t.Context(), c, asking(true), nil)
	if fault != nil || said(events) != strings.Repeat("Hello", 20) {
		t.Errorf("beside floods: %v after %q", fault, said(events))
	}
	cancel()
	for fault := range faults {
		if fault.Outcome != llm.Cancelled {
			t.Errorf("%v, want cancelled", fault)
		}
	}
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
			for ev, err := range c.Stream(ctx, asking(true)) {
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
