package socket

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"redline/internal/clock"
	"redline/internal/must"
)

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
		pair := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0))(t)
		near, far := connOf(t, pair[0]), connOf(t, pair[1])
		must.Do(t, tc.does(far))
		s := newStamper(near, clock.New(), new(Counts))
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
	c := must.Get(net.FileConn(f))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestAWaitHoldsNoBuffer: what the read before it held is given back.
func TestAWaitHoldsNoBuffer(t *testing.T) {
	dialed, _ := pair(t)
	s := newStamper(dialed, clock.New(), new(Counts))
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
	s := newStamper(dialed, clock.New(), new(Counts))
	if s.raw == nil {
		t.Fatal("no socket beneath a TCP connection")
	}
	if s.quickestTrip() <= 0 {
		t.Error("the kernel has no round trip of an open connection")
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
