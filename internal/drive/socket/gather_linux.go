package socket

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// gather decides how long a reader rests before it looks for what has arrived
// meanwhile. The kernel stamps arrivals, so a rest costs no accuracy, and every
// wake-up that it saves is worth more than a token; but of what arrives on one
// stream during a rest only the newest has its time. So it rests only where
// arrivals on one stream are seen to lie further apart, and stops when more of
// them are read together than without it.
type gather struct {
	rest         time.Duration
	accountStart time.Time // when the present account was begun

	reads  int
	merged int             // output events read together with an earlier one
	near   [len(rests)]int // reads that followed another sooner than two rests

	usual float64 // the share of merged events without a rest
	laden int     // accounts in a row that were full too soon

	penalty int // accounts to pass without a rest after it did harm
	passing int // of them still to come
}

// rests are tried longest first. The longest bounds how late the end of a
// stream is noticed, which is the lag of what is sent next.
var rests = [...]time.Duration{240 * time.Microsecond, 120 * time.Microsecond, 60 * time.Microsecond}

// busiest is how many reads a second are enough for one reader: about half of a
// core. Tests have less.
var busiest = 60_000.0

const (
	account         = 2048  // reads after which the rest is chosen again
	maxMergedShare  = 0.001 // the share of events that a rest may merge
	maxPenalty      = 64
	maxBusyAccounts = 4 // accounts in a row that may show a reader too busy
	// minGathered is how many arrivals a rest has to gather to be worth its own
	// wake-up.
	minGathered = 1.5
)

// note takes in one read: the time since the one before it on the same stream,
// and how many of its output events share it.
func (g *gather) note(gap int64, merged int) {
	g.reads++
	g.merged += merged
	if gap < int64(2*rests[0]) {
		for i, rest := range rests {
			if gap < int64(2*rest) {
				g.near[i]++
			}
		}
	}
	if g.reads == account {
		g.choose(time.Now())
	}
}

// choose sets the rest by the account, and begins another.
func (g *gather) choose(now time.Time) {
	took := now.Sub(g.accountStart)
	if g.laden++; took.Seconds()*busiest > account {
		g.laden = 0
	}
	share := float64(g.merged) / float64(g.reads+g.merged)
	switch {
	case g.rest > 0 && share > g.usual+maxMergedShare:
		g.penalty = min(2*g.penalty+1, maxPenalty)
		g.rest, g.passing = 0, g.penalty
	case g.rest > 0:
		g.penalty /= 2
		g.rest = g.maxRest(took)
	default:
		g.usual = share
		if g.passing--; g.passing < 0 {
			g.rest = g.maxRest(took)
		}
	}
	g.accountStart, g.reads, g.merged, g.near = now, 0, 0, [len(rests)]int{}
}

// maxRest is the longest rest that is worth it and shorter than nearly all
// gaps.
func (g *gather) maxRest(took time.Duration) time.Duration {
	for i, rest := range rests {
		if float64(g.near[i]) <= maxMergedShare*account && float64(rest)*account >= minGathered*float64(took) {
			return rest
		}
	}
	return 0
}

// heavy reports whether the reader has had too much to read for a while, and
// forgets it.
func (g *gather) heavy() bool {
	if g.laden <= maxBusyAccounts {
		return false
	}
	g.laden = 0
	return true
}

func (g *gather) sleep() {
	if g.rest > 0 {
		pause := unix.NsecToTimespec(int64(g.rest))
		_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&pause)), 0, 0, 0)
	}
}
