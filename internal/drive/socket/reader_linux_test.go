package socket

import (
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
	"redline/internal/expect"
	"redline/internal/must"
)

// adoptPair gives both ends of a connection whose near end has a reader.
func adoptPair(t *testing.T) (near *socket, far net.Conn) {
	t.Helper()
	return connectPair(t, NewSet(clock.New(), true, true))
}

// connectPair is adopted for the readers of a set.
func connectPair(t *testing.T, set *Set) (near *socket, far net.Conn) {
	t.Helper()
	dialed, far := pair(t)
	near, ok := set.adopt(dialed).(*socket)
	if !ok {
		t.Fatal("the connection was not adopted")
	}
	t.Cleanup(func() {
		near.Close()
		set.Close()
	})
	return near, far
}

// pair gives both ends of a TCP connection.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	near = must.Get(net.Dial("tcp", l.Addr().String()))(t)
	far = must.Get(l.Accept())(t)
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
		near, far := adoptPair(t)
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
	near, far := adoptPair(t)
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
	near, far := adoptPair(t)
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
	expect.OK(t, <-sent)
}

// TestReaderTakesTurns: a socket that has much to read does not keep the reader
// from another that becomes ready meanwhile.
func TestReaderTakesTurns(t *testing.T) {
	set := NewSet(clock.New(), true, true)
	busy, sender := connectPair(t, set)
	other, bell := connectPair(t, set)
	const size = 32 * readBuffer
	must.Get(sender.Write(make([]byte, size)))(t)
	followed := func(s *socket, each func(n int) (more bool)) error {
		fresh := set.Conn(s, true)
		_, err := fresh.Follow(func() bool {
			n := len(fresh.Unread())
			fresh.Skip(n)
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
	must.Do(t, errors.Join(err, <-heard))
	if meanwhile >= size {
		t.Errorf("the other was heard after %d of %d bytes, want it heard before all are read", meanwhile, size)
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
	set := NewSet(clock.New(), true, true)
	var ended sync.WaitGroup
	for range 8 {
		near, far := connectPair(t, set)
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
			expect.OK(t, err)
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
	set.readers.mu.Lock()
	defer set.readers.mu.Unlock()
	users := 0
	for _, one := range set.readers.list {
		users += one.users
	}
	if len(set.readers.list) != 4 || users != 8 {
		t.Errorf("%d readers with %d sockets, want 4 with 8", len(set.readers.list), users)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
