package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exported runs the command alone.
func exported(t *testing.T, args ...string) (code int, stdout, line string) {
	t.Helper()
	var out buffer
	c := (&process{stdout: &out}).exportCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	code, line = exitCode(c.Execute())
	return code, out.String(), line
}

func TestExportNotes(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "results", "llama31-8b")
	code, stdout, line := exported(t, "--layout", "notes", keptRun(t), "-o", out)
	if code != exitOK || !strings.Contains(stdout, "4 files in ") {
		t.Fatalf("exit %d, %q, %q", code, stdout, line)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"hardware.md", "interpretation.md", "row-a-5-requests-s.json", "server-flags.md"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	row, err := os.ReadFile(filepath.Join(out, "row-a-5-requests-s.json"))
	if err != nil || !strings.Contains(string(row), `"command": "redline run --rate 5"`) {
		t.Errorf("%v: the row does not say which command made it:\n%s", err, row)
	}
	if code, _, line := exported(t, keptRun(t), "-o", out); code != exitError || !strings.Contains(line, "--force") {
		t.Errorf("again: exit %d, %q; want a refusal that names --force", code, line)
	}
	if code, _, line := exported(t, keptRun(t), "-o", out, "--force"); code != exitOK {
		t.Errorf("forced: exit %d, %q", code, line)
	}
}

func TestExportMistakes(t *testing.T) {
	t.Parallel()
	dir := keptRun(t)
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no directory", []string{"-o", "x"}, exitUsage, "one run directory"},
		{"nowhere to write", []string{dir}, exitUsage, "-o OUT"},
		{"a layout mistyped", []string{dir, "--layout", "note", "-o", "x"}, exitUsage, "notes"},
		{"no run", []string{filepath.Join(dir, "none"), "-o", "x"}, exitError, "none"},
	} {
		if code, _, line := exported(t, tt.args...); code != tt.code || !strings.Contains(line, tt.says) {
			t.Errorf("%s: exit %d, %q; want %d and %q", tt.name, code, line, tt.code, tt.says)
		}
	}
}
