//go:build unix

package live

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// prepare does nothing: terminals act on the sequences of a screen.
func prepare(*os.File) error { return nil }

// Foreground reports whether the process may draw on a terminal: a shell that
// has it in the background prompts there. Whose terminal it is may be unknown, as
// in a container.
func Foreground(out *os.File) bool {
	group, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCGPGRP)
	return err != nil || group == 0 || group == unix.Getpgrp()
}

// listen lets keys be read as they are typed. A read takes what is there and
// does not wait, so that no goroutine has to.
func listen(in *os.File) (keys func() []byte, restore func(), err error) {
	fd := int(in.Fd())
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
		return nil, nil, errors.New("in the background")
	}
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, nil, err
	}
	now := *before
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 0, 0
	now.Cc[unix.VSUSP] = noSignal // a load that is suspended measures nothing
	if err := unix.IoctlSetTermios(fd, setTermios, &now); err != nil {
		return nil, nil, err
	}
	keys = func() []byte {
		// Asked first: somebody else may have made reads wait again.
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); n <= 0 || err != nil {
			return nil
		}
		typed := make([]byte, 64)
		n, _ := unix.Read(fd, typed)
		return typed[:max(n, 0)]
	}
	restore = func() {
		signal.Ignore(syscall.SIGTTOU) // from the background too
		_ = unix.IoctlSetTermios(fd, setTermios, before)
	}
	return keys, restore, nil
}
