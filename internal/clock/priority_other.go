//go:build !linux

package clock

// Prefer does nothing: these systems are left to their own scheduling.
func Prefer() bool { return false }
