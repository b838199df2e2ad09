// Package effort says how much the long tests do: what tells most in little time
// by default, and all of it where REDLINE_LONG is set, as make long sets it. No
// command imports it.
package effort

import (
	"os"
	"runtime/debug"
	"testing"
)

// Tests are short programs on machines with memory to spare: collecting seldom
// saves a fifth of their CPU time.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// full asks for all of it.
const full = "REDLINE_LONG"

// Of gives what a test does by default, or all that it can do.
func Of[T any](brief, whole T) T {
	if os.Getenv(full) != "" {
		return whole
	}
	return brief
}

// Long leaves a test to make long, which a release runs.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv(full) == "" {
		t.Skip("long: make long, or " + full + "=1, runs it")
	}
}
