package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"redline/internal/expect"
)

// A disk that fills up does not lose the run: it goes on, says so, and ends
// with a report of everything and exit code 1.
func TestAFullDiskDoesNotLoseTheRun(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=32k"); err != nil {
		t.Skipf("no small file system can be mounted (%v), which needs root", err)
	}
	t.Cleanup(func() {
		expect.OK(t, syscall.Unmount(disk, 0))
	})
	url := metronome(t, time.Millisecond)
	code, stdout, stderr := redline(t, nil, "run", "--url", url, "--concurrency", "4", "--requests", "500", "--warmup", "0s",
		"--workload", "fixed(16,20)", "--quiet", "--out", filepath.Join(disk, "run"))
	if code != exitError || !strings.Contains(stderr, "records.jsonl: no space left on device") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"500", "ttft from due", "Kept in part in "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report does not say %q:\n%s", want, stdout)
		}
	}
	code, stdout, stderr = redline(t, nil, "report", filepath.Join(disk, "run"))
	if code != exitOK || !strings.HasPrefix(stdout, "STOPPED EARLY: the disk was full") {
		t.Errorf("afterwards: exit %d: %s%s", code, stdout, stderr)
	}
}
