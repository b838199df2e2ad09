// Package clock is the run's sense of time: a monotonic origin, its anchor to
// the real-time clock, and a way to wake at an absolute offset more exactly
// than timers allow. Offsets are nanoseconds from the origin.
package clock
