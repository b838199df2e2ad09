//go:build !linux

package clock

import (
	"runtime"
	"time"
)

func monotonic() int64 { return 0 }

// pace spins over the last stretch, because timers of these systems are no
// finer than those of the runtime.
func pace(c *Clock, offset int64) {
	if left := time.Duration(offset-c.Now()) - 2*time.Millisecond; left > 0 {
		time.Sleep(left)
	}
	for c.Now() < offset {
		runtime.Gosched()
	}
}

// Pin ties the calling goroutine to a thread. The returned func unties it.
func Pin() (unpin func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
