package clock

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// spin is how long before its offset a sleep stops trusting the kernel's timer
// and watches the clock itself.
const spin = 50 * time.Microsecond

func monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// pace sleeps on an absolute time of the kernel's own, which no scheduling
// delay before the call can push back, and spins over the timer's slack.
func pace(c *Clock, offset int64) {
	until := unix.NsecToTimespec(c.mono + offset - int64(spin))
	for c.Now() < offset-int64(spin) {
		err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil)
		if err != nil && err != unix.EINTR {
			time.Sleep(time.Duration(offset - c.Now()))
			return
		}
	}
	for c.Now() < offset {
	}
}

// Pin ties the calling goroutine to a thread whose timers have no slack, for a
// goroutine that paces. The returned func unties it.
func Pin() (unpin func()) {
	runtime.LockOSThread()
	// A kernel that refuses leaves 50 µs of slack, which the spin covers.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return runtime.UnlockOSThread
}
