//go:build linux

package main

import (
	"os"
	"strings"
	"testing"
)

// Every mend can still be taken out: its line stands once in its file.
func TestMendsAreWhereTheTableSays(t *testing.T) {
	for _, m := range allMends {
		text, err := os.ReadFile("../../" + m.file)
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(text), m.from); n != 1 || m.from == m.to {
			t.Errorf("%s: %d times in %s: %q", m.fault, n, m.file, m.from)
		}
	}
}
