package client

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"redline/internal/clock"
)

// stampingDialer asks the kernel, before connecting, to stamp what arrives.
func stampingDialer() *net.Dialer {
	return &net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			// Where the kernel refuses, reads are stamped by the clock.
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		})
	}}
}

// stamper is a connection whose reads know when their bytes arrived.
type stamper struct {
	net.Conn
	clock  *clock.Clock
	counts *stampCounts
	at     int64 // arrival of the newest byte of the last read
	reads  int64

	raw  syscall.RawConn // nil where there is no socket beneath
	recv func(fd uintptr) bool
	p    []byte
	oob  [64]byte
	n    int
	oobn int
	err  error
}

func newStamper(c net.Conn, k *clock.Clock, counts *stampCounts) *stamper {
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
	// One closure for the life of the connection, so that a read allocates
	// nothing.
	s.recv = func(fd uintptr) bool {
		for {
			s.n, s.oobn, _, _, s.err = unix.Recvmsg(int(fd), s.p, s.oob[:], 0)
			if s.err != unix.EINTR {
				return s.err != unix.EAGAIN
			}
		}
	}
	return s
}

// Read takes what has arrived and notes when its newest byte did.
func (s *stamper) Read(p []byte) (int, error) {
	if s.raw == nil {
		n, err := s.Conn.Read(p)
		s.stampByClock()
		return n, err
	}
	s.p = p
	err := s.raw.Read(s.recv)
	s.p = nil
	if err == nil && s.err != nil {
		err = os.NewSyscallError("recvmsg", s.err)
	}
	if err != nil {
		return 0, err
	}
	if s.n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	if unixNS, ok := stampIn(s.oob[:s.oobn]); ok {
		s.at = s.clock.FromReal(unixNS)
		s.reads++
		s.counts.kernel.Add(1)
	} else {
		s.stampByClock()
	}
	return s.n, nil
}

func (s *stamper) stampByClock() {
	s.at = s.clock.Now()
	s.reads++
	s.counts.user.Add(1)
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

// alive reports whether an idle connection can still be written to: neither
// closed by the server nor holding bytes that nobody asked for.
func (s *stamper) alive() bool {
	if s.raw == nil {
		return true
	}
	ok := false
	err := s.raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		ok = err == unix.EAGAIN
		return true
	})
	return err == nil && ok
}
