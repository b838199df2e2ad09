//go:build unix

package client

import (
	"math"

	"golang.org/x/sys/unix"
)

// FileLimit raises this process's limit on open files to the most it may have
// and gives it, 0 where it is not known.
func FileLimit() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	if limit.Cur < limit.Max {
		raised := limit
		raised.Cur = limit.Max
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
			limit = raised
		}
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
