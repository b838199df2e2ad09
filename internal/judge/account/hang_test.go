package account

import (
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
)

// hangingLives is a minute of requests at 10 a second of which every other one stops
// in mid reply, until the drain cuts it off a minute later.
func hangingLives(first int64) []life {
	var lives []life
	for i := range int64(600) {
		due := 1000 + 100*i
		one := life{due: due, sent: due, end: due + 500, chunks: steadily(due+100, 4, 101), usage: llm.Usage{OutputTokens: 101}, askedOutput: 101}
		if i%2 == 0 {
			one.outcome, one.end, one.usage = llm.Censored, 121_000, llm.Usage{}
			one.chunks = steadily(due+100, 4, int(first))
		}
		lives = append(lives, one)
	}
	return lives
}

// A reply that hangs has broken its pace once the time so far would be too long
// for all of its tokens, and a queue that grows argues for a miss and not
// against it.
func TestAServerThatHangsMisses(t *testing.T) {
	t.Parallel()
	o := Options{Start: 1000 * ms, End: 61_000 * ms, AskedRate: 10, Objectives: objectives(t, "tpot:p95<50ms", "e2e:p90<2s", "stall:p99<1s", "ttft:p99<1s")}
	s := summarize(t, o, hangingLives(50)...)
	if !s.Window.Overloaded() {
		t.Fatal("half of the requests hang, and the queue does not grow")
	}
	for i, want := range []slo.Standing{slo.Missed, slo.Missed, slo.Missed, slo.Met} {
		if v := s.Objectives[i]; v.Standing != want {
			t.Errorf("%s: %s, %q, want it %s", v.Objective, v.Standing, v.Note, want)
		}
	}
	// Without a first token nobody knows the pace.
	v := summarize(t, o, hangingLives(0)...).Objectives[0]
	if want := "300 unfinished requests count as over it, and the queue grows"; v.Standing != slo.Undecided || v.Note != want {
		t.Errorf("tpot of requests that never began: %s, %q, want undecided: %s", v.Standing, v.Note, want)
	}
}

// Four users whose requests hang one after the other keep four in flight, but
// nothing ends any more: that is not steady.
func TestNothingEndsAnyMore(t *testing.T) {
	t.Parallel()
	closed := func(hangs func(user, k int64) bool) metric.Window {
		var lives []life
		for user := range int64(4) {
			for at, k := 1000+25*user, int64(0); at < 61_000; k++ {
				one := life{due: at, sent: at, end: at + 100, chunks: steadily(at+50, 50, 2), usage: llm.Usage{OutputTokens: 2}}
				if hangs(user, k) {
					one.outcome, one.end, one.usage = llm.Censored, 121_000, llm.Usage{}
				}
				lives = append(lives, one)
				at = one.end
			}
		}
		return summarize(t, Options{Start: 1000 * ms, End: 61_000 * ms}, lives...).Window
	}
	if w := closed(func(int64, int64) bool { return false }); w.Steady == nil || !*w.Steady {
		t.Errorf("a server that goes on: %+v, want it steady", w)
	}
	if w := closed(func(user, k int64) bool { return k == 100+50*user }); w.Steady == nil || *w.Steady || w.SettledS != nil {
		t.Errorf("a server that answers no more from 25 s on: %+v, want it not steady", w)
	}
}
