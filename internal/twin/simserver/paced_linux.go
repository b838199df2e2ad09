package simserver

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const canWriteDirectly = true

// write never waits, so that Go's scheduler need not know of it.
func (d *direct) write(fd uintptr) {
	for len(d.unsent) > 0 {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&d.unsent[0])), uintptr(len(d.unsent)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			d.unsent = d.unsent[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			d.err = errno
			return
		}
	}
}
