//go:build unix

package lock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock of the open file. Linux sends it to the server of a
// network file system, unless that was mounted with local locks.
func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EACCES):
			return errTaken
		case errors.Is(err, unix.ENOLCK):
			return errors.ErrUnsupported
		}
		return err
	}
}

// release removes the file while the lock is still held, so that nobody else's
// file is removed.
func release(f *os.File) error {
	if !inPlace(f, f.Name()) {
		return f.Close()
	}
	return errors.Join(os.Remove(f.Name()), f.Close())
}
