package clock

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spin is how long before its offset a sleep stops trusting the kernel's timer
// and watches the clock itself. A timer without slack is about as late as that;
// a longer spin would use a whole core for callers that wait often.
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
	doze(c, offset-int64(spin))
	for c.Now() < offset {
	}
}

// doze sleeps without the last spin.
func doze(c *Clock, offset int64) {
	until := unix.NsecToTimespec(c.mono + offset)
	for left := offset - c.Now(); left > 0; left = offset - c.Now() {
		noSlack()
		if c.spare && left <= int64(short) {
			if nap(&until) {
				continue
			}
		} else if err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil); err == nil || err == unix.EINTR {
			continue
		}
		time.Sleep(time.Duration(left))
		return
	}
}

// short is how long a sleep may be that Go's scheduler does not see. Seeing it
// keeps its monitor awake, which then wakes every 20 µs to take the sleeper's
// place from it, and has the sleeper wait for another place once it wakes.
const short = time.Millisecond

// nap sleeps out of the scheduler's sight. It reports whether it could.
func nap(until *unix.Timespec) bool {
	_, _, errno := unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(until)), 0, 0, 0)
	return errno == 0 || errno == unix.EINTR
}

// noSlack asks for timers of this thread that are not put off by 50 µs to fire
// together with others. The thread may be another one at every sleep; a kernel
// that refuses costs that much exactness.
func noSlack() {
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0)
}
