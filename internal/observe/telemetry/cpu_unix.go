//go:build unix

package telemetry

import (
	"time"

	"golang.org/x/sys/unix"
)

// processCPU is the processor time that this process has used.
func processCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
