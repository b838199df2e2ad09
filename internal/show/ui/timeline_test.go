package ui

import (
	"strings"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// However long a run is, its line has a bounded number of points and forgets no
// reply: ten a second, slower from the fifth minute on.
func TestTimeline(t *testing.T) {
	t.Parallel()
	var h timeline
	const minutes = 10
	for i := range minutes * 60 * 10 {
		end := int64(time.Second) + int64(i)*int64(100*time.Millisecond)
		ttft := int64(50 * time.Millisecond)
		if i >= 5*600 {
			ttft *= 2
		}
		h.add(&record.Record{Due: end - int64(time.Second), First: end - int64(time.Second) + ttft, End: end, Outcome: llm.OK, OutputTokens: 7})
	}
	h.add(&record.Record{Due: 1, End: int64(time.Minute), Outcome: llm.Timeout, OutputTokens: 7})
	replies, tokens := 0, 0
	for _, s := range h.list {
		replies, tokens = replies+s.replies, tokens+s.tokens
	}
	if replies != 6000 || tokens != 42000 || len(h.list) > mostStretches || len(h.list) < mostStretches/2 {
		t.Errorf("%d stretches hold %d replies with %d tokens, want 6000 with 42000 in %d to %d", len(h.list), replies, tokens, mostStretches/2, mostStretches)
	}
	points := strings.Fields(h.lines()["ttft"])
	if len(points) != len(h.list)-1 {
		t.Fatalf("%d points for %d stretches that are over", len(points), len(h.list)-1)
	}
	// The slower half is at the top of the picture, the faster halfway.
	for i, want := range map[int]string{1: "10.0", len(points) - 1: "2.0"} {
		if _, y, _ := strings.Cut(points[i], ","); y != want {
			t.Errorf("point %d is at height %s, want %s", i, y, want)
		}
	}
}

// A stage that begins a quarter of an hour after the experiment has a line from
// its own first request on.
func TestATimelineBeginsWithItsStage(t *testing.T) {
	t.Parallel()
	var h timeline
	for i := range 10 {
		end := int64(15*time.Minute) + int64(i)*int64(time.Second)
		h.add(&record.Record{Due: end - int64(200*time.Millisecond), End: end, Outcome: llm.OK})
	}
	if len(h.list) != 10 || h.list[0].replies == 0 || h.length != int64(time.Second) {
		t.Errorf("ten seconds are %d stretches of %v: %v", len(h.list), time.Duration(h.length), h.list)
	}
}
