//go:build !linux

package clock

import (
	"runtime"
	"time"
)

func monotonic() int64 { return 0 }

func doze(c *Clock, offset int64) { time.Sleep(time.Duration(offset - c.Now())) }

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
