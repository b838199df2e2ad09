package launch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// DropFromCache has the kernel forget the pages of files, and of all files below
// directories, so that they are read from storage again. It gives their size, and how
// many bytes are in the cache all the same, such as those that another program has
// mapped; -1 where this kernel does not tell (before Linux 6.5).
func DropFromCache(paths []string) (size, left int64, err error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			n, cached, err := dropFile(name)
			if size += n; left >= 0 {
				left += cached
			}
			if cached < 0 {
				left = -1
			}
			return err
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return size, left, nil
}

// dropFile follows a link, as those of a cache of models are.
func dropFile(name string) (size, cached int64, err error) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return 0, 0, err
	}
	file, err := os.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	fd := int(file.Fd())
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		return 0, 0, &os.PathError{Op: "fadvise", Path: name, Err: err}
	}
	var stat unix.Cachestat_t
	switch err := unix.Cachestat(uint(fd), &unix.CachestatRange{}, &stat, 0); {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP):
		return info.Size(), -1, nil
	case err != nil:
		return 0, 0, &os.PathError{Op: "cachestat", Path: name, Err: err}
	}
	return info.Size(), int64(stat.Cache) * int64(os.Getpagesize()), nil
}
