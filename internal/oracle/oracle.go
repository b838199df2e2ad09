// Package oracle gives tests the programs of others that judge what redline
// writes and reads. It takes a list of Python packages and gives a Python that has
// them, in make long; a test is skipped with the reason where it cannot be had. No command
// imports it.
package oracle

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/effort"
)

// Python gives a Python with the packages of a requirements file, from a virtual
// environment that is made once and kept in the user's cache.
func Python(t *testing.T, requirements string) string {
	t.Helper()
	effort.Long(t) // packages are fetched, which not every machine can
	wanted, err := os.ReadFile(requirements)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	home := filepath.Join(cache, "redline-test-venv", fmt.Sprintf("%x", sha256.Sum256(wanted))[:12])
	python := filepath.Join(home, "bin", "python")
	if _, err := os.Stat(python); err == nil {
		return python
	}
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		t.Skipf("no place for a virtual environment: %v", err)
	}
	// It is built beside its place and moved there whole, so that two test
	// runs at the same time do not meet half an environment.
	fresh, err := os.MkdirTemp(filepath.Dir(home), "new-")
	if err != nil {
		t.Skipf("no place for a virtual environment: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(fresh) })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, step := range [][]string{
		{"python3", "-m", "venv", fresh},
		{filepath.Join(fresh, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", requirements},
	} {
		if out, err := exec.CommandContext(ctx, step[0], step[1:]...).CombinedOutput(); err != nil {
			t.Skipf("the Python packages of %s cannot be had here: %s: %v\n%s", requirements, strings.Join(step, " "), err, out)
		}
	}
	if os.Rename(fresh, home) != nil {
		return filepath.Join(fresh, "bin", "python")
	}
	return python
}
