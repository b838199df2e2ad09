package watch

import (
	"fmt"
	"os"
	"path/filepath"
)

// LockFile is what a watch holds for as long as it runs.
const LockFile = "redline-watch.lock"

// Lock makes sure that no other watch runs in a directory. The system lets go
// of it with the process, so nothing is left behind to clean up.
func Lock(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, LockFile)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("another redline watch runs in %s (it holds %s): stop it, or give this one its own directory with the key runs", dir, path)
	}
	return file.Close, nil
}
