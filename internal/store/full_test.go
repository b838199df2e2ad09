//go:build unix

package store

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// A disk that has no room for a plan keeps the one before it, and no draft. The
// kernel ends the write, by the limit on the size of this process's files.
func TestAFullDiskKeepsThePlanBefore(t *testing.T) {
	d := &Dir{Path: t.TempDir()}
	must.Do(t, d.WritePlan([]byte("seed: 7\n")))
	var usual syscall.Rlimit
	must.Do(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &usual))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4, Max: usual.Max}))
	err := d.WritePlan([]byte("seed: 8\n"))
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &usual))
	if want := filepath.Join(d.Path, planFile) + ": " + syscall.EFBIG.Error(); message(err) != want {
		t.Errorf("got %q, want %q", message(err), want)
	}
	if got, err := os.ReadFile(d.PlanPath()); err != nil || string(got) != "seed: 7\n" {
		t.Errorf("the plan is %q, %v", got, err)
	}
	expect.NoDiff(t, cmp.Diff([]string{planFile}, listFiles(t, d.Path)), "files (-want +got)")
}
