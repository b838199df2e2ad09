package load

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
)

// breakAt feeds outcomes to a breaker and gives after how many it broke, or 0.
func breakAt(limit float64, outcomes ...[]llm.Outcome) int {
	b := breaker{limit: limit}
	n := 0
	for _, some := range outcomes {
		for _, o := range some {
			n++
			if b.observe(o) {
				return n
			}
		}
	}
	return 0
}

func times(n int, pattern ...llm.Outcome) (list []llm.Outcome) {
	for range n {
		list = append(list, pattern...)
	}
	return list
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		limit float64
		ended [][]llm.Outcome
		want  int
	}{
		{"no limit", 0, [][]llm.Outcome{times(1000, llm.HTTP)}, 0},
		{"nothing but faults", 0.5, [][]llm.Outcome{times(1000, llm.HTTP)}, 50},
		{"rejections are faults", 0.5, [][]llm.Outcome{times(1000, llm.Rejected)}, 50},
		{"half is not more than half", 0.5, [][]llm.Outcome{times(1000, llm.OK, llm.HTTP)}, 0},
		{"just more than half", 0.5, [][]llm.Outcome{times(26, llm.HTTP), times(23, llm.OK), times(1, llm.HTTP)}, 50},
		// After 1000 good ones the 51st fault is more than half of the last 100.
		{"late in a long run", 0.5, [][]llm.Outcome{times(1000, llm.OK), times(1000, llm.Reset)}, 1051},
		{"a bad patch long ago", 0.3, [][]llm.Outcome{times(60, llm.OK), times(25, llm.Reset), times(500, llm.OK), times(25, llm.Reset), times(500, llm.OK)}, 0},
		{"what the stage itself ended", 0.1, [][]llm.Outcome{times(500, llm.Cancelled, llm.Censored, llm.Unsent)}, 0},
		{"and does not dilute", 0.5, [][]llm.Outcome{times(49, llm.HTTP), times(500, llm.Censored), times(1, llm.HTTP)}, 550},
	} {
		if got := breakAt(tt.limit, tt.ended...); got != tt.want {
			t.Errorf("%s: broke after %d, want %d", tt.name, got, tt.want)
		}
	}
}

// A server that begins to fail in mid run ends the run: nothing more is sent,
// what is in flight may end, and what waits for a slot is not sent.
func TestBreakerEndsAStage(t *testing.T) {
	t.Parallel()
	failing := func(from int) func(*llm.Request) reply {
		return func(r *llm.Request) reply {
			if r.ID < llm.RequestID("", from) {
				return after(45 * ms)
			}
			return reply{ttft: 45 * ms, tokens: 1, fault: &llm.Fault{Outcome: llm.Reset, Message: "cut"}}
		}
	}
	const why = "51 of the last 100 requests failed or were rejected, more than --max-error-rate 0.5"
	for _, tt := range []struct {
		name   string
		limit  float64
		stage  Stage
		window [2]time.Duration
		want   Outcome
		by     phases
	}{
		// Requests 150 to 200 fail; the last of them ends at 2045 ms, when
		// those due at 2010 to 2040 ms are in flight.
		{"open", 0.5, Stage{Arrivals: every(10 * ms), Warmup: durationPointer(time.Second), Duration: time.Hour, Drain: time.Minute},
			[2]time.Duration{1000 * ms, 2045 * ms},
			Outcome{Stopped: why, Broke: true, Counts: Counts{Due: 205, By: map[llm.Outcome]int{llm.OK: 150, llm.Reset: 55}}},
			phases{record.Warmup: {llm.OK: 100}, record.Measure: {llm.OK: 50, llm.Reset: 55}}},
		// One at a time and 45 ms each: request 200 ends at 201 × 45 = 9045 ms,
		// when the next one has its slot already, and all others due before, of
		// 905 in all, wait for it.
		{"capped", 0.5, Stage{Arrivals: every(10 * ms), Cap: 1, Warmup: durationPointer(time.Second), Duration: time.Hour, Drain: time.Minute},
			[2]time.Duration{1000 * ms, 9045 * ms},
			Outcome{Stopped: why, Broke: true, Counts: Counts{Due: 905, By: map[llm.Outcome]int{llm.OK: 150, llm.Reset: 52, llm.Unsent: 703}}},
			phases{record.Warmup: {llm.OK: 100}, record.Measure: {llm.OK: 50, llm.Reset: 52, llm.Unsent: 703}}},
		{"in the warm-up", 0.5, Stage{Arrivals: every(10 * ms), Warmup: durationPointer(time.Minute), Duration: time.Hour, Drain: time.Minute},
			[2]time.Duration{},
			Outcome{Stopped: why, Broke: true, Counts: Counts{Due: 205, By: map[llm.Outcome]int{llm.OK: 150, llm.Reset: 55}}},
			phases{record.Warmup: {llm.OK: 150, llm.Reset: 55}}},
		{"not asked for", 0, Stage{Arrivals: every(10 * ms), Warmup: durationPointer(0), Duration: 3 * time.Second, Drain: time.Minute},
			[2]time.Duration{0, 3 * time.Second},
			Outcome{Counts: Counts{Due: 304, By: map[llm.Outcome]int{llm.OK: 150, llm.Reset: 150, llm.Censored: 4}}},
			phases{record.Measure: {llm.OK: 150, llm.Reset: 150}, record.Cooldown: {llm.Censored: 4}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.stage.MaxErrorRate = tt.limit
			p := play(t, tt.stage, failing(150))
			tt.want.Start, tt.want.WindowStart, tt.want.WindowEnd = p.Start, p.WindowStart, p.WindowEnd
			expect.NoDiff(t, cmp.Diff(tt.want, p.Outcome), "outcome (-want +got)")
			expect.NoDiff(t, cmp.Diff(tt.by, p.by()), "by phase (-want +got)")
			expect.NoDiff(t, cmp.Diff(tt.window, p.window()), "window (-want +got)")
		})
	}
}

// A retried request counts once, with its last try.
func TestBreakerCountsRequestsNotTries(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	p := play(t, Stage{Arrivals: every(time.Second), Warmup: durationPointer(0), Requests: 120, Drain: time.Minute,
		MaxErrorRate: 0.1, Retries: Retries{Max: 1, Backoff: 100 * ms}},
		func(r *llm.Request) reply {
			if seen[r.ID] {
				return after(50 * ms)
			}
			seen[r.ID] = true
			return rejection(0)
		})
	if p.Broke || p.Counts.By[llm.OK] != 120 {
		t.Errorf("broke %t, %+v; want 120 requests ok, each at its second try", p.Broke, p.Counts)
	}
}
