package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

// TestAFullDiskDoesNotHoldUpTheLoad fills a small file system while records
// come in.
func TestAFullDiskDoesNotHoldUpTheLoad(t *testing.T) {
	d := must.Get((*Hold)(nil).Create(smallDisk(t, "size=256k"), false))(t)
	l := must.Get(d.StartLog(record.Header{Run: "a1b2"}))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 4 * backlog { // several times what the disk and the queue hold
			l.Add(&record.Record{ID: i, Outcome: llm.OK, Error: "as long as an error can be, to fill the disk sooner"})
		}
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("a full disk blocks Add")
	}
	err := l.Close()
	if !errors.Is(err, syscall.ENOSPC) || err.Error() != filepath.Join(d.Path, recordsFile)+": no space left on device" {
		t.Errorf("Close: %v, want the path and that no space is left", err)
	}
	if l.Err() != err {
		t.Errorf("Err: %v, want the first error %v", l.Err(), err)
	}
	// What fitted can still be read.
	if n := len(read(t, d)); n == 0 || n >= 4*backlog {
		t.Errorf("%d records on a full disk", n)
	}
	if err := d.WritePlan(make([]byte, 1<<20)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WritePlan: %v, want no space left", err)
	}
	if names := listFiles(t, d.Path); len(names) != 1 || names[0] != recordsFile {
		t.Errorf("files %v, want the log alone", names)
	}
}

// TestADirectoryThatCannotBeLockedIsNotLeftBehind has room for a directory and
// none for its lock.
func TestADirectoryThatCannotBeLockedIsNotLeftBehind(t *testing.T) {
	disk := smallDisk(t, "nr_inodes=3")
	hold := &Hold{Command: "redline run"}
	for name, try := range map[string]func(string) (*Dir, error){
		"created": func(path string) (*Dir, error) { return hold.Create(path, false) },
		"claimed": hold.Claim,
	} {
		if d, err := try(filepath.Join(disk, "a", "run")); d != nil || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v, %v; want no space left", name, d, err)
		}
		if left := listFiles(t, disk); len(left) > 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
}

// smallDisk mounts a file system with little room.
func smallDisk(t *testing.T, room string) string {
	t.Helper()
	path := t.TempDir()
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, room); err != nil {
		t.Skipf("no small file system can be mounted (%v), which needs root", err)
	}
	t.Cleanup(func() {
		expect.OK(t, syscall.Unmount(path, 0))
	})
	return path
}

// TestADiskThatIsFullFromTheStart writes to the device that is always full.
func TestADiskThatIsFullFromTheStart(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no " + full)
	}
	d := &Dir{Path: t.TempDir()}
	must.Do(t, os.Symlink(full, filepath.Join(d.Path, recordsFile)))
	if _, err := d.StartLog(record.Header{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("StartLog: %v, want no space left", err)
	}
	if names := listFiles(t, d.Path); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}
