package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// spin is how long before its offset a sleep stops trusting the kernel's timer
// and watches the clock itself. A timer without slack is about as late as that;
// a longer spin would take a whole core from whoever waits often.
const spin = 5 * time.Microsecond

func monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// pace sleeps on an absolute time of the kernel's own, which no scheduling
// delay before the call can push back, and spins over the rest.
func pace(c *Clock, offset int64) {
	until := unix.NsecToTimespec(c.mono + offset - int64(spin))
	for c.Now() < offset-int64(spin) {
		noSlack()
		err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil)
		if err != nil && err != unix.EINTR {
			time.Sleep(time.Duration(offset - c.Now()))
			return
		}
	}
	for c.Now() < offset {
	}
}

// noSlack asks for timers of this thread that are not put off by 50 µs to fire
// together with others. The thread may be another one at every sleep; a kernel
// that refuses costs that much exactness.
func noSlack() {
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0)
}
