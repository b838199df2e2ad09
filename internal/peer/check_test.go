package peer

import (
	"os"
	"path/filepath"
	"testing"

	"redline/internal/must"
)

// The check before a run leaves nothing behind, since the path may then lack the
// model or the time.
func TestTheCheckOfAFileLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := (File{Path: filepath.Join(dir, "artifacts", "-chat", "profile.json")}).Check(); err != nil {
		t.Fatal(err)
	}
	if left := must.Get(os.ReadDir(dir))(t); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
