package socket

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket is a TCP connection that Go's runtime knows nothing of: a reader waits
// for it among many others, so that a token wakes no goroutine. One goroutine
// uses it at a time; Close may come from any.
type socket struct {
	reader *reader
	local  net.Addr
	remote net.Addr
	woken  chan struct{} // has room for one

	mu    sync.Mutex
	fd    int // -1 once it is closed
	wait  wait
	each  arrival
	err   error // how what waited ended
	late  bool  // its deadline has passed
	until time.Time
	alarm *time.Timer
}

// arrival reads what has arrived, but not without end: the socket's lock is
// held meanwhile, and other sockets wait. All says to continue until nothing is
// left; g, where there is one, is told what came.
type arrival func(fd uintptr, all bool, g *gather) (progress, error)

// progress is how far an arrival came.
type progress uint8

const (
	drained progress = iota // everything that has arrived is read
	unread                  // there may be more
	noMore                  // nothing more is wanted
)

// wait is what somebody waits for on a socket.
type wait uint8

const (
	nothing   wait = iota
	readiness      // to try again
	following      // that each is over
)

// adopt takes a connection out of the runtime's hands. It gives the connection
// itself where that cannot be.
func (s *Set) adopt(dialed net.Conn) net.Conn {
	tcp, ok := dialed.(*net.TCPConn)
	if !ok || !s.readers.wanted {
		return dialed
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return dialed
	}
	fd := -1
	_ = raw.Control(func(old uintptr) {
		if fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			wantStamps(uintptr(fd))
		}
	})
	if fd < 0 || err != nil {
		return dialed
	}
	own := &socket{local: tcp.LocalAddr(), remote: tcp.RemoteAddr(), woken: make(chan struct{}, 1), fd: fd}
	if s.readers.take(own) != nil {
		_ = unix.Close(fd)
		return dialed
	}
	_ = tcp.Close() // the runtime forgets the socket, for what arrives would wake both
	return own
}

// ready is called by the reader when something has happened to the socket. It
// reports whether a goroutine was woken.
func (s *socket) ready(all bool, g *gather) (woke bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.wait {
	case readiness:
		s.end(nil)
		return true
	case following:
		if done, err := s.arrive(all, g); done {
			s.end(err)
			return true
		}
	}
	return false
}

// move gives the socket to another reader. What has arrived meanwhile is told
// to that one.
func (s *socket) move(from, to *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 || s.reader != from || to.add(s) != nil {
		return
	}
	s.reader = to
	from.forget(s.fd)
	_ = unix.EpollCtl(from.poll, unix.EPOLL_CTL_DEL, s.fd, nil)
	s.reader.all.move(from, to)
}

// arrive calls each, and has the reader come back where it left something. The
// lock is held.
func (s *socket) arrive(all bool, g *gather) (done bool, err error) {
	came, err := s.each(uintptr(s.fd), all, g)
	if came == unread {
		err = s.reader.watch(unix.EPOLL_CTL_MOD, s.fd) // after the others that are ready
	}
	return came == noMore || err != nil, err
}

// end wakes who waits. The lock is held.
func (s *socket) end(err error) {
	s.wait, s.each, s.err = nothing, nil, err
	s.woken <- struct{}{}
}

// use calls f with the descriptor until it says that it is done, and waits
// between the calls for the socket to be ready.
func (s *socket) use(f func(fd uintptr) (done bool)) error {
	for {
		if done, err := s.try(f); done || err != nil {
			return err
		}
		<-s.woken
		if s.err != nil {
			return s.err
		}
	}
}

func (s *socket) try(f func(fd uintptr) bool) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unusable(); err != nil {
		return false, err
	}
	if f(uintptr(s.fd)) {
		return true, nil
	}
	s.wait = readiness
	return false, nil
}

// follow has the reader call each whenever something has arrived, until it is
// over. It is called at once too, for what is there already.
func (s *socket) follow(each arrival) error {
	s.mu.Lock()
	if err := s.unusable(); err != nil {
		s.mu.Unlock()
		return err
	}
	s.wait, s.each = following, each
	if done, err := s.arrive(true, nil); done {
		s.wait, s.each = nothing, nil
		s.mu.Unlock()
		return err
	}
	s.mu.Unlock()
	<-s.woken
	return s.err
}

// unusable says why the socket cannot be used. The lock is held.
func (s *socket) unusable() error {
	switch {
	case s.fd < 0:
		return net.ErrClosed
	case s.late:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Write sends a long request in pieces, because the reader cannot come to the
// socket while one is sent.
func (s *socket) Write(b []byte) (n int, err error) {
	const piece = 256 << 10
	for {
		sent, err := s.write(b[n:min(len(b), n+piece)])
		if n += sent; err != nil || n == len(b) {
			return n, err
		}
	}
}

func (s *socket) write(b []byte) (n int, err error) {
	var errno syscall.Errno
	err = s.use(func(fd uintptr) bool {
		for n < len(b) {
			var wrote uintptr
			wrote, _, errno = unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&b[n])), uintptr(len(b)-n),
				unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
			switch errno {
			case 0:
				n += int(wrote)
			case unix.EINTR:
			default:
				return errno != unix.EAGAIN
			}
		}
		return true
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError("write", errno)
	}
	return n, err
}

func (s *socket) Read(b []byte) (n int, err error) {
	var failure error
	err = s.use(func(fd uintptr) bool {
		n, failure = unix.Read(int(fd), b)
		return failure != unix.EAGAIN
	})
	if err == nil {
		err = os.NewSyscallError("read", failure)
	}
	if n == 0 && err == nil && len(b) > 0 {
		err = io.EOF
	}
	return max(n, 0), err
}

// Close ends what waits with net.ErrClosed.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return net.ErrClosed
	}
	s.reader.forget(s.fd)
	s.reader.all.release(s.reader)
	err := os.NewSyscallError("close", unix.Close(s.fd))
	s.fd = -1
	if s.alarm != nil {
		s.alarm.Stop()
	}
	if s.wait != nothing {
		s.end(net.ErrClosed)
	}
	return err
}

func (s *socket) LocalAddr() net.Addr  { return s.local }
func (s *socket) RemoteAddr() net.Addr { return s.remote }

// SetDeadline bounds what waits now and later; the zero time lifts the bound.
func (s *socket) SetDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return net.ErrClosed
	}
	s.until, s.late = t, false
	switch left := time.Until(t); {
	case t.IsZero():
		if s.alarm != nil {
			s.alarm.Stop()
		}
	case left <= 0:
		s.expire()
	case s.alarm == nil:
		s.alarm = time.AfterFunc(left, s.ring)
	default:
		s.alarm.Reset(left)
	}
	return nil
}

// ring is the alarm's: one that was put off meanwhile means nothing.
func (s *socket) ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd >= 0 && !s.until.IsZero() && !time.Now().Before(s.until) {
		s.expire()
	}
}

func (s *socket) expire() {
	s.late = true
	if s.wait != nothing {
		s.end(os.ErrDeadlineExceeded)
	}
}

// SetReadDeadline is SetDeadline: nobody reads and writes at the same time.
func (s *socket) SetReadDeadline(t time.Time) error { return s.SetDeadline(t) }

// SetWriteDeadline is SetDeadline.
func (s *socket) SetWriteDeadline(t time.Time) error { return s.SetDeadline(t) }

// SyscallConn gives the descriptor to those who make system calls themselves.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return descriptor{s}, nil }

type descriptor struct{ s *socket }

func (d descriptor) Read(f func(fd uintptr) bool) error { return d.s.use(f) }

func (d descriptor) Write(f func(fd uintptr) bool) error { return d.s.use(f) }

func (d descriptor) Control(f func(fd uintptr)) error {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.s.fd < 0 {
		return net.ErrClosed
	}
	f(uintptr(d.s.fd))
	return nil
}
