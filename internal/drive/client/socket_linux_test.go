package client

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"redline/internal/clock"
	"redline/internal/llm"
	"redline/internal/must"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestUnaskedBytes: a waiting connection on which the server says something by
// itself is not used again.
func TestUnaskedBytes(t *testing.T) {
	seen := make(chan struct{})
	url, _ := serveRaw(t, func(c net.Conn, conn, _ int) bool {
		_, _ = io.WriteString(c, withLength(streamHead))
		if conn == 0 {
			<-seen
			_, _ = io.WriteString(c, refusal("408 Request Timeout", "", ""))
		}
		return true
	})
	c := newClient(t, Spec{}, url)
	_, fault := plainly(t, c, requestOf(true), nil)
	equal(t, "fault", fault, (*llm.Fault)(nil))
	seen <- struct{}{}
	for c.UnsolicitedReads() == 0 {
		runtime.Gosched()
	}
	events, fault := plainly(t, c, requestOf(true), nil)
	equal(t, "fault", fault, (*llm.Fault)(nil))
	equal(t, "kinds", kinds(events), greetingOnNew)
	equal(t, "unasked", c.UnsolicitedReads(), int64(1))
}

// TestAReplyThatCameTooEarlyIsNotTheAnswer: a server says something on a
// connection just as it is used again, before the request has left. The answer
// is the one on another connection.
func TestAReplyThatCameTooEarlyIsNotTheAnswer(t *testing.T) {
	const wrong = `data: {"choices":[{"delta":{"content":"wrong"}}]}` + "\n\n" + done
	lie := streamHead + "Content-Length: " + strconv.Itoa(len(wrong)) + "\r\n\r\n" + wrong
	for _, at := range []llm.EventKind{llm.Ready, llm.Sent} {
		var first atomic.Pointer[net.TCPConn]
		url, _ := serveRaw(t, func(c net.Conn, conn, request int) bool {
			if conn == 0 {
				first.Store(c.(*net.TCPConn))
			}
			if conn == 0 && request == 1 {
				return true // the lie was all it had to say
			}
			_, err := io.WriteString(c, withLength(streamHead))
			return err == nil
		})
		c := newClient(t, Spec{}, url)
		if _, fault := plainly(t, c, requestOf(true), nil); fault != nil {
			t.Fatal(fault)
		}
		lied := false
		events, fault := plainly(t, c, requestOf(true), func(ev llm.Event) {
			if ev.Kind != at || lied {
				return
			}
			lied = true
			if _, err := io.WriteString(first.Load(), lie); err != nil {
				t.Error(err)
			}
			// It has arrived for certain, and well before the request leaves.
			time.Sleep(5 * time.Millisecond)
		})
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "text", textOf(events), "Hello!")
		equal(t, "reconnected", has(events, llm.Reconnect), true)
		equal(t, "unasked", c.UnsolicitedReads(), int64(1))
	}
}

// TestStreamsThatBorrowDoNotMix: streams share buffers, and each is given its
// own words although its events come in pieces between which others are read.
func TestStreamsThatBorrowDoNotMix(t *testing.T) {
	const streams, words = 24, 40
	url, _ := serveRaw(t, func(c net.Conn, conn, _ int) bool {
		_, err := io.WriteString(c, chunkedHead)
		for i := range words {
			event := chunk(fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":"%d.%d "}}]}`+"\n\n", conn, i))
			// Each event is cut elsewhere: in the chunk's size, in the line,
			// in its end.
			for _, piece := range []string{event[:i%len(event)], event[i%len(event):]} {
				if err == nil && piece != "" {
					_, err = io.WriteString(c, piece)
				}
				runtime.Gosched()
			}
		}
		if err == nil {
			_, err = io.WriteString(c, inChunks(done))
		}
		return err == nil
	})
	c := newClient(t, Spec{}, url)
	answers := make([]string, streams)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			events, _ := plainly(t, c, requestOf(true), nil)
			answers[i] = textOf(events)
		})
	}
	all.Wait()
	for _, got := range answers {
		conn, _, _ := strings.Cut(got, ".")
		want := ""
		for i := range words {
			want += fmt.Sprintf("%s.%d ", conn, i)
		}
		equal(t, "answer on connection "+conn, got, want)
	}
}

// TestFollowedStreamEnds: what ends a stream that a reader follows, and what
// becomes of the request and of the descriptor.
func TestFollowedStreamEnds(t *testing.T) {
	open := func() int {
		list := must.Get(os.ReadDir("/proc/self/fd"))(t)
		return len(list)
	}
	for _, tc := range []struct {
		name string
		then func(c net.Conn, cancel func())
		idle time.Duration
		want llm.Outcome
	}{
		{"a close", func(c net.Conn, _ func()) { c.Close() }, 0, llm.Reset},
		{"a reset", func(c net.Conn, _ func()) { c.(*net.TCPConn).SetLinger(0); c.Close() }, 0, llm.Reset},
		{"silence", func(net.Conn, func()) {}, 2 * time.Second, llm.Timeout},
		{"the user", func(_ net.Conn, cancel func()) { cancel() }, 0, llm.Cancelled},
		{"junk", func(c net.Conn, _ func()) { io.WriteString(c, "no chunk\r\n") }, 0, llm.Malformed},
		{"the end of the body", func(c net.Conn, _ func()) { io.WriteString(c, "0\r\n\r\n") }, 0, llm.Truncated},
	} {
		before := open()
		ctx, cancel := context.WithCancel(t.Context())
		begun, read := make(chan struct{}), make(chan struct{})
		url, _ := serveRaw(t, func(c net.Conn, _, _ int) bool {
			io.WriteString(c, chunkedHead+chunk(hello))
			<-begun
			time.Sleep(2 * time.Millisecond) // until it is followed
			io.WriteString(c, chunk(bang))
			<-read
			tc.then(c, cancel)
			<-ctx.Done()
			return false
		})
		c := must.Get(New(Spec{URLs: []string{url}, Timeouts: Timeouts{Idle: tc.idle}}, Options{Clock: clock.New()}))(t)
		events, fault := collect(t, ctx, c, requestOf(true), func(ev llm.Event) {
			if ev.Kind == llm.Output && string(ev.Text) == "Hello" {
				close(begun)
			} else if ev.Kind == llm.Output {
				close(read)
			}
		})
		cancel()
		c.Close()
		if fault == nil || fault.Outcome != tc.want || textOf(events) != "Hello!" {
			t.Errorf("%s: %v after %q, want %s after all", tc.name, fault, textOf(events), tc.want)
		}
		for range 1000 {
			if open() <= before+2 { // the listener and its end may still be there
				break
			}
			time.Sleep(time.Millisecond)
		}
		if left := open() - before; left > 2 {
			t.Errorf("%s: %d descriptors are left", tc.name, left)
		}
	}
}

// TestManyStreamsCancelledAtOnce: a reader in full flow, and everybody leaves.
func TestManyStreamsCancelledAtOnce(t *testing.T) {
	event := []byte(chunk(hello))
	url, _ := serveRaw(t, func(c net.Conn, _, _ int) bool {
		_, err := io.WriteString(c, chunkedHead)
		for err == nil {
			_, err = c.Write(event)
			runtime.Gosched()
		}
		return false
	})
	c := newClient(t, Spec{}, url)
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				_, fault := collect(t, ctx, c, requestOf(true), nil)
				if fault == nil || fault.Outcome != llm.Cancelled {
					t.Errorf("%v, want cancelled", fault)
				}
			})
		}
		time.Sleep(10 * time.Millisecond)
		cancel()
		all.Wait()
	}
}
