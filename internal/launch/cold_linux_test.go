package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/must"
)

// TestDropFromCache: what was written and read lies in the page cache, and is gone
// afterwards, where the kernel says so and the file system has such a cache.
func TestDropFromCache(t *testing.T) {
	dir := t.TempDir()
	const size = 1 << 20
	file := must.Get(os.Create(filepath.Join(dir, "weights")))(t)
	must.Get(file.WriteString(strings.Repeat("w", size)))(t)
	must.Do(t, file.Sync())
	must.Do(t, file.Close())
	must.Do(t, os.Symlink(file.Name(), filepath.Join(dir, "link")))
	all, left, err := DropFromCache([]string{dir})
	if err != nil || all != 2*size || left > size {
		t.Errorf("%d bytes, of which %d are left (%v); want the file and its link, and few left", all, left, err)
	}
	if _, _, err := DropFromCache([]string{filepath.Join(dir, "none")}); err == nil {
		t.Error("a file that is not there is dropped")
	}
}
