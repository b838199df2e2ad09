//go:build unix

package store

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in the place of a run's file is refused at once: opening it would wait for
// a writer.
func TestPipesAreNoFiles(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	for _, name := range []string{ResultFile, recordsFile, planFile, "telemetry.jsonl"} {
		if err := syscall.Mkfifo(filepath.Join(path, name), 0o600); err != nil {
			t.Skip(err)
		}
	}
	d := &Dir{Path: path}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "it is no regular file") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := d.Result()
	refused("result", err)
	_, err = d.Header()
	refused("header", err)
	_, err = d.ReadEnding()
	refused("ending", err)
	for _, err = range d.Records() {
		break
	}
	refused("records", err)
}
