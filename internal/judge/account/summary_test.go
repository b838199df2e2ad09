package account

import (
	"math/rand/v2"
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/llm"
)

// A window of a minute is a minute, wherever it begins: of its ends in seconds
// the difference is a hair less in one case of six.
func TestAMinuteIsAMinute(t *testing.T) {
	t.Parallel()
	r, shorter := rand.New(rand.NewPCG(1, 2)), 0
	for range 10_000 {
		start := r.Int64N(3600 * second)
		w := metric.Window{StartS: float64(start) / second, EndS: float64(start+60*second) / second}
		if w.EndS-w.StartS < 60 {
			shorter++
		}
		if w.Seconds() != 60 {
			t.Fatalf("from %d ns on: %v s", start, w.Seconds())
		}
	}
	if shorter == 0 {
		t.Error("no difference fell short: the test shows nothing")
	}
}

// Goodput is a part of what was completed, and that of what was offered,
// whatever ended in the window that was due before it.
func TestGoodputIsPartOfCompletedIsPartOfOffered(t *testing.T) {
	t.Parallel()
	var lives []life
	// Forty wait in front of a window in which ten more are due; each reply
	// takes two seconds, so that most of those that end in it are not its own.
	for i := range 50 {
		due := int64(100 + 20*i)
		if i >= 40 {
			due = 1000 + 100*int64(i-40)
		}
		lives = append(lives, life{due: due, sent: due, end: due + 2000, chunks: steadily(due+100, 20, 3),
			usage: llm.Usage{OutputTokens: 3}, askedOutput: 3})
	}
	o := Options{Start: 1000 * ms, End: 3000 * ms, AskedRate: 5, Objectives: objectives(t, "ttft:p99<500ms")}
	got := summarize(t, o, lives...)
	if r := got.Rates; r.Offered != 5 || r.Completed != 5 || got.Goodput.Requests != 5 || got.Throughput.Requests != 5 || r.Ended <= r.Offered {
		t.Errorf("offered %v, completed %v, good %v, throughput %v: want 5 of each; %v ended in the window, want more",
			r.Offered, r.Completed, got.Goodput.Requests, got.Throughput.Requests, r.Ended)
	}
}
