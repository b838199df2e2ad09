package load

import (
	"slices"
	"sync"
	"testing"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
)

// A window is looked at where it is to be, and ends with the look that decides:
// at the next whole second after it, however long the look took.
func TestLooksEndTheWindow(t *testing.T) {
	t.Parallel()
	looks := []time.Duration{60 * time.Second, 90 * time.Second, 134 * time.Second}
	for _, tt := range []struct {
		name   string
		decide int // the look that decides, from 1
		takes  time.Duration
		taken  int
		length time.Duration
	}{
		{"the first", 1, 0, 1, 60 * time.Second},
		{"the second", 2, 0, 2, 90 * time.Second},
		{"none", 0, 0, 3, 200 * time.Second},
		{"a slow one", 1, 300 * ms, 1, 61 * time.Second},
		{"one that outlasts the window", 1, 10 * time.Minute, 1, 200 * time.Second},
		{"one that outlasts the next look", 3, 40 * time.Second, 2, 200 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var taken []Look
			// The first arrival after a look comes half a gap later.
			arrivals := func(yield func(int64) bool) {
				for at := range every(100 * ms) {
					if !yield(at + int64(50*ms)) {
						return
					}
				}
			}
			p := play(t, Stage{Arrivals: arrivals, Warmup: durationPointer(5 * time.Second), Duration: 200 * time.Second, Drain: time.Minute,
				Looks: looks, Decided: func(l Look) bool {
					mu.Lock()
					taken = append(taken, l)
					n := len(taken)
					mu.Unlock()
					time.Sleep(tt.takes)
					return n == tt.decide
				}}, always(reply{ttft: 100 * ms, gap: 100 * ms, tokens: 10}))
			want := [2]time.Duration{5 * time.Second, 5*time.Second + tt.length}
			if p.window() != want || len(taken) != tt.taken || p.Stopped != "" {
				t.Errorf("window %v after %d looks, stopped by %q; want %v after %d", p.window(), len(taken), p.Stopped, want, tt.taken)
			}
			for _, l := range taken {
				if l.Start != p.WindowStart || len(l.Unfinished) != 10 {
					t.Errorf("a look at %d to %d with %d unfinished; want the window's start, and ten that take a second each", l.Start, l.End, len(l.Unfinished))
				}
			}
		})
	}
}

// What a look sees of requests that have not ended is what their records will
// say, but for the end.
func TestLooksSeeWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	var seen Look
	p := play(t, Stage{Arrivals: at(1*time.Second, 58*time.Second, 59*time.Second, 59500*ms, 3*time.Minute), Warmup: durationPointer(0),
		Duration: 2 * time.Minute, Drain: time.Minute, Looks: []time.Duration{time.Minute}, Decided: func(l Look) bool {
			seen = l
			return false
		}}, always(reply{ttft: 1500 * ms, gap: time.Second, tokens: 20}))
	slices.SortFunc(seen.Unfinished, func(a, b *record.Record) int { return a.ID - b.ID })
	type state struct {
		ID               int
		Outcome          llm.Outcome
		Due, Sent, First int64
	}
	var got, want []state
	for _, r := range seen.Unfinished {
		got = append(got, state{r.ID, r.Outcome, r.Due, r.Sent, r.First})
		if r.End != seen.End {
			t.Errorf("request %d ends at %d, want the look's %d", r.ID, r.End, seen.End)
		}
	}
	for _, r := range p.records[1:4] {
		first := r.First
		if first > seen.End {
			first = 0
		}
		want = append(want, state{r.ID, llm.Censored, r.Due, r.Sent, first})
	}
	expect.Same(t, want, got)
	if want[0].First == 0 || want[2].First != 0 {
		t.Errorf("the look is to see one request after its first output and one before: %+v", want)
	}
}

// A stage that is stopped while it is looked at ends as any other.
func TestStoppedDuringALook(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *clock.Clock) {
		stop := make(chan struct{})
		time.AfterFunc(61050*ms, func() { close(stop) })
		p := drive(t.Context(), t, c, &script{clock: c, answer: always(after(20 * ms))}, Stage{Arrivals: every(100 * ms),
			Warmup: durationPointer(0), Duration: 5 * time.Minute, Drain: time.Minute, Stop: stop, Grace: time.Second,
			Looks: []time.Duration{time.Minute}, Decided: func(Look) bool { time.Sleep(3 * time.Second); return true }})
		if want := [2]time.Duration{0, 61050 * ms}; p.Stopped != interrupted || p.window() != want {
			t.Errorf("stopped by %q after %v, want %v", p.Stopped, p.window(), want)
		}
	})
}
