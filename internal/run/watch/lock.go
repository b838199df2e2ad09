package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"redline/internal/lock"
)

// lockFile is what a watch holds for as long as it runs.
const lockFile = "redline-watch.lock"

// Lock makes sure that no other watch runs in a directory. A file system
// without locks gives errors.ErrUnsupported.
func Lock(dir string) (*lock.Lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l, err := lock.Take(filepath.Join(dir, lockFile), "redline watch")
	var held *lock.HeldError
	if errors.As(err, &held) {
		return nil, fmt.Errorf("another redline watch runs in %s: %s holds %s; stop it, or give this one its own directory with the key runs", dir, held.By, lockFile)
	}
	return l, err
}
