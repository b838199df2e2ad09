//go:build unix && !linux

package live

import "golang.org/x/sys/unix"

const (
	getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA
	noSignal               = 0xff
)
