//go:build unix

package sim

import "golang.org/x/sys/unix"

const canWriteDirectly = true

// write never waits.
func (d *direct) write(fd uintptr) bool {
	for len(d.unsent) > 0 {
		n, err := unix.Write(int(fd), d.unsent)
		switch err {
		case nil:
			d.unsent = d.unsent[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			return true
		default:
			d.err = err
			return true
		}
	}
	return true
}
