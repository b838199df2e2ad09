package measure

import (
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
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

// TestColdRepliesTellNoPace: the first reply waits for kernels, the second does not.
func TestColdRepliesTellNoPace(t *testing.T) {
	t.Parallel()
	var target Target
	for _, pace := range []time.Duration{40 * time.Millisecond, 4 * time.Millisecond, 5 * time.Millisecond} {
		rec := &record.Record{Sent: 1, StreamedTokens: 16}
		for i := range 16 {
			rec.Observe(llm.Event{Kind: llm.Output, At: 1 + int64(pace)*int64(i+2), Text: []byte("a")})
		}
		target.observePace(rec)
	}
	if want := 4 * time.Millisecond; target.tpot != want || target.ttft != 2*want {
		t.Errorf("ttft %v, %v between tokens; want %v and %v", target.ttft, target.tpot, 2*want, want)
	}
}
