package ui

import (
	"strings"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/show/chart"
)

// take is a request from its beginning to its end.
func (h *timeline) take(r *record.Record) {
	r.Begin = r.Due
	h.begin(r)
	h.add(r)
}

func noLimits(string) []chart.Bound { return nil }

// lineOf is the line of a chart whose title begins so.
func lineOf(t *testing.T, h *timeline, title, name string) []chart.Point {
	t.Helper()
	for _, c := range h.charts(noLimits, 0) {
		for _, l := range c.Lines {
			if strings.HasPrefix(c.Title, title) && l.Name == name {
				return l.Points
			}
		}
	}
	t.Fatalf("there is no line %s of %s", name, title)
	return nil
}

// However long a run is, its lines have a bounded number of points and forget no
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
		h.take(&record.Record{Due: end - int64(time.Second), First: end - int64(time.Second) + ttft, Last: end, End: end, Outcome: llm.OK, OutputTokens: 7, Streamed: true})
	}
	h.take(&record.Record{Due: 1, End: int64(time.Minute), Outcome: llm.Timeout, OutputTokens: 7})
	// One that was never begun is in flight at no time.
	unsent := &record.Record{Due: int64(9 * time.Minute), End: int64(minutes * time.Minute), Outcome: llm.Unsent}
	h.begin(unsent)
	h.add(unsent)
	if h.list[0].began != h.list[0].ended+11 {
		t.Errorf("in the first stretch %d requests began and %d ended, want the ten of a second between them and the one that timed out", h.list[0].began, h.list[0].ended)
	}
	h.begin(&record.Record{Due: int64(minutes * time.Minute), Begin: int64(minutes * time.Minute)})
	replies, tokens := 0, 0
	for _, s := range h.list {
		replies, tokens = replies+s.replies, tokens+s.tokens
	}
	if replies != 6000 || tokens != 42000 || len(h.list) > maxStretches || len(h.list) < maxStretches/2 {
		t.Errorf("%d stretches hold %d replies with %d tokens, want 6000 with 42000 in %d to %d", len(h.list), replies, tokens, maxStretches/2, maxStretches)
	}
	if h.inFlight() != 1 {
		t.Errorf("%d requests are in flight, want the one that has not ended", h.inFlight())
	}
	p99 := lineOf(t, &h, "time to first token", "p99")
	if len(p99) != len(h.list)-1 {
		t.Fatalf("%d points for %d stretches that are over", len(p99), len(h.list)-1)
	}
	for i, want := range map[int]float64{1: 50, len(p99) - 1: 100} {
		if p99[i].Y != want {
			t.Errorf("at %v s ttft is %v ms, want %v", p99[i].X, p99[i].Y, want)
		}
	}
	// Ten a second, each for a second.
	if p := lineOf(t, &h, "requests in flight", "in flight")[40]; p.Y < 9 || p.Y > 11 {
		t.Errorf("at %v s %v requests are in flight, want about 10", p.X, p.Y)
	}
	if p := lineOf(t, &h, "requests served", "served")[40]; p.Y < 9 || p.Y > 11 {
		t.Errorf("at %v s %v requests are served a second, want about 10", p.X, p.Y)
	}
}

// A stage that begins a quarter of an hour after the experiment has a line from
// its own first request on; what the server said before is not drawn.
func TestATimelineBeginsWithItsStage(t *testing.T) {
	t.Parallel()
	var h timeline
	waiting := func(n float64) *telemetry.Reading { return &telemetry.Reading{Waiting: &n} }
	h.gauge(int64(time.Minute), waiting(99))
	for i := range 10 {
		end := int64(15*time.Minute) + int64(i)*int64(time.Second)
		h.take(&record.Record{Due: end - int64(200*time.Millisecond), End: end, Outcome: llm.OK})
		h.gauge(end, waiting(float64(i)))
	}
	if len(h.list) != 10 || h.list[0].replies == 0 || h.length != int64(time.Second) {
		t.Errorf("ten seconds are %d stretches of %v: %v", len(h.list), time.Duration(h.length), h.list)
	}
	if line := lineOf(t, &h, "requests in flight", "waiting, by the server"); len(line) != 9 || line[3].Y != 3 {
		t.Errorf("the queue is %v, want 0 to 8", line)
	}
}
