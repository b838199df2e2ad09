package measure

import (
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/traffic/token"
)

// TestLone: what a reply of 200 tokens takes alone, by a preflight of 16.
func TestLone(t *testing.T) {
	t.Parallel()
	c := must.Get(config.Resolve(config.Input{Flags: map[string][]string{"url": {"http://x"}, "workload": {"fixed(100,200)"}}}))(t)
	for _, tt := range []struct {
		name        string
		target      Target
		reply, pace time.Duration
	}{
		{"streamed", Target{ttft: time.Second, tpot: 300 * time.Millisecond}, 61 * time.Second, 300 * time.Millisecond},
		{"whole", Target{ttft: 800 * time.Millisecond, asked: []tokenUse{{16, 16}}}, 10 * time.Second, 0},
		{"nothing answered", Target{}, 0, 0},
	} {
		tt.target.text = token.O200k()
		if reply, pace := tt.target.Lone(c); reply != tt.reply || pace != tt.pace {
			t.Errorf("%s: %v with %v between tokens, want %v with %v", tt.name, reply, pace, tt.reply, tt.pace)
		}
	}
}
