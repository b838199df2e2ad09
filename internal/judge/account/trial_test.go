package account

import (
	"testing"

	"redline/internal/judge/slo"
)

func TestAMeanIsNotMetBesideRequestsThatAreNotOK(t *testing.T) {
	t.Parallel()
	o := window(600, objectives(t, "ttft:mean<11ms")...)
	got := summarizeRecords(t, o, alike(600, func(i int, l *life) {
		if i%100 == 50 {
			fail(l)
		}
	})).Objectives[0]
	if want := "6 of 600 requests did not succeed, which is above any limit"; got.Standing != slo.Undecided || got.Note != want {
		t.Errorf("%+v, want undecided: %s", got, want)
	}
}

func TestAMeanIsNotMetWhileTheQueueGrows(t *testing.T) {
	t.Parallel()
	// Request i waits 20·i ms for its slot and is then served as ever.
	o := window(1200, objectives(t, "ttft:mean<60s")...)
	s := summarizeRecords(t, o, alike(1200, func(i int, l *life) {
		wait := 20 * int64(i)
		l.sent, l.end = l.sent+wait, l.end+wait
		for k := range l.chunks {
			l.chunks[k].at += wait
		}
	}))
	if got := s.Objectives[0]; !s.Window.Overloaded() || got.Standing != slo.Undecided || got.Note != growingQueue {
		t.Errorf("overload %v, %+v; want an overload in which no mean is met", s.Window.Overloaded(), got)
	}
}

// TestAFailedRequestStandsForAWholeReplysGaps: the window holds half of each
// ok reply's ten gaps, and a failed request still weighs as much as a whole
// one.
func TestAFailedRequestStandsForAWholeReplysGaps(t *testing.T) {
	t.Parallel()
	o := window(600, objectives(t, "icl:p50<1s")...)
	got := summarizeRecords(t, o, alike(600, func(i int, l *life) {
		if i == 0 {
			fail(l)
			return
		}
		l.chunks = nil
		for k := range int64(11) {
			at := l.due + 10 + 10*k
			if k > 5 {
				at += 1_000_000 // long after the window
			}
			l.chunks = append(l.chunks, chunk{at: at})
		}
		l.end = l.chunks[10].at
	})).Objectives[0]
	if got.N != 599*5+10 || got.Violations != 10 {
		t.Errorf("%d of %d gaps beyond the limit, want 10 of %d", got.Violations, got.N, 599*5+10)
	}
}
