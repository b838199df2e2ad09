package socket

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"redline/internal/clock"
)

// Dialer asks the kernel, before connecting, to stamp what arrives.
func Dialer() *net.Dialer {
	return &net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(wantStamps)
	}}
}

// wantStamps asks for stamps on a socket. Where the kernel refuses, reads are
// stamped by the clock.
func wantStamps(fd uintptr) {
	_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

// holdStamps keeps the kernel stamping until it is closed. The kernel begins
// only some moments after the first socket wants stamps and ends with the last
// one, so that without this socket the first reads, and those after every gap
// between connections, would have none.
func holdStamps() io.Closer {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return io.NopCloser(nil)
	}
	wantStamps(uintptr(fd))
	return os.NewFile(uintptr(fd), "stamps")
}

// stamper is a connection whose reads know when their bytes arrived.
type stamper struct {
	net.Conn
	clock  *clock.Clock
	counts *Counts
	at     int64 // arrival of the newest byte of the last read
	reads  int64

	guessed bool // the last read was stamped by the clock

	raw   syscall.RawConn // nil where there is no socket beneath
	recv  func(fd uintptr) bool
	n     int
	errno syscall.Errno
	lent  []byte // what a lent read holds
	lend  bool   // the present read is one
	msg   unix.Msghdr
	iov   unix.Iovec
	oob   [stampSpace]byte
}

// stampSpace is the room for one stamp. No other control message is asked for,
// and a smaller connection is less cold memory for every token.
const stampSpace = 32

func newStamper(c net.Conn, k *clock.Clock, counts *Counts) *stamper {
	s := &stamper{Conn: c, clock: k, counts: counts}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return s
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return s
	}
	s.raw = raw
	// One method value for the life of the connection, so that a read
	// allocates nothing.
	s.recv = s.attempt
	return s
}

// attempt reads once, and reports false where there is nothing to read yet.
func (s *stamper) attempt(fd uintptr) bool {
	if s.lend && s.lent == nil {
		s.lent = buffers.Get().(*[readBuffer]byte)[:]
	}
	if s.lend {
		s.aim(s.lent)
	}
	for {
		s.n, s.errno = s.recvmsg(fd)
		if s.errno != unix.EINTR {
			break
		}
	}
	if s.errno == unix.EAGAIN && s.lend {
		s.giveBack()
	}
	return s.errno != unix.EAGAIN
}

func (s *stamper) aim(p []byte) {
	s.iov.Base = unsafe.SliceData(p)
	s.iov.SetLen(len(p))
}

// buffers are lent to connections while they hold something unread. A few of
// them serve any number of streams, and stay in the processor's cache.
var buffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}

// giveBack keeps no buffer that a long line has made larger.
func (s *stamper) giveBack() {
	if len(s.lent) == readBuffer {
		buffers.Put((*[readBuffer]byte)(s.lent))
	}
	s.lent, s.iov.Base = nil, nil
}

// lends reports whether reads can wait without a buffer.
func (s *stamper) lends() bool { return s.raw != nil }

// readLent reads into held, the buffer of the read before, if something has
// already arrived. Else it gives held back, waits, and reads into another. It
// gives the buffer that it read into.
func (s *stamper) readLent(held []byte) ([]byte, int, error) {
	s.lent, s.lend = held, true
	n, err := s.take()
	held, s.lent, s.lend = s.lent, nil, false
	if n == 0 && err == nil {
		err = io.EOF
	}
	return held, n, err
}

// readsPerTurn is after how many reads other sockets come first. A server that
// sends faster than it is read would else keep the reader to itself.
const readsPerTurn = 4

// handOver has the connection's reader follow it, where it has one.
func (c *Conn) handOver(each func() (more bool)) (more bool, err error, ok bool) {
	own, ok := c.raw.Conn.(*socket)
	if !ok {
		return true, nil, false
	}
	more = true
	err = own.follow(func(fd uintptr, all bool, g *gather) (progress, error) {
		for range readsPerTurn {
			before, merged := c.At, c.Merged
			n, full, err := c.attempt(fd)
			if n == 0 && err == errWait {
				return drained, nil
			}
			if err := c.noteRead(n, err); err != nil {
				return noMore, err
			}
			if more = each(); !more {
				return noMore, nil
			}
			// Where the clock stamps reads, a rest would make stamps late.
			if g != nil && !c.raw.guessed {
				g.note(c.At-before, c.Merged-merged)
			}
			// A read that left room has taken everything, as a rule: what
			// comes later is another event.
			if !full && !all {
				c.lendBack()
				return drained, nil
			}
		}
		c.lendBack()
		return unread, nil
	})
	return more, err, true
}

// errWait means that nothing has arrived.
var errWait = errors.New("nothing has arrived")

// attempt reads once without waiting; it gives errWait where nothing has
// arrived. full says that there may be more.
func (c *Conn) attempt(fd uintptr) (n int, full bool, err error) {
	if c.head == c.tail {
		c.head, c.tail = 0, 0
	}
	s := c.raw
	s.lend = c.tail == 0
	if s.lend {
		s.lent = c.buf
	} else {
		c.makeRoom()
		s.aim(c.buf[c.tail:])
	}
	waits := !s.attempt(fd)
	if s.lend {
		c.buf, s.lent, s.lend = s.lent, nil, false
	}
	s.iov.Base = nil
	if waits {
		return 0, false, errWait
	}
	room := len(c.buf) - c.tail
	if n, err = s.finishAttempt(); n == 0 && err == nil {
		err = io.EOF
	}
	return n, n == room, err
}

// lendBack returns the buffer if everything in it has been read.
func (c *Conn) lendBack() {
	if c.head == c.tail {
		c.head, c.tail = 0, 0
		c.raw.lent = c.buf
		c.raw.giveBack()
		c.buf = nil
	}
}

// recvmsg reads into iov and oob. It makes the system call itself because the
// ready-made one also asks for the sender's address, which costs an allocation
// for every read. The call never waits, so Go's scheduler need not know of it,
// which would cost a twentieth of a token.
func (s *stamper) recvmsg(fd uintptr) (int, syscall.Errno) {
	s.msg = unix.Msghdr{Iov: &s.iov, Control: &s.oob[0]}
	s.msg.SetIovlen(1)
	s.msg.SetControllen(len(s.oob))
	n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&s.msg)), unix.MSG_DONTWAIT)
	return int(n), errno
}

// Read takes what has arrived and notes when its newest byte did.
func (s *stamper) Read(p []byte) (int, error) {
	if s.raw == nil {
		n, err := s.Conn.Read(p)
		if n > 0 {
			s.stampByClock()
		}
		return n, err
	}
	s.aim(p)
	n, err := s.take()
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// take reads into what iov aims at. It gives neither bytes nor an error at the
// connection's end.
func (s *stamper) take() (int, error) {
	err := s.raw.Read(s.recv)
	s.iov.Base = nil
	if err != nil {
		return 0, err
	}
	return s.finishAttempt()
}

// finishAttempt is what attempt has read, and stamps it.
func (s *stamper) finishAttempt() (int, error) {
	if s.errno != 0 {
		return 0, os.NewSyscallError("recvmsg", s.errno)
	}
	if s.n == 0 {
		return 0, nil
	}
	if unixNS, ok := stampIn(s.oob[:s.msg.Controllen]); ok && !s.counts.noKernel {
		at := s.clock.FromReal(unixNS)
		if s.guessed {
			// What was stamped after its read arrived before that, and so
			// may have what followed it.
			at = max(at, s.at)
		}
		if at < s.at || at-s.at > unusual && at > s.clock.Now() {
			// The real-time clock has stepped, and its anchor does not know yet.
			s.stampByClock()
			return s.n, nil
		}
		s.at, s.guessed = at, false
		s.reads++
		s.counts.Kernel.Add(1)
	} else {
		s.stampByClock()
	}
	return s.n, nil
}

// unusual is from how long a time between two reads it is asked whether the stamp
// lies in the future: tokens come sooner, and the question is not free.
const unusual = int64(100 * time.Millisecond)

func (s *stamper) stampByClock() {
	s.at, s.guessed = s.clock.Now(), true
	s.reads++
	s.counts.User.Add(1)
}

// stampIn finds the kernel's receive stamp among control messages.
func stampIn(oob []byte) (unixNS int64, ok bool) {
	header := unix.CmsgLen(0)
	for len(oob) >= header+16 {
		length := int(binary.NativeEndian.Uint64(oob))
		level := int32(binary.NativeEndian.Uint32(oob[8:]))
		kind := int32(binary.NativeEndian.Uint32(oob[12:]))
		if level == unix.SOL_SOCKET && kind == unix.SCM_TIMESTAMPNS {
			sec := int64(binary.NativeEndian.Uint64(oob[header:]))
			nsec := int64(binary.NativeEndian.Uint64(oob[header+8:]))
			return sec*1e9 + nsec, true
		}
		step := unix.CmsgSpace(length - header)
		if length < header || step > len(oob) {
			break
		}
		oob = oob[step:]
	}
	return 0, false
}

// peekIdle looks at a connection on which nothing is asked. A server that says
// something and closes only says goodbye.
func (s *stamper) peekIdle(secure bool) idleState {
	if s.raw == nil {
		return silent
	}
	interest := int16(unix.POLLRDHUP)
	if !secure {
		interest |= unix.POLLIN
	}
	found := hungUp
	err := s.raw.Control(func(fd uintptr) {
		polled := []unix.PollFd{{Fd: int32(fd), Events: interest}}
		ready, err := unix.Poll(polled, 0)
		for err == unix.EINTR { // by the runtime's own signals, though it waits for nothing
			ready, err = unix.Poll(polled, 0)
		}
		switch {
		case err == nil && ready == 0:
			found = silent
		case err == nil && polled[0].Revents == unix.POLLIN:
			found = spoke
		}
	})
	if err != nil {
		return hungUp
	}
	return found
}
