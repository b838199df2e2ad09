package main

import (
	"strings"
	"testing"
	"time"
)

// TestConsistency: a server that answers alike is said to, and mistakes get one line.
func TestConsistency(t *testing.T) {
	t.Parallel()
	at := metronome(t, time.Microsecond)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--url", at, "--other", "replica=" + at}, exitOK, "no condition changes more than"},
		{nil, exitUsage, "redline sim serves one to try"},
		{[]string{"--url", at, "--batch", "1"}, exitUsage, "--batch: must be 2"},
		{[]string{"--url", at, "--other", "replica"}, exitUsage, "replica=http://b:8000"},
		{[]string{"--url", "http://127.0.0.1:1"}, exitError, "is the server running there?"},
	} {
		code, stdout, stderr := redline(t, nil, append([]string{"consistency", "--prompts", "12", "--tokens", "4", "--quiet"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%v: exit %d, want %d and %q in:\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
	}
}
