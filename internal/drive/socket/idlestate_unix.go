//go:build unix && !linux

package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// peekIdle looks at a connection on which nothing is asked, without taking
// anything from it.
func (s *stamper) peekIdle(secure bool) idleState {
	sc, ok := s.Conn.(syscall.Conn)
	if !ok {
		return silent
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return hungUp
	}
	found := silent
	var one [1]byte
	err = raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case n > 0 && !secure:
			found = spoke
		case n == 0 && err == nil:
			found = hungUp
		}
	})
	if err != nil {
		return hungUp
	}
	return found
}
