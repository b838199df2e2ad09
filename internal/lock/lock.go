// Package lock lets one process at a time write to a place. It takes the path
// of a lock file and gives a lock that the operating system releases with the
// process, however that ends, or the name of the process that has it. Readers
// need no lock.
package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"redline/internal/text"
)

// Owner is the process that has a lock, as its lock file says.
type Owner struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host,omitempty"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

// String names the owner as an error does.
func (o Owner) String() string {
	if o.PID == 0 {
		return "another process"
	}
	where := ""
	if here, err := os.Hostname(); err == nil && o.Host != "" && o.Host != here {
		where = " on " + o.Host
	}
	return fmt.Sprintf("%s (pid %d%s, since %s)", o.Command, o.PID, where, text.Moment(o.Since))
}

// HeldError says that another process has the lock.
type HeldError struct {
	Path string
	By   Owner
}

func (h *HeldError) Error() string { return fmt.Sprintf("%s is locked by %s", h.Path, h.By) }

// Lock is a lock that this process has.
type Lock struct{ file *os.File }

// errTaken is what the system says of a lock that another has.
var errTaken = errors.New("taken")

// Take takes the lock at path for a command, or gives *Held at once. The file
// is made, and removed with the release; a link in its place is refused, as what
// it points to would be overwritten. A file system that has no locks gives
// errors.ErrUnsupported.
func Take(path, command string) (*Lock, error) {
	for range maxTries {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|noFollow, 0o644)
		if err != nil {
			return nil, err
		}
		switch err := lockFile(file); {
		case errors.Is(err, errTaken):
			by := ownerIn(file)
			file.Close()
			return nil, &HeldError{path, by}
		case err != nil:
			file.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		// The owner before may have removed the file after it was opened
		// here: then the lock is on a file that nobody else will find.
		if !inPlace(file, path) {
			file.Close()
			continue
		}
		l := &Lock{file}
		if err := l.sign(command); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), l.Release())
		}
		return l, nil
	}
	return nil, fmt.Errorf("%s: this file system shows another file each time it is opened, so it cannot be locked: use a local directory", path)
}

// maxTries is how often a lock file may be replaced while it is being locked:
// a file that is never the one in place lies on a file system without stable
// identities.
const maxTries = 1000

// often is how often a lock that another has is tried again.
const often = 20 * time.Millisecond

// Await takes the lock as Take does, and waits for one that another process has,
// at most for patience.
func Await(path, command string, patience time.Duration) (*Lock, error) {
	for end := time.Now().Add(patience); ; time.Sleep(often) {
		l, err := Take(path, command)
		var held *HeldError
		if !errors.As(err, &held) || time.Now().After(end) {
			return l, err
		}
	}
}

// Holder gives the process that has the lock at path, if one has. It makes no
// file, and leaves one alone that nobody has signed yet, so that asking never
// keeps a process from the lock that it is about to take.
func Holder(path string) (by Owner, held bool) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		file, err = os.Open(path) // another user's
	}
	if err != nil {
		return Owner{}, false
	}
	defer file.Close() // and with it the lock, where nobody had it
	if by = ownerIn(file); by.PID == 0 {
		return by, false
	}
	return by, errors.Is(lockFile(file), errTaken)
}

func inPlace(file *os.File, path string) bool {
	locked, err := file.Stat()
	if err != nil {
		return false
	}
	found, err := os.Lstat(path)
	return err == nil && os.SameFile(locked, found)
}

// sign writes the owner into the file. A full disk takes no name, and is no
// reason to go without the lock.
func (l *Lock) sign(command string) error {
	host, _ := os.Hostname() // it is left out where there is none
	text, err := json.Marshal(Owner{os.Getpid(), host, command, time.Now().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, _ = l.file.WriteAt(append(text, '\n'), 0)
	return nil
}

// ownerIn reads the owner, as far as there is one yet.
func ownerIn(file io.ReaderAt) (o Owner) {
	text := make([]byte, 4<<10)
	n, _ := file.ReadAt(text, 0)
	if json.Unmarshal(text[:n], &o) != nil {
		return Owner{}
	}
	return o
}

// Release gives the lock back and removes its file.
func (l *Lock) Release() error {
	err := release(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
