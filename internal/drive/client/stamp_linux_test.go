package client

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"redline/internal/clock"
	"redline/internal/llm"
)

// useRuntime leaves connections to the runtime from now on. It reports whether
// they were not before; benchmarks and fuzzing are not done twice.
func useRuntime() bool {
	own := ownReaders
	ownReaders = false
	return own && flag.Lookup("test.bench").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == ""
}

// control frames one control message as the kernel does on 64-bit machines.
func control(level, kind int32, data ...int64) []byte {
	b := binary.NativeEndian.AppendUint64(nil, uint64(unix.CmsgLen(8*len(data))))
	b = binary.NativeEndian.AppendUint32(b, uint32(level))
	b = binary.NativeEndian.AppendUint32(b, uint32(kind))
	for _, d := range data {
		b = binary.NativeEndian.AppendUint64(b, uint64(d))
	}
	return b
}

func TestStampIn(t *testing.T) {
	stamped := control(unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS, 1700000000, 123456789)
	other := control(unix.SOL_IP, unix.IP_TTL, 64)
	for _, tc := range []struct {
		name string
		oob  []byte
		want int64
	}{
		{"nothing", nil, 0},
		{"a stamp", stamped, 1700000000123456789},
		{"a stamp behind another message", slices.Concat(other, stamped), 1700000000123456789},
		{"another message", other, 0},
		{"a stamp of another level", control(unix.SOL_IP, unix.SCM_TIMESTAMPNS, 1, 2), 0},
		{"a stamp cut short", stamped[:len(stamped)-1], 0},
		{"a length of nothing", make([]byte, 64), 0},
		{"a length beyond the end", slices.Concat(binary.NativeEndian.AppendUint64(nil, 1<<40), make([]byte, 56)), 0},
	} {
		got, ok := stampIn(tc.oob)
		if got != tc.want || ok != (tc.want != 0) {
			t.Errorf("%s: %d %v, want %d", tc.name, got, ok, tc.want)
		}
	}
}

// TestRest: what the server has done to a waiting connection, without and with
// TLS.
func TestRest(t *testing.T) {
	for _, tc := range []struct {
		name          string
		does          func(server net.Conn) error
		plain, secure idleState
	}{
		{"nothing", func(net.Conn) error { return nil }, silent, silent},
		{"spoke", func(c net.Conn) error { _, err := io.WriteString(c, "x"); return err }, spoke, silent},
		{"closed", net.Conn.Close, hungUp, hungUp},
		{"spoke and closed", func(c net.Conn) error { _, _ = io.WriteString(c, "x"); return c.Close() }, hungUp, hungUp},
	} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		near, far := connOf(t, pair[0]), connOf(t, pair[1])
		if err := tc.does(far); err != nil {
			t.Fatal(err)
		}
		s := newStamper(near, clock.New(), new(stampCounts))
		if plain, secure := s.peekIdle(false), s.peekIdle(true); plain != tc.plain || secure != tc.secure {
			t.Errorf("%s: %v, with TLS %v, want %v and %v", tc.name, plain, secure, tc.plain, tc.secure)
		}
	}
}

// connOf makes a connection of one end of a pair.
func connOf(t *testing.T, fd int) net.Conn {
	t.Helper()
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestUnaskedBytes: a waiting connection on which the server says something by
// itself is not used again.
func TestUnaskedBytes(t *testing.T) {
	seen := make(chan struct{})
	url, _ := serveRaw(t, func(c net.Conn, conn, _ int) bool {
		_, _ = io.WriteString(c, sized(streamHead))
		if conn == 0 {
			<-seen
			_, _ = io.WriteString(c, refusal("408 Request Timeout", "", ""))
		}
		return true
	})
	c := newClient(t, Spec{}, url)
	_, fault := plainly(t, c, asking(true), nil)
	equal(t, "fault", fault, (*llm.Fault)(nil))
	seen <- struct{}{}
	for c.endpoints[0].pool.waiting[0].state() == silent {
		runtime.Gosched()
	}
	equal(t, "unasked while it waits", c.UnsolicitedReads(), int64(1))
	events, fault := plainly(t, c, asking(true), nil)
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
			_, err := io.WriteString(c, sized(streamHead))
			return err == nil
		})
		c := newClient(t, Spec{}, url)
		if _, fault := plainly(t, c, asking(true), nil); fault != nil {
			t.Fatal(fault)
		}
		lied := false
		events, fault := plainly(t, c, asking(true), func(ev llm.Event) {
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
		equal(t, "text", said(events), "Hello!")
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
			events, _ := plainly(t, c, asking(true), nil)
			answers[i] = said(events)
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

// TestAWaitHoldsNoBuffer: what the read before it held is given back.
func TestAWaitHoldsNoBuffer(t *testing.T) {
	url, _ := serveRaw(t, func(net.Conn, int, int) bool { return true })
	dialed, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	s := newStamper(dialed, clock.New(), &stampCounts{})
	_ = dialed.SetReadDeadline(time.Now().Add(time.Millisecond))
	held, n, err := s.readLent(make([]byte, readBuffer))
	if held != nil || n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes held, %d read, %v; want none of either and the deadline", len(held), n, err)
	}
}

// TestRetransmitsAreRead: loopback loses nothing, so that the count is 0; what is asked is that the
// kernel answers at all, and that a closed connection is asked in time.
func TestRetransmitsAreRead(t *testing.T) {
	dialed, _ := pair(t)
	var counts stampCounts
	s := newStamper(dialed, clock.New(), &counts)
	if s.raw == nil {
		t.Fatal("no socket beneath a TCP connection")
	}
	if n := s.retransmits(); n != 0 {
		t.Errorf("%d segments were sent again on an idle loopback connection", n)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if n := s.retransmits(); n != 0 {
		t.Errorf("a closed connection still counts %d", n)
	}
}
