package load

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
)

// A plain stage sends what it measures and nothing else, and its window lasts
// until the last reply has ended.
func TestPlainSendsNothingBehindTheWindow(t *testing.T) {
	for _, c := range []struct {
		what  string
		stage Stage
		want  []fate
		end   time.Duration
	}{
		{"open, by number", Stage{Arrivals: every(100 * ms), Requests: 3},
			[]fate{ok(0, record.Measure, 0, 250*ms), ok(1, record.Measure, 100*ms, 250*ms), ok(2, record.Measure, 200*ms, 250*ms)}, 450 * ms},
		{"open, by time", Stage{Arrivals: every(100 * ms), Duration: 150 * ms},
			[]fate{ok(0, record.Measure, 0, 250*ms), ok(1, record.Measure, 100*ms, 250*ms)}, 350 * ms},
		{"open, by time, with one due at its end", Stage{Arrivals: every(100 * ms), Duration: 200 * ms},
			[]fate{ok(0, record.Measure, 0, 250*ms), ok(1, record.Measure, 100*ms, 250*ms)}, 350 * ms},
		{"closed, by time, with ends at its end", Stage{Cap: 1, Duration: 500 * ms},
			[]fate{withCap(ok(0, record.Measure, 0, 250*ms)), withCap(ok(1, record.Measure, 250*ms, 250*ms))}, 500 * ms},
		{"all at once", Stage{Cap: 3, Requests: 3},
			[]fate{withCap(ok(0, record.Measure, 0, 250*ms)), withCap(ok(1, record.Measure, 0, 250*ms)), withCap(ok(2, record.Measure, 0, 250*ms))}, 250 * ms},
		{"closed", Stage{Cap: 2, Requests: 3},
			[]fate{withCap(ok(0, record.Measure, 0, 250*ms)), withCap(ok(1, record.Measure, 0, 250*ms)), withCap(ok(2, record.Measure, 250*ms, 250*ms))}, 500 * ms},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := c.stage
			s.Plain, s.Warmup, s.Drain = true, durationPointer(0), time.Minute
			p := play(t, s, always(after(250*ms)))
			got := p.fates()
			slices.SortFunc(got, func(a, b fate) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Session, b.Session)) })
			for i := range got {
				got[i].Session = i // which user of a closed loop comes first is chance
			}
			expect.Same(t, c.want, got)
			if got := time.Duration(p.WindowEnd - p.WindowStart); got != c.end || p.Stopped != "" {
				t.Errorf("the window lasts %s, stopped %q, want %s and no reason", got, p.Stopped, c.end)
			}
		})
	}
}

// A request that is due at the end of the window may come before the timer of the end:
// it ends the window in time, and nothing ran out.
func TestAPlainWindowEndsInTime(t *testing.T) {
	w := newWindow(&Stage{Warmup: durationPointer(0), Duration: 200, Plain: true}, 100)
	if _, taken := w.admit(299, &llm.Request{}); !taken {
		t.Error("a request of the window is refused")
	}
	if _, taken := w.admit(300, &llm.Request{}); taken || w.shortfall() != "" || !w.isOver() {
		t.Errorf("a request at the end is taken in: %t, over: %t, for %q", taken, w.isOver(), w.shortfall())
	}
}
