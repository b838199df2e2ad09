package lock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow is nothing here: a link is found out before anything is written.
const noFollow = 0

// Private reports whether path is a directory and no link to one; the temporary
// files of a user are that user's alone here.
func Private(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// lockFile locks a byte far behind the content: a locked byte cannot be read by
// others, and who holds the lock has to be.
func lockFile(f *os.File) error {
	far := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, far)
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return errTaken
	case errors.Is(err, windows.ERROR_INVALID_FUNCTION):
		return errors.ErrUnsupported
	}
	return err
}

// release closes before it removes: an open file cannot be removed. If another
// process opened it meanwhile it cannot be removed either, and is that
// process's.
func release(f *os.File) error {
	err := f.Close()
	_ = os.Remove(f.Name())
	return err
}
