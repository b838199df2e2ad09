package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"redline/internal/clock"
	"redline/internal/llm"
)

// adopted gives both ends of a connection whose near end has a reader.
func adopted(t *testing.T) (near *socket, far net.Conn) {
	t.Helper()
	c := &Client{clock: clock.New()}
	c.readers.wanted = true
	return connected(t, c)
}

// connected is adopted for the reader of a client.
func connected(t *testing.T, c *Client) (near *socket, far net.Conn) {
	t.Helper()
	dialed, far := pair(t)
	near, ok := c.adopt(dialed).(*socket)
	if !ok {
		t.Fatal("the connection was not adopted")
	}
	t.Cleanup(func() {
		near.Close()
		c.readers.close()
	})
	return near, far
}

// pair gives both ends of a TCP connection.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

// TestSocketWaits: what ends a read that waits, and with which error.
func TestSocketWaits(t *testing.T) {
	for _, tc := range []struct {
		name string
		ends func(near *socket, far net.Conn)
		want error
	}{
		{"bytes", func(_ *socket, far net.Conn) { io.WriteString(far, "x") }, nil},
		{"the peer's end", func(_ *socket, far net.Conn) { far.Close() }, io.EOF},
		{"a close", func(near *socket, _ net.Conn) { near.Close() }, net.ErrClosed},
		{"a deadline", func(near *socket, _ net.Conn) { near.SetDeadline(time.Now().Add(time.Millisecond)) }, os.ErrDeadlineExceeded},
		{"a deadline that has passed", func(near *socket, _ net.Conn) { near.SetDeadline(time.Now().Add(-time.Second)) }, os.ErrDeadlineExceeded},
	} {
		near, far := adopted(t)
		got := make(chan error)
		go func() {
			_, err := near.Read(make([]byte, 8))
			got <- err
		}()
		for waits := false; !waits; {
			near.mu.Lock()
			waits = near.wait == readiness
			near.mu.Unlock()
			runtime.Gosched()
		}
		tc.ends(near, far)
		if err := <-got; !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
}

// TestDeadlineIsLifted: one that was put off or lifted ends nothing, and after
// one that has passed nothing works until it is lifted.
func TestDeadlineIsLifted(t *testing.T) {
	near, far := adopted(t)
	near.SetDeadline(time.Now().Add(time.Millisecond))
	near.SetDeadline(time.Now().Add(time.Hour))
	near.SetDeadline(time.Time{})
	time.Sleep(5 * time.Millisecond)
	io.WriteString(far, "x")
	if _, err := near.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	near.SetDeadline(time.Now().Add(-1))
	if _, err := near.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a write after the deadline: %v", err)
	}
	near.SetDeadline(time.Time{})
	if _, err := near.Write([]byte("x")); err != nil {
		t.Error(err)
	}
}

// TestWriteWaitsForRoom: more than the connection takes at once arrives whole.
func TestWriteWaitsForRoom(t *testing.T) {
	near, far := adopted(t)
	const size = 8 << 20
	sent := make(chan error)
	go func() {
		n, err := near.Write(make([]byte, size))
		if n != size && err == nil {
			err = fmt.Errorf("%d bytes written", n)
		}
		sent <- err
	}()
	time.Sleep(10 * time.Millisecond) // until it is full
	if n, err := io.CopyN(io.Discard, far, size); err != nil {
		t.Errorf("%d bytes arrived: %v", n, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// TestFollowedStreamEnds: what ends a stream that a reader follows, and what
// becomes of the request and of the descriptor.
func TestFollowedStreamEnds(t *testing.T) {
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
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
		c, err := New(Spec{URLs: []string{url}, Timeouts: Timeouts{Idle: tc.idle}}, Options{Clock: clock.New()})
		if err != nil {
			t.Fatal(err)
		}
		events, fault := collect(t, ctx, c, asking(true), func(ev llm.Event) {
			if ev.Kind == llm.Output && string(ev.Text) == "Hello" {
				close(begun)
			} else if ev.Kind == llm.Output {
				close(read)
			}
		})
		cancel()
		c.Close()
		if fault == nil || fault.Outcome != tc.want || said(events) != "Hello!" {
			t.Errorf("%s: %v after %q, want %s after all", tc.name, fault, said(events), tc.want)
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

// TestReaderTakesTurns: a socket that has much to read does not keep the reader
// from another that becomes ready meanwhile.
func TestReaderTakesTurns(t *testing.T) {
	c := &Client{clock: clock.New()}
	c.readers.wanted = true
	busy, sender := connected(t, c)
	other, bell := connected(t, c)
	const size = 32 * readBuffer
	if _, err := sender.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	followed := func(s *socket, each func(n int) (more bool)) error {
		raw := newStamper(s, c.clock, &c.stamps)
		fresh := &conn{Conn: raw, raw: raw}
		_, err := fresh.follow(func() bool {
			n := fresh.tail - fresh.head
			fresh.head = fresh.tail
			return each(n)
		})
		return err
	}
	read, meanwhile := 0, size // the reader alone writes them while it follows both
	heard := make(chan error, 1)
	go func() {
		heard <- followed(other, func(int) bool { meanwhile = read; return false })
	}()
	for waits := false; !waits; runtime.Gosched() {
		other.mu.Lock()
		waits = other.wait == following
		other.mu.Unlock()
	}
	turns := 0
	err := followed(busy, func(n int) bool {
		if turns++; turns == readsPerTurn+1 {
			_, _ = bell.Write([]byte{1})
		}
		read += n
		return read < size
	})
	if err := errors.Join(err, <-heard); err != nil {
		t.Fatal(err)
	}
	if meanwhile >= size {
		t.Errorf("the other was heard after %d of %d bytes, want it heard before all are read", meanwhile, size)
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
				_, fault := collect(t, ctx, c, asking(true), nil)
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

// TestGather: when a reader rests. A step is one account of reads that are so
// far apart on their streams, so many of which brought a further event.
func TestGather(t *testing.T) {
	type step struct {
		gap    time.Duration
		merged int
		took   time.Duration
		want   time.Duration
	}
	const dense, sparse = 50 * time.Millisecond, 5 * time.Second
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"wide gaps", []step{{20 * time.Millisecond, 0, dense, rests[0]}, {20 * time.Millisecond, 0, dense, rests[0]}}},
		{"few tokens", []step{{20 * time.Millisecond, 0, sparse, 0}}},
		{"middling gaps", []step{{300 * time.Microsecond, 0, dense, rests[1]}}},
		{"short gaps", []step{{50 * time.Microsecond, 0, dense, 0}}},
		{"a server that sends two at a time", []step{{20 * time.Millisecond, account, dense, rests[0]}, {20 * time.Millisecond, account, dense, rests[0]}}},
		{"harm", []step{{20 * time.Millisecond, 0, dense, rests[0]}, {20 * time.Millisecond, account / 100, dense, 0},
			{20 * time.Millisecond, 0, dense, 0}, {20 * time.Millisecond, 0, dense, rests[0]}}},
		{"what was there without it is no harm", []step{{20 * time.Millisecond, account / 100, dense, rests[0]},
			{20 * time.Millisecond, account / 100, dense, rests[0]}}},
	} {
		g := gather{accountStart: time.Now()}
		var chosen []string
		for _, s := range tc.steps {
			for i := range account - 1 {
				g.note(int64(s.gap), s.merged/account+boolInt(i < s.merged%account))
			}
			g.reads++
			g.choose(g.accountStart.Add(s.took))
			chosen = append(chosen, g.rest.String())
			if g.rest != s.want {
				t.Errorf("%s: rests %s, want %v at last", tc.name, strings.Join(chosen, ", "), s.want)
				break
			}
		}
	}
}

// TestBusyReaderIsSplit: readers that have too much to read hand streams to new
// ones, up to the most there may be, and every byte is read once, in order.
func TestBusyReaderIsSplit(t *testing.T) {
	readers, reads := maxReaders, busiest
	maxReaders, busiest = 4, 1
	defer func() { maxReaders, busiest = readers, reads }()
	c := &Client{clock: clock.New()}
	c.readers.wanted = true
	var ended sync.WaitGroup
	for range 8 {
		near, far := connected(t, c)
		var next byte
		left := 8 * account
		ended.Go(func() {
			err := near.follow(func(fd uintptr, _ bool, g *gather) (progress, error) {
				var b [1]byte
				n, err := unix.Read(int(fd), b[:])
				switch {
				case err == unix.EAGAIN:
					return drained, nil
				case err != nil || n != 1 || b[0] != next:
					return noMore, fmt.Errorf("%d bytes, %d, for %d; %v", n, b[0], next, err)
				}
				next++
				if g != nil {
					g.note(0, 0)
				}
				if left--; left == 0 {
					return noMore, nil
				}
				return unread, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		go func() {
			all := make([]byte, 8*account)
			for i := range all {
				all[i] = byte(i)
			}
			_, _ = far.Write(all)
		}()
	}
	ended.Wait()
	c.readers.mu.Lock()
	defer c.readers.mu.Unlock()
	users := 0
	for _, one := range c.readers.list {
		users += one.users
	}
	if len(c.readers.list) != 4 || users != 8 {
		t.Errorf("%d readers with %d sockets, want 4 with 8", len(c.readers.list), users)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
