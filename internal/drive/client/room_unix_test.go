//go:build unix

package client

import (
	"testing"

	"golang.org/x/sys/unix"

	"redline/internal/must"
)

// TestFileLimitIsRaised lowers the soft limit a little and finds it back at the
// hard one.
func TestFileLimitIsRaised(t *testing.T) {
	var limit unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	lower := limit
	lower.Cur = limit.Max - 1
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lower); err != nil {
		t.Skipf("the limit cannot be set here: %v", err)
	}
	got := FileLimit()
	var raised unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &raised))
	if raised.Cur != limit.Max {
		t.Errorf("the limit is %+v, want the soft one at %d", raised, limit.Max)
	}
	if uint64(got) != min(uint64(raised.Cur), 1<<31-1) {
		t.Errorf("FileLimit says %d, the system %d", got, raised.Cur)
	}
}
