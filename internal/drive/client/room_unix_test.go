//go:build unix

package client

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestFileLimitIsRaised lowers the soft limit a little and finds it back at the
// hard one.
func TestFileLimitIsRaised(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	lower := limit
	lower.Cur = limit.Max - 1
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lower); err != nil {
		t.Skipf("the limit cannot be set here: %v", err)
	}
	got := FileLimit()
	var raised unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &raised); err != nil {
		t.Fatal(err)
	}
	if raised.Cur != limit.Max {
		t.Errorf("the limit is %+v, want the soft one at %d", raised, limit.Max)
	}
	if uint64(got) != min(uint64(raised.Cur), 1<<31-1) {
		t.Errorf("FileLimit says %d, the system %d", got, raised.Cur)
	}
}
