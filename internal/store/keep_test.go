package store

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/must"
)

// A worker's own log has its name, is never written over, and can be read.
func TestKeepLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	must.Do(t, Writable(dir))
	if names := listFiles(t, dir); len(names) != 0 {
		t.Errorf("to try it left %v behind", names)
	}
	l := must.Get(KeepLog(dir, "zone/a 1", record.Header{Run: "a1b2"}))(t)
	l.Add(&record.Record{ID: 3, Outcome: llm.OK})
	must.Do(t, l.Close())
	if names := listFiles(t, dir); len(names) != 1 || names[0] != "a1b2-zone-a-1.jsonl" {
		t.Errorf("files %v", names)
	}
	n := 0
	for r, err := range l.Records() {
		if n++; err != nil || r.ID != 3 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	if _, err := KeepLog(dir, "zone/a 1", record.Header{Run: "a1b2"}); err == nil || !strings.Contains(err.Error(), "is there already; give each worker a --name of its own") {
		t.Errorf("the same again: %v", err)
	}
	unused := must.Get(KeepLog(dir, "b", record.Header{Run: "a1b2"}))(t)
	if unused.Discard(); len(listFiles(t, dir)) != 1 {
		t.Errorf("files %v", listFiles(t, dir))
	}
}

func TestNotWritable(t *testing.T) {
	file := must.File(t, "file", "")
	if err := Writable(file); err == nil || err.Error() != file+": not a directory" {
		t.Errorf("a file: %v", err)
	}
}
