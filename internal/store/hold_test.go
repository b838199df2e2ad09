package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/must"
)

func TestADirectoryHasOneWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run")
	first, second := &Hold{Command: "redline run"}, &Hold{Command: "redline sweep"}
	d := must.Get(first.Create(path, false))(t)
	log := must.Get(d.StartLog(record.Header{Run: "first"}))(t)
	must.Do(t, log.Close())
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		link = path // not every system lets everybody link
	}
	for name, try := range map[string]func() error{
		"checked":          func() error { return second.Check(path, true) },
		"created":          func() error { _, err := second.Create(path, true); return err },
		"opened":           func() error { _, err := second.Open(path); return err },
		"by another name":  func() error { _, err := second.Open(link); return err },
		"relative to here": func() error { _, err := second.Open(relative(t, path)); return err },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "is being written by redline run (pid ") {
			t.Errorf("%s by a second command: %v", name, err)
		}
	}
	if _, err := first.Open(link); err != nil {
		t.Errorf("the first command itself: %v", err)
	}
	if read, err := Open(path); err != nil {
		t.Errorf("a reader: %v", err)
	} else if h, err := read.Header(); err != nil || h.Run != "first" {
		t.Errorf("a reader finds %+v, %v", h, err)
	}
	first.Release()
	if got := listFiles(t, path); len(got) != 1 || got[0] != recordsFile {
		t.Errorf("left behind: %v", got)
	}
	if _, err := second.Create(path, true); err != nil {
		t.Errorf("after the release: %v", err)
	}
	second.Release()
}

func relative(t *testing.T, path string) string {
	t.Helper()
	here := must.Get(os.Getwd())(t)
	rel, err := filepath.Rel(here, path)
	if err != nil {
		return path
	}
	return rel
}

func TestWhatIsDiscardedLeavesNoLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "run")
	hold := &Hold{Command: "redline run"}
	d := must.Get(hold.Create(path, false))(t)
	d.Discard()
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("the directory is left behind")
	}
	hold.Release()
}

func TestRecordsOfAnotherRunAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		records, result string
		refused         bool
	}{
		{"a", "a", false},
		{"a", "b", true},
		{"a", "", false}, // killed before it had one
		{"", "b", false}, // of before there were ids
	} {
		d := must.Get((*Hold)(nil).Create(filepath.Join(t.TempDir(), "run"), false))(t)
		log := must.Get(d.StartLog(record.Header{Run: tt.records}))(t)
		log.Close()
		if tt.result != "" {
			must.Do(t, d.WriteResult(&result.Result{Schema: result.Schema, ID: tt.result}))
		}
		_, err := Open(d.Path)
		if refused := err != nil; refused != tt.refused {
			t.Errorf("records of %q beside a result of %q: %v", tt.records, tt.result, err)
		}
		if err != nil && !strings.Contains(err.Error(), "records.jsonl is of run a") {
			t.Errorf("refused with %v", err)
		}
	}
}
