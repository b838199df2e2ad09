//go:build unix

package store

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A disk that has no room for a plan keeps the one before it, and no draft. The
// kernel ends the write, by the limit on the size of this process's files.
func TestAFullDiskKeepsThePlanBefore(t *testing.T) {
	d := &Dir{Path: t.TempDir()}
	if err := d.WritePlan([]byte("seed: 7\n")); err != nil {
		t.Fatal(err)
	}
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &usual); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4, Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	err := d.WritePlan([]byte("seed: 8\n"))
	if back := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &usual); back != nil {
		t.Fatal(back)
	}
	if want := filepath.Join(d.Path, planFile) + ": " + syscall.EFBIG.Error(); message(err) != want {
		t.Errorf("got %q, want %q", message(err), want)
	}
	if got, err := os.ReadFile(d.PlanPath()); err != nil || string(got) != "seed: 7\n" {
		t.Errorf("the plan is %q, %v", got, err)
	}
	if diff := cmp.Diff([]string{planFile}, listFiles(t, d.Path)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
