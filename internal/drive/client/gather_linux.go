package client

import "golang.org/x/sys/unix"

// gather decides how long a reader rests before it looks for what has arrived
// meanwhile. The kernel stamps arrivals, so a rest costs no accuracy, and every
// wake-up that it saves is worth more than a token; but of what arrives on one
// stream during a rest only the newest has its time.
type gather struct {
	rest int64 // ns
}

func (g *gather) sleep(n int) {
	if g.rest == 0 {
		return
	}
	pause := unix.NsecToTimespec(g.rest)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &pause, nil)
}
