package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
)

type outcomes = map[llm.Outcome]int
type phases = map[record.Phase]outcomes

func TestWhatEndsAStage(t *testing.T) {
	never := always(reply{hang: true})
	tokens := func(limit float64) []Budget {
		return []Budget{{Name: "--max-tokens-total", Limit: limit, Cost: func(prompt, output int) float64 { return float64(prompt + output) }}}
	}
	for _, tt := range []struct {
		name    string
		stage   Stage
		answer  func(*llm.Request) reply
		window  [2]time.Duration
		took    time.Duration
		stopped string
		by      phases
	}{
		{
			name:   "duration before requests",
			stage:  Stage{Arrivals: every(100 * ms), Warmup: durationPointer(0), Duration: 450 * ms, Requests: 6, Drain: time.Minute},
			answer: always(after(10 * ms)), window: [2]time.Duration{0, 450 * ms}, took: 450 * ms,
			by: phases{record.Measure: {llm.OK: 5}},
		},
		{
			// The window ends when its first request too many is due.
			name:   "requests before duration",
			stage:  Stage{Arrivals: every(100 * ms), Warmup: durationPointer(0), Duration: 2 * time.Second, Requests: 4, Drain: time.Minute},
			answer: always(after(10 * ms)), window: [2]time.Duration{0, 400 * ms}, took: 400 * ms,
			by: phases{record.Measure: {llm.OK: 4}, record.Cooldown: {llm.Censored: 1}},
		},
		{
			name:   "requests after a warm-up",
			stage:  Stage{Arrivals: every(100 * ms), Warmup: durationPointer(250 * ms), Requests: 2, Drain: time.Minute},
			answer: always(after(350 * ms)), window: [2]time.Duration{250 * ms, 500 * ms}, took: 750 * ms,
			by: phases{record.Warmup: {llm.OK: 3}, record.Measure: {llm.OK: 2}, record.Cooldown: {llm.Censored: 3}},
		},
		{
			name:   "a target that never answers, bounded by time",
			stage:  Stage{Arrivals: every(100 * ms), Warmup: durationPointer(0), Duration: 300 * ms, Drain: 250 * ms},
			answer: never, window: [2]time.Duration{0, 300 * ms}, took: 550 * ms,
			by: phases{record.Measure: {llm.Censored: 3}, record.Cooldown: {llm.Censored: 3}},
		},
		{
			name:   "a target that never answers, bounded by requests",
			stage:  Stage{Arrivals: every(100 * ms), Warmup: durationPointer(0), Requests: 3, Drain: 250 * ms},
			answer: never, window: [2]time.Duration{0, 300 * ms}, took: 450 * ms,
			by: phases{record.Measure: {llm.Censored: 3}, record.Cooldown: {llm.Censored: 2}},
		},
		{
			name:   "a closed loop that never gets an answer",
			stage:  Stage{Cap: 3, Warmup: durationPointer(0), Duration: 300 * ms, Drain: 250 * ms},
			answer: never, window: [2]time.Duration{0, 300 * ms}, took: 550 * ms,
			by: phases{record.Measure: {llm.Censored: 3}},
		},
		{
			name:   "a cap that never lets go",
			stage:  Stage{Arrivals: every(100 * ms), Cap: 2, Warmup: durationPointer(100 * ms), Duration: 300 * ms, Drain: 150 * ms},
			answer: never, window: [2]time.Duration{100 * ms, 400 * ms}, took: 550 * ms,
			by: phases{record.Warmup: {llm.Censored: 1}, record.Measure: {llm.Censored: 1, llm.Unsent: 2}, record.Cooldown: {llm.Unsent: 2}},
		},
		{
			name:   "the schedule runs out in the window",
			stage:  Stage{Arrivals: at(0, 100*ms, 200*ms), Warmup: durationPointer(50 * ms), Requests: 100, Drain: time.Minute},
			answer: always(after(70 * ms)), window: [2]time.Duration{50 * ms, 270 * ms}, took: 270 * ms, stopped: RanOut,
			by: phases{record.Warmup: {llm.OK: 1}, record.Measure: {llm.OK: 2}},
		},
		{
			name:   "a recorded schedule whose last reply ends before its window",
			stage:  Stage{Arrivals: at(0, 100*ms, 200*ms), Warmup: durationPointer(0), Duration: 300 * ms, Whole: true, Drain: time.Minute},
			answer: always(after(70 * ms)), window: [2]time.Duration{0, 300 * ms}, took: 300 * ms,
			by: phases{record.Measure: {llm.OK: 3}},
		},
		{
			name: "the sessions run out in the warm-up of a closed loop",
			stage: Stage{Cap: 4, Duration: time.Hour, Drain: time.Minute, Session: func(i int) llm.Session {
				if i < 2 {
					return singles(i)
				}
				return &conversation{}
			}},
			answer: always(after(70 * ms)), took: 70 * ms, stopped: RanOut,
			by: phases{record.Warmup: {llm.OK: 2}},
		},
		{
			name:   "the schedule runs out with the last request asked for",
			stage:  Stage{Arrivals: at(0, 100*ms), Warmup: durationPointer(0), Requests: 2, Drain: time.Minute},
			answer: always(after(70 * ms)), window: [2]time.Duration{0, 170 * ms}, took: 170 * ms,
			by: phases{record.Measure: {llm.OK: 2}},
		},
		{
			name:   "no arrival at all",
			stage:  Stage{Arrivals: at(), Duration: time.Hour, Drain: time.Minute},
			answer: never, stopped: RanOut,
			by: phases{},
		},
		{
			// Each request books 11 tokens and, since no usage tells
			// otherwise, uses 11: four fit into 50.
			name:   "a budget used up in the window",
			stage:  Stage{Arrivals: every(100 * ms), Warmup: durationPointer(150 * ms), Duration: time.Hour, Drain: time.Minute, Budgets: tokens(50)},
			answer: always(after(270 * ms)), window: [2]time.Duration{150 * ms, 400 * ms}, took: 570 * ms, stopped: "--max-tokens-total reached",
			by: phases{record.Warmup: {llm.OK: 2}, record.Measure: {llm.OK: 2}},
		},
		{
			name:   "a budget used up in the warm-up",
			stage:  Stage{Arrivals: every(100 * ms), Warmup: durationPointer(350 * ms), Duration: time.Hour, Drain: time.Minute, Budgets: tokens(25)},
			answer: always(after(450 * ms)), took: 550 * ms, stopped: "--max-tokens-total reached",
			by: phases{record.Warmup: {llm.OK: 2}},
		},
		{
			name:   "a budget used up in a closed loop whose target hangs",
			stage:  Stage{Cap: 5, Warmup: durationPointer(0), Duration: time.Hour, Drain: 2 * time.Second, Budgets: tokens(33)},
			answer: never, window: [2]time.Duration{0, 1}, took: 2 * time.Second, stopped: "--max-tokens-total reached",
			by: phases{record.Measure: {llm.Censored: 3, llm.Unsent: 2}},
		},
		{
			name:   "no drain",
			stage:  Stage{Arrivals: every(100 * ms), Warmup: durationPointer(0), Duration: 150 * ms},
			answer: always(after(70 * ms)), window: [2]time.Duration{0, 150 * ms}, took: 150 * ms,
			by: phases{record.Measure: {llm.OK: 1, llm.Censored: 1}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := play(t, tt.stage, tt.answer)
			if p.Stopped != tt.stopped || p.window() != tt.window || p.Took != tt.took {
				t.Errorf("stopped %q, window %v, took %v; want %q, %v, %v", p.Stopped, p.window(), p.Took, tt.stopped, tt.window, tt.took)
			}
			expect.Same(t, tt.by, p.by())
		})
	}
}

// TestABusyScheduleDoesNotOutlastItsStage has hundreds of sessions prepared
// when the stage ends.
func TestABusyScheduleDoesNotOutlastItsStage(t *testing.T) {
	p := play(t, Stage{Arrivals: every(ms), Warmup: durationPointer(0), Duration: time.Second, Drain: time.Minute}, always(after(10*ms)))
	// The last stretch of a wait cannot be cut short.
	if p.Took < 1009*ms || p.Took > 1012*ms {
		t.Errorf("took %v, want 1.009s and at most 3ms more", p.Took)
	}
}

// TestALateDispatcherLosesNothing makes sessions so slowly that the schedule
// is behind when the window ends.
func TestALateDispatcherLosesNothing(t *testing.T) {
	p := play(t, Stage{Arrivals: every(10 * ms), Warmup: durationPointer(0), Duration: 100 * ms, Drain: time.Minute,
		Session: func(i int) llm.Session {
			time.Sleep(25 * ms)
			return singles(i)
		}}, always(after(ms)))
	for i, f := range p.fates()[:10] {
		due, begin := time.Duration(i)*10*ms, time.Duration(i+1)*25*ms
		want := fate{Session: i, Phase: record.Measure, Outcome: llm.OK, Due: due, Begin: begin, Slot: -1, Sent: begin, Last: begin + ms, End: begin + ms}
		expect.NoDiff(t, cmp.Diff(want, f), "request %d (-want +got)", i)
		if lag := time.Duration(p.records[i].Sent - max(p.records[i].Due, p.records[i].Slot, p.records[i].Conn)); lag != begin-due {
			t.Errorf("request %d: lag %v, want %v", i, lag, begin-due)
		}
	}
	if want := [2]time.Duration{0, 100 * ms}; p.window() != want || p.Stopped != "" {
		t.Errorf("window %v, stopped %q; want %v", p.window(), p.Stopped, want)
	}
}

// TestStop stops one load at different moments: requests are due every 100 ms
// and take 250 ms, the window is from 300 ms to 1 s. A moment on which nothing
// else falls makes each outcome certain.
func TestStop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		when   time.Duration
		grace  time.Duration
		window [2]time.Duration
		took   time.Duration
		by     phases
	}{
		{"at the start", 0, time.Second, [2]time.Duration{}, 250 * ms, phases{record.Warmup: {llm.OK: 1}}},
		{"in the warm-up, in good grace", 120 * ms, time.Second, [2]time.Duration{}, 350 * ms, phases{record.Warmup: {llm.OK: 2}}},
		{"in the warm-up, ending after its planned end", 290 * ms, time.Second, [2]time.Duration{}, 450 * ms, phases{record.Warmup: {llm.OK: 3}}},
		{"in the window, in good grace", 620 * ms, time.Second, [2]time.Duration{300 * ms, 620 * ms}, 850 * ms,
			phases{record.Warmup: {llm.OK: 3}, record.Measure: {llm.OK: 4}}},
		{"in the window, with too little grace", 620 * ms, 100 * ms, [2]time.Duration{300 * ms, 620 * ms}, 720 * ms,
			phases{record.Warmup: {llm.OK: 3}, record.Measure: {llm.OK: 2, llm.Cancelled: 2}}},
		{"in the window, without grace", 620 * ms, 0, [2]time.Duration{300 * ms, 620 * ms}, 620 * ms,
			phases{record.Warmup: {llm.OK: 3}, record.Measure: {llm.OK: 1, llm.Cancelled: 3}}},
		{"in the cool-down", 1120 * ms, time.Second, [2]time.Duration{300 * ms, time.Second}, 1350 * ms,
			phases{record.Warmup: {llm.OK: 3}, record.Measure: {llm.OK: 7}, record.Cooldown: {llm.OK: 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stage := Stage{Arrivals: every(100 * ms), Warmup: durationPointer(300 * ms), Duration: 700 * ms, Drain: time.Minute, Grace: tt.grace}
			bubble(t, func(t *testing.T, c *clock.Clock) {
				stop := make(chan struct{})
				time.AfterFunc(tt.when+1, func() { close(stop) })
				stage.Stop = stop
				p := drive(t.Context(), t, c, &script{clock: c, answer: always(after(250 * ms))}, stage)
				late := func(d time.Duration) bool { return d == 0 || d == 1 }
				window := p.window()
				if p.Stopped != interrupted || window[0] != tt.window[0] || !late(window[1]-tt.window[1]) || !late(p.Took-tt.took) {
					t.Errorf("stopped %q, window %v, took %v; want %v, %v", p.Stopped, window, p.Took, tt.window, tt.took)
				}
				expect.Same(t, tt.by, p.by())
			})
		})
	}
}

func TestCancelEndsAStageAtOnce(t *testing.T) {
	for _, moment := range []time.Duration{-1, 1, 250*ms + 1, 650*ms + 1, 1050*ms + 1} {
		t.Run(moment.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, c *clock.Clock) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if moment < 0 {
					cancel()
				}
				time.AfterFunc(moment, cancel)
				p := drive(ctx, t, c, &script{clock: c, answer: always(after(300 * ms))},
					Stage{Arrivals: every(100 * ms), Cap: 2, Warmup: durationPointer(300 * ms), Duration: 700 * ms, Drain: time.Minute, Grace: time.Hour})
				if p.Stopped != interrupted || p.Took != max(0, moment) {
					t.Errorf("stopped %q after %v, want at %v", p.Stopped, p.Took, moment)
				}
				// Nothing is due after the cancellation, and nothing due
				// before it is lost.
				if want := int(moment/(100*ms)) + 1; p.Counts.Due != want && moment > 0 {
					t.Errorf("%d were due, want %d", p.Counts.Due, want)
				}
				for _, f := range p.fates() {
					if f.Due > p.Took || f.End > p.Took {
						t.Errorf("after the end at %v: %+v", p.Took, f)
					}
				}
				if by := p.Counts.By; by[llm.OK]+by[llm.Unsent]+by[llm.Cancelled] != p.Counts.Due || by[llm.Cancelled] > 2 {
					t.Errorf("counts %+v", p.Counts)
				}
			})
		})
	}
}

func TestBudgetCountsWhatWasUsed(t *testing.T) {
	// Each request books 110 tokens but uses 12: ten times as many fit.
	session := func(int) llm.Session {
		return llm.Single(&llm.Request{PromptTokens: 10, MaxTokens: 100, Stream: true})
	}
	p := play(t, Stage{Cap: 1, Session: session, Warmup: durationPointer(0), Duration: time.Hour, Drain: time.Minute,
		Budgets: []Budget{{Name: "tokens", Limit: 1200, Cost: func(prompt, output int) float64 { return float64(prompt + output) }}}},
		always(reply{ttft: ms, tokens: 2}))
	// After 91 requests 1092 are used and 110 do not fit any more.
	if want := (Counts{Due: 91, By: map[llm.Outcome]int{llm.OK: 91}}); !cmp.Equal(p.Counts, want) || p.Stopped != "tokens reached" {
		t.Errorf("%+v, stopped %q; want %+v", p.Counts, p.Stopped, want)
	}
}

func TestBudgetCountsWhatIsUsedBeside(t *testing.T) {
	session := func(int) llm.Session {
		return llm.Single(&llm.Request{PromptTokens: 10, MaxTokens: 100, Stream: true})
	}
	p := play(t, Stage{Cap: 1, Session: session, Warmup: durationPointer(0), Duration: time.Hour, Drain: time.Minute,
		Beside:  func() (prompt, output int) { return 200, 400 },
		Budgets: []Budget{{Name: "tokens", Limit: 1200, Cost: func(prompt, output int) float64 { return float64(prompt + output) }}}},
		always(reply{ttft: ms, tokens: 2}))
	// After 41 requests of 12, 492 are used, and 600 beside them: 110 do not fit
	// any more.
	if want := (Counts{Due: 41, By: map[llm.Outcome]int{llm.OK: 41}}); !cmp.Equal(p.Counts, want) || p.Stopped != "tokens reached" {
		t.Errorf("%+v, stopped %q; want %+v", p.Counts, p.Stopped, want)
	}
}

func TestFaultsOfATarget(t *testing.T) {
	sent := func(c *clock.Clock, yield yield) { yield(llm.Event{Kind: llm.Sent, At: c.Now()}, nil) }
	for _, tt := range []struct {
		name   string
		target func(c *clock.Clock, ctx ctx, yield yield)
		want   llm.Outcome
		why    string
	}{
		{"an error that is no fault", func(c *clock.Clock, _ ctx, yield yield) {
			sent(c, yield)
			yield(llm.Event{}, errors.New("bad luck"))
		}, llm.Malformed, "bad luck"},
		{"a fault without a time", func(c *clock.Clock, _ ctx, yield yield) {
			sent(c, yield)
			yield(llm.Event{}, &llm.Fault{Outcome: llm.Rejected, Status: 429, Message: "slow down"})
		}, llm.Rejected, "slow down"},
		{"a stream that stops without a word", func(c *clock.Clock, _ ctx, yield yield) { sent(c, yield) },
			llm.Truncated, "the target stopped without a word"},
		{"a stream that closes without output", func(c *clock.Clock, _ ctx, yield yield) {
			sent(c, yield)
			yield(llm.Event{Kind: llm.End, At: c.Now()}, nil)
		}, llm.Empty, "the stream closed without output"},
		{"the context's own error at the end of the drain", func(c *clock.Clock, ctx ctx, yield yield) {
			sent(c, yield)
			<-ctx.Done()
			yield(llm.Event{}, ctx.Err())
		}, llm.Censored, "still running when the drain ended"},
		{"silence at the end of the drain", func(c *clock.Clock, ctx ctx, yield yield) {
			sent(c, yield)
			<-ctx.Done()
		}, llm.Censored, "still running when the drain ended"},
		{"not even sent at the end of the drain", func(_ *clock.Clock, ctx ctx, yield yield) {
			<-ctx.Done()
			yield(llm.Event{}, &llm.Fault{Outcome: llm.Cancelled})
		}, llm.Unsent, "still running when the drain ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *clock.Clock) {
				target := targetFunc(func(ctx ctx, yield yield) {
					time.Sleep(30 * ms)
					tt.target(c, ctx, yield)
				})
				p := drive(t.Context(), t, c, target, Stage{Arrivals: at(0), Warmup: durationPointer(0), Duration: 100 * ms, Drain: time.Second})
				r := p.records[0]
				if r.Outcome != tt.want || r.Error != tt.why || r.End < p.Start+int64(30*ms) {
					t.Errorf("%s (%s), ended %v after the start; want %s (%s)", r.Outcome, r.Error, time.Duration(r.End-p.Start), tt.want, tt.why)
				}
			})
		})
	}
}

func TestImpossibleStages(t *testing.T) {
	for _, tt := range []struct {
		stage Stage
		want  string
	}{
		{Stage{Cap: 1, Duration: time.Second}, "a stage needs sessions"},
		{Stage{Session: singles, Duration: time.Second}, "a stage needs a rate or a concurrency"},
		{Stage{Session: singles, Cap: 1}, "a stage needs a duration or a number of requests"},
	} {
		_, err := Run(t.Context(), clock.New(), targetFunc(nil), tt.stage, &Progress{}, nil)
		if err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// Whoever stops a run whose client is late is not told that requests were not sent: the
// window ends where the client had got to.
func TestAStopOwesNothingThatIsLate(t *testing.T) {
	w := newWindow(&Stage{Arrivals: every(100 * ms), Warmup: durationPointer(0), Duration: time.Minute}, 1)
	w.advance(101)
	if _, ok := w.admit(101, &llm.Request{}); !ok {
		t.Fatal("the first request is not taken in")
	}
	w.advance(201)
	w.closeEarly(901)
	if _, end := w.bounds(); end != 201 || w.owes(201) || w.owes(801) {
		t.Errorf("the window ends at %d, owes what was due at 201: %v, at 801: %v; want 201 and neither", end, w.owes(201), w.owes(801))
	}
}
