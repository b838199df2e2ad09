package load

import (
	"sync/atomic"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// TestAdaptiveWarmup: where every request takes m, those that still run add
// m²/2 for each arrival per second to what the ended ones took, so that the
// warm-up ends at t = 2 (m + m²/2(t−m)), which is 2.618 m.
func TestAdaptiveWarmup(t *testing.T) {
	for _, tt := range []struct {
		name   string
		gap    time.Duration
		answer reply
		start  time.Duration
		cut    bool
	}{
		{"fifty requests decide where answers are fast: the 51st is due at 5 s", 100 * ms, after(20 * ms), 5 * time.Second, false},
		{"the start is rounded up to a whole second: the 51st is due at 6.5 s", 130 * ms, after(20 * ms), 7 * time.Second, false},
		{"twice the mean e2e decides where answers are slow: 10.5 s", 10 * ms, after(4 * time.Second), 11 * time.Second, false},
		{"twice the mean e2e, rounded up: 13.1 s", 10 * ms, after(5 * time.Second), 14 * time.Second, false},
		{"the e2e ends with the last token", 10 * ms, reply{ttft: time.Second, gap: time.Second, tokens: 4}, 11 * time.Second, false},
		{"no answer within the limit", 500 * ms, reply{hang: true}, time.Minute, true},
		{"answers too slow for the limit", 500 * ms, after(31 * time.Second), time.Minute, true},
		{"nothing but faults", 500 * ms, reply{fault: &llm.Fault{Outcome: llm.HTTP}}, time.Minute, true},
		{"too few requests, none of them at the limit", 35 * time.Second, after(20 * ms), time.Minute, true},
		{"too few requests, one of them at the limit", 20 * time.Second, after(20 * ms), time.Minute, true},
		{"the 51st is due at the limit", 1200 * ms, after(20 * ms), time.Minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := play(t, Stage{Arrivals: every(tt.gap), Duration: 40 * time.Second, Drain: time.Second}, always(tt.answer))
			want := [2]time.Duration{tt.start, tt.start + 40*time.Second}
			if p.window() != want || p.WarmupCut != tt.cut {
				t.Errorf("window %v, cut %v; want %v, %v", p.window(), p.WarmupCut, want, tt.cut)
			}
			for _, f := range p.fates() {
				phase := record.Measure
				switch {
				case f.Due < want[0]:
					phase = record.Warmup
				case f.Due >= want[1]:
					phase = record.Cooldown
				}
				if f.Phase != phase {
					t.Errorf("due at %v: %s, want %s", f.Due, f.Phase, phase)
				}
			}
		})
	}
}

// Whoever gives a short window does not wait a minute for a server that never settles.
func TestAShortWindowBoundsItsWarmup(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{5 * time.Second: 20 * time.Second, 30 * time.Second: 30 * time.Second, 5 * time.Minute: time.Minute, 0: time.Minute} {
		if got := (&Spec{Duration: window}).MaxAround(); got != want {
			t.Errorf("a window of %v: %v around it, want %v", window, got, want)
		}
	}
	p := play(t, Stage{Arrivals: every(100 * ms), MaxWarmup: (&Spec{Duration: 10 * time.Second}).MaxAround(), Duration: 10 * time.Second, Drain: time.Second}, always(after(31*time.Second)))
	if want := [2]time.Duration{20 * time.Second, 30 * time.Second}; p.window() != want || !p.WarmupCut {
		t.Errorf("window %v, cut %v; want %v", p.window(), p.WarmupCut, want)
	}
}

func TestAFixedWarmupMayBeLongerThanTheAdaptiveLimit(t *testing.T) {
	p := play(t, Stage{Arrivals: every(time.Second), Warmup: durationPointer(3 * time.Minute), Duration: 10 * time.Second, Drain: time.Second}, always(after(20*ms)))
	if want := [2]time.Duration{3 * time.Minute, 190 * time.Second}; p.window() != want || p.WarmupCut {
		t.Errorf("window %v, cut %v; want %v", p.window(), p.WarmupCut, want)
	}
}

// TestLateAdmissionKeepsPhasesContiguous takes requests in out of the order of
// their due times, as workers of a closed loop do when they end together.
func TestLateAdmissionKeepsPhasesContiguous(t *testing.T) {
	admit := func(w *window, due int64) place {
		t.Helper()
		p, ok := w.admit(due, &llm.Request{})
		if !ok {
			t.Fatalf("due %d was refused", due)
		}
		return p
	}
	t.Run("at the end of a full window", func(t *testing.T) {
		w := newWindow(&Stage{Warmup: durationPointer(0), Requests: 2}, 100)
		admit(w, 100)
		admit(w, 120)
		for i, due := range []int64{115, 119, 121, 130} {
			want := place{id: 2 + i, phase: record.Cooldown, due: max(due, 121)}
			if got := admit(w, due); got != want {
				t.Errorf("due %d: got %+v, want %+v", due, got, want)
			}
		}
		if start, end := w.bounds(); start != 100 || end != 121 {
			t.Errorf("window [%d, %d), want [100, 121)", start, end)
		}
	})
	t.Run("at the start of the window", func(t *testing.T) {
		second := int64(time.Second)
		w := newWindow(&Stage{Duration: time.Minute}, second)
		for range warmupRequests - 1 {
			admit(w, second)
		}
		for range warmupRequests - 1 {
			w.finishRequest(&record.Record{Outcome: llm.OK, Due: second, Sent: 1, Last: 2})
		}
		admit(w, 3*second+5)
		if p := admit(w, 3*second-5); p.phase != record.Warmup || w.windowStart != 4*second {
			t.Errorf("%+v, window from %d; want the warm-up and %d", p, w.windowStart, 4*second)
		}
	})
}

// TestShortAnswersDoNotEndTheWarmupAlone: answers take from 1 to 10 s, 5.5 in
// the mean. When fifty requests were due, after 2.5 s, only the shortest have
// ended, and twice their mean has passed.
func TestShortAnswersDoNotEndTheWarmupAlone(t *testing.T) {
	var turn atomic.Int64
	p := play(t, Stage{Arrivals: every(50 * ms), Duration: 40 * time.Second, Drain: time.Second}, func(*llm.Request) reply {
		return after(time.Duration(1+turn.Add(1)%10) * time.Second)
	})
	if got := p.window()[0]; got < 11*time.Second || got > 15*time.Second {
		t.Errorf("the window starts at %v, want twice the mean of all answers and little more", got)
	}
}
