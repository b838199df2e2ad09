//go:build unix

package lock

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

// Private reports whether path is a directory of this user that no other may
// write to or read.
func Private(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

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
