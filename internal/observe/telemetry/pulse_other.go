//go:build !linux

package telemetry

import (
	"redline/internal/clock"
	"redline/internal/holdup"
)

// Pulses is how many threads watch for hold-ups: none on this system.
func Pulses() int { return 0 }

// startPulses gives nil: this system does not say how long threads wait.
func startPulses(*clock.Clock, *holdup.Recorder) (stop func()) { return nil }
