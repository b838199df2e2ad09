// Package regular opens files that may come from anybody, such as those of run directories.
// It takes a path and gives a regular file, or all of it where it is no longer than
// redline writes; it knows nothing of what stands in it.
package regular

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open opens a file to read, and only a file: a pipe in its place would wait for
// a writer that never comes, and a device would never end.
func Open(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no regular file")}
	}
	return os.Open(path)
}

// maxSize is how long a file may be that is read as a whole. A result has a few MB;
// what is longer would only use up the memory.
const maxSize = 64_000_000

// Read reads a whole file.
func Read(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSize {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has %d MB, and redline reads %d at most", info.Size()/1e6, maxSize/1_000_000)}
	}
	content := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err = content.ReadFrom(io.LimitReader(f, maxSize))
	return content.Bytes(), err
}
