package config

import (
	"testing"

	"redline/internal/expect"
)

func TestMetadata(t *testing.T) {
	t.Parallel()
	m := Metadata{"revision": "abc", "hardwear": "H100", "team": "search", "flags": "--tp 2", "server_flags": "--old"}
	if got := m.Get("model_revision") + " " + m.Get("flags"); got != "abc --tp 2" {
		t.Errorf("revision and flags are %q", got)
	}
	want := []string{`metadata.hardwear is kept, but means nothing to the report: did you mean hardware?`}
	expect.Same(t, want, m.Doubts())
}
