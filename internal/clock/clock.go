// Package clock is the run's sense of time: a monotonic origin, its anchor to
// the real-time clock, and a way to wake at an absolute offset more exactly
// than timers allow. Offsets are nanoseconds from the origin. It knows nothing
// of what happens at those times.
package clock

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// coarse is how far ahead of its offset a sleep leaves the runtime's timers,
// which can be two milliseconds late, for the finer means.
const coarse = 3 * time.Millisecond

// Clock counts from its origin. All methods are safe for concurrent use.
type Clock struct {
	origin time.Time
	mono   int64 // CLOCK_MONOTONIC at the origin, 0 where there is none
	// anchor is the real-time clock at the origin, as last seen: a step of
	// the real-time clock moves it.
	anchor atomic.Int64
	step   atomic.Int64
	// spare says that the scheduler has more places than there are cores, so
	// that short sleeps may keep theirs.
	spare bool
	// fine waits out the last stretch of a sleep, rough does so without a spin.
	fine, rough func(c *Clock, offset int64)
}

// New starts a clock now.
func New() *Clock {
	c := &Clock{origin: time.Now(), fine: pace, rough: doze, spare: runtime.GOMAXPROCS(0) > runtime.NumCPU()}
	// A thread that is taken off its core between the two clocks makes the
	// difference too small, never too large.
	for range 9 {
		c.mono = max(c.mono, monotonic()-c.Now())
	}
	c.anchor.Store(c.readAnchor())
	return c
}

// Virtual starts a clock that is true to the virtual time of a
// testing/synctest bubble, where a raw system call would wait for real.
func Virtual() *Clock {
	timer := func(c *Clock, offset int64) { time.Sleep(time.Duration(offset - c.Now())) }
	c := &Clock{origin: time.Now(), fine: timer, rough: timer}
	c.anchor.Store(c.readAnchor())
	return c
}

// From gives the same clock with its origin at offset. It knows of no step before.
func (c *Clock) From(offset int64) *Clock {
	moved := &Clock{origin: c.origin.Add(time.Duration(offset)), spare: c.spare, fine: c.fine, rough: c.rough}
	if c.mono != 0 {
		moved.mono = c.mono + offset
	}
	moved.anchor.Store(moved.readAnchor())
	return moved
}

// Now is the time since the origin.
func (c *Clock) Now() int64 { return int64(time.Since(c.origin)) }

// Origin is the origin on the real-time and on the monotonic clock.
func (c *Clock) Origin() (unixNS, monoNS int64) { return c.anchor.Load(), c.mono }

// FromReal turns a stamp of the real-time clock into an offset.
func (c *Clock) FromReal(unixNS int64) int64 { return unixNS - c.anchor.Load() }

// Reanchor reads the real-time clock against the monotonic one again and
// follows any step. It is to be called about once a second while stamps of the
// real-time clock are in use.
func (c *Clock) Reanchor() {
	now := c.readAnchor()
	moved := now - c.anchor.Swap(now)
	if moved < 0 {
		moved = -moved
	}
	for {
		seen := c.step.Load()
		if moved <= seen || c.step.CompareAndSwap(seen, moved) {
			return
		}
	}
}

// Step makes the real-time clock look as if it had stepped, for tests: the next
// Reanchor finds it.
func (c *Clock) Step(by time.Duration) { c.anchor.Add(-int64(by)) }

// MaxStep is the largest step of the real-time clock that Reanchor saw.
func (c *Clock) MaxStep() time.Duration { return time.Duration(c.step.Load()) }

// readAnchor takes the median of several readings, because a thread can be
// taken off its core between the two clocks of one reading.
func (c *Clock) readAnchor() int64 {
	var reads [9]int64
	for i := range reads {
		now := time.Now()
		reads[i] = now.UnixNano() - int64(now.Sub(c.origin))
	}
	slices.Sort(reads[:])
	return reads[len(reads)/2]
}

// SleepUntil waits for offset, or for wake while more than a few milliseconds
// are left. It reports whether wake ended the wait. An offset in the past
// returns at once.
func (c *Clock) SleepUntil(offset int64, wake <-chan struct{}) (woken bool) {
	return c.sleep(offset, wake, c.fine)
}

// SleepPast is SleepUntil for those who may be late by what a timer of the
// kernel is, some ten microseconds, and wake too often to spend them watching
// the clock.
func (c *Clock) SleepPast(offset int64, wake <-chan struct{}) (woken bool) {
	return c.sleep(offset, wake, c.rough)
}

func (c *Clock) sleep(offset int64, wake <-chan struct{}, fine func(c *Clock, offset int64)) (woken bool) {
	left := time.Duration(offset - c.Now())
	if left > coarse {
		timer := time.NewTimer(left - coarse)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-wake:
			return true
		}
	}
	if offset > c.Now() {
		fine(c, offset)
	}
	return false
}
