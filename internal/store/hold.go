package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"redline/internal/lock"
)

// lockFile is there while a command writes to the directory, and after a kill.
const lockFile = "redline.lock"

// Hold is the directories that one command writes to, locked against every
// other process until Release or the end of this one. Reading needs no lock.
// A nil Hold locks nothing: for a directory that no other process knows.
type Hold struct {
	// Command is who holds them, as another process is told.
	Command string
	// Say hears of a directory that cannot be locked; it may be nil.
	Say func(format string, args ...any)

	mu    sync.Mutex
	locks map[string]*lock.Lock
}

// Take locks a directory that is there. One that this command has already is
// its own.
func (h *Hold) Take(dir string) error {
	if h == nil {
		return nil
	}
	place, err := canonical(dir)
	if err != nil {
		return cause(dir, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, own := h.locks[place]; own {
		return nil
	}
	l, err := lock.Take(filepath.Join(place, lockFile), h.Command)
	var held *lock.HeldError
	switch {
	case errors.As(err, &held):
		return fmt.Errorf("%s is being written by %s: wait for it, stop it, or choose another directory", dir, held.By)
	case errors.Is(err, errors.ErrUnsupported):
		l = nil
		if h.Say != nil {
			h.Say("%s is on a file system without locks: make sure that no other redline writes there", dir)
		}
	case err != nil:
		return unwritable(dir, err)
	}
	if h.locks == nil {
		h.locks = map[string]*lock.Lock{}
	}
	h.locks[place] = l
	return nil
}

// Writer gives the command that is writing to a directory, "" where none is.
func Writer(dir string) string {
	if by, held := lock.Holder(filepath.Join(dir, lockFile)); held {
		return by.String()
	}
	return ""
}

// Holds reports whether a directory has anything of a run in it.
func Holds(dir string) bool {
	for _, name := range []string{ResultFile, recordsFile, experimentFile, StagesDir, planFile, lockFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func canonical(dir string) (string, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(full)
}

func (h *Hold) drop(dir string) {
	if h == nil {
		return
	}
	place, err := canonical(dir)
	if err != nil {
		return // it is gone, and its lock with it
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.locks[place]; l != nil {
		_ = l.Release() // what is left of it is an unlocked file
	}
	delete(h.locks, place)
}

// Release gives every directory back.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.locks {
		if l != nil {
			_ = l.Release() // what is left of it is an unlocked file
		}
	}
	h.locks = nil
}

// Check reports whether this command may write a run to path, and locks it
// where it is there already.
func (h *Hold) Check(path string, force bool) error {
	if err := check(path, force); err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return nil // there is nothing to lock yet
	}
	return h.Take(path)
}

// Open opens a directory that was made before, to write to it.
func (h *Hold) Open(path string) (*Dir, error) {
	d, err := Open(path)
	if err != nil {
		return nil, err
	}
	if err := h.Take(path); err != nil {
		return nil, err
	}
	d.hold = h
	return d, nil
}
