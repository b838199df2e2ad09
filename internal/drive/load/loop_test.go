package load

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
)

// ok is a request of one token that met nobody in its way.
func ok(session int, phase record.Phase, due, took time.Duration) fate {
	return fate{Session: session, Phase: phase, Outcome: llm.OK, Due: due, Begin: due, Slot: -1, Sent: due, Last: due + took, End: due + took}
}

// withCap is the same with a cap that let it through at once.
func withCap(f fate) fate {
	f.Slot = f.Due
	return f
}

// outcome is the same with another end.
func (f fate) withEnd(o llm.Outcome, end time.Duration) fate {
	f.Outcome, f.Last, f.End = o, -1, end
	return f
}

func TestOpenLoopOffersItsScheduleHoweverSlowTheTarget(t *testing.T) {
	schedule := []time.Duration{0, 10 * ms, 10 * ms, 35 * ms, 900 * ms}
	for _, took := range []time.Duration{ms, 100 * ms, 30 * time.Second} {
		t.Run(took.String(), func(t *testing.T) {
			p := play(t, Stage{Arrivals: at(schedule...), Warmup: durationPointer(20 * ms), Duration: time.Second, Drain: time.Minute},
				always(after(took)))
			var want []fate
			for i, due := range schedule {
				phase := record.Measure
				if due < 20*ms {
					phase = record.Warmup
				}
				want = append(want, ok(i, phase, due, took))
			}
			expect.Same(t, want, p.fates())
		})
	}
}

func TestPhasesFlowIntoOneAnother(t *testing.T) {
	p := play(t, Stage{Arrivals: every(100 * ms), Warmup: durationPointer(200 * ms), Duration: 300 * ms, Drain: time.Minute}, always(after(250*ms)))
	// The window's last request, due at 400 ms, ends at 650 ms: until then
	// the schedule runs on.
	want := []fate{
		ok(0, record.Warmup, 0, 250*ms),
		ok(1, record.Warmup, 100*ms, 250*ms),
		ok(2, record.Measure, 200*ms, 250*ms),
		ok(3, record.Measure, 300*ms, 250*ms),
		ok(4, record.Measure, 400*ms, 250*ms),
		ok(5, record.Cooldown, 500*ms, 0).withEnd(llm.Censored, 650*ms),
		ok(6, record.Cooldown, 600*ms, 0).withEnd(llm.Censored, 650*ms),
	}
	expect.Same(t, want, p.fates())
	wantOutcome := Outcome{Start: int64(time.Second), WindowStart: int64(1200 * ms), WindowEnd: int64(1500 * ms),
		Counts: Counts{Due: 7, By: map[llm.Outcome]int{llm.OK: 5, llm.Censored: 2}}}
	expect.NoDiff(t, cmp.Diff(wantOutcome, p.Outcome), "outcome (-want +got)")
	if p.Took != 650*ms {
		t.Errorf("the stage took %v, want 650ms", p.Took)
	}
}

func TestClosedLoopAsksAgainWhenAnswered(t *testing.T) {
	p := play(t, Stage{Cap: 2, Stagger: 100 * ms, Warmup: durationPointer(0), Duration: 300 * ms, Drain: time.Minute}, always(after(100*ms)))
	want := []fate{
		withCap(ok(0, record.Measure, 0, 100*ms)),
		withCap(ok(1, record.Measure, 50*ms, 100*ms)),
		withCap(ok(2, record.Measure, 100*ms, 100*ms)),
		withCap(ok(3, record.Measure, 150*ms, 100*ms)),
		withCap(ok(4, record.Measure, 200*ms, 100*ms)),
		withCap(ok(5, record.Measure, 250*ms, 100*ms)),
		withCap(ok(6, record.Cooldown, 300*ms, 0)).withEnd(llm.Censored, 350*ms),
	}
	// The slot of the window's last request is freed at the very moment at
	// which the stage ends, so its successor may or may not be sent.
	got := p.fates()
	expect.Same(t, want, got[:len(want)])
	for _, f := range got[len(want):] {
		if f.Phase != record.Cooldown || f.Due != 350*ms {
			t.Errorf("unexpected %+v", f)
		}
	}
}

// All users of a closed loop are there before an adaptive warm-up ends, or half of a
// fixed window, also where the server's first replies promised requests that take half
// a minute.
func TestUsersAreThereInTime(t *testing.T) {
	for _, tt := range []struct {
		name   string
		warmup *time.Duration
		spread time.Duration
	}{
		{"a warm-up of 2 s", durationPointer(2 * time.Second), 12 * time.Second},
		{"an adaptive one of 20 s at most", nil, 10 * time.Second},
	} {
		s := Stage{Cap: 8, Warmup: tt.warmup, MaxWarmup: 20 * time.Second, Duration: 20 * time.Second, Drain: time.Minute}
		s.Stagger = s.StaggerFor(30 * time.Second)
		if s.Stagger != tt.spread {
			t.Errorf("%s: the first requests are spread over %v, want %v", tt.name, s.Stagger, tt.spread)
		}
		p := play(t, s, always(after(500*ms)))
		if tt.warmup == nil && p.window()[0] < tt.spread {
			t.Errorf("%s: the window begins after %v, the last user after %v", tt.name, p.window()[0], tt.spread)
		}
	}
}

// A user with a pace asks again when it is answered, but no sooner than the pace
// after the last time.
func TestClosedLoopKeepsItsPace(t *testing.T) {
	for taken, every := range map[time.Duration]time.Duration{100 * ms: 250 * ms, 400 * ms: 400 * ms} {
		p := play(t, Stage{Cap: 1, Pace: 250 * ms, Warmup: durationPointer(0), Duration: time.Second, Drain: time.Minute}, always(after(taken)))
		var dues []time.Duration
		for _, f := range p.fates() {
			dues = append(dues, f.Due)
		}
		expect.NoDiff(t, cmp.Diff([]time.Duration{0, every, 2 * every}, dues[:3]), "answered after %v: due (-want +got)", taken)
	}
}

func TestClosedLoopPausesWhereNothingCouldBeSent(t *testing.T) {
	for name, target := range map[string]func(c *clock.Clock) Target{
		"no connection": func(c *clock.Clock) Target {
			return targetFunc(func(_ ctx, yield yield) {
				yield(llm.Event{}, &llm.Fault{Outcome: llm.Connect, At: c.Now(), Message: "refused"})
			})
		},
		"a target that yields nothing": func(*clock.Clock) Target { return targetFunc(func(ctx, yield) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *clock.Clock) {
				p := drive(t.Context(), t, c, target(c), Stage{Cap: 1, Warmup: durationPointer(0), Duration: time.Second, Drain: time.Minute})
				var dues []time.Duration
				for _, f := range p.fates() {
					dues = append(dues, f.Due)
				}
				expect.NoDiff(t, cmp.Diff([]time.Duration{0, 250 * ms, 500 * ms, 750 * ms}, dues[:4]), "due (-want +got)")
				if unsent := p.Counts.By[llm.Unsent]; p.Counts.By[llm.OK] > 0 || p.Counts.Due-unsent < 4 {
					t.Errorf("counts %+v", p.Counts)
				}
			})
		})
	}
}

func TestCappedOpenLoopThatCannotKeepUp(t *testing.T) {
	p := play(t, Stage{Arrivals: every(10 * ms), Cap: 1, Warmup: durationPointer(0), Duration: 50 * ms, Drain: time.Minute}, always(after(100*ms)))
	var want []fate
	for i := range 5 {
		due, slot := time.Duration(i)*10*ms, time.Duration(i)*100*ms
		want = append(want, fate{Session: i, Phase: record.Measure, Outcome: llm.OK,
			Due: due, Begin: due, Slot: slot, Sent: slot, Last: slot + 100*ms, End: slot + 100*ms})
	}
	got := p.fates()
	if diff := cmp.Diff(want, got[:5]); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for i, f := range got[:5] {
		if e2e := f.Last - f.Sent; e2e != 100*ms {
			t.Errorf("request %d: e2e %v grows with the backlog", i, e2e)
		}
		if e2eDue := f.Last - f.Due; e2eDue != 100*ms+time.Duration(i)*90*ms {
			t.Errorf("request %d: e2e_due %v does not grow with the backlog", i, e2eDue)
		}
		if lag := f.Sent - max(f.Due, f.Slot); lag != 0 {
			t.Errorf("request %d: %v of waiting is taken for lag", i, lag)
		}
	}
	// The backlog of the cool-down never got a slot, but for the one that
	// followed the window's last request.
	if n := p.by()[record.Cooldown]; n[llm.Censored] != 1 || n[llm.Unsent] < 40 || len(n) != 2 {
		t.Errorf("cool-down: %v", n)
	}
}

func TestWaitingAtTheCapIsFirstComeFirstServed(t *testing.T) {
	// Everything is due at once, and answers take the longer the earlier.
	p := play(t, Stage{Arrivals: at(make([]time.Duration, 200)...), Cap: 7, Warmup: durationPointer(0), Requests: 200, Drain: time.Hour},
		always(reply{ttft: 10 * ms, gap: 3 * ms, tokens: 3}))
	for i, r := range p.records {
		if r.Session != i {
			t.Fatalf("session %d has id %d", r.Session, i)
		}
		if want := p.Start + int64(i/7)*int64(16*ms); r.Slot != want || r.Sent != want {
			t.Fatalf("session %d got its slot at %d and was sent at %d, want %d", i, r.Slot, r.Sent, want)
		}
	}
}

// conversation is a session that records what it is told.
type conversation struct {
	turns []llm.Turn
	told  []llm.Reply
	next  int
}

func (s *conversation) Next(prev *llm.Reply) *llm.Turn {
	if prev != nil {
		s.told = append(s.told, *prev)
	}
	if s.next == len(s.turns) {
		return nil
	}
	s.next++
	return &s.turns[s.next-1]
}

func TestTurnsFollowTheEndOfTheLast(t *testing.T) {
	request := func(n int) *llm.Request { return &llm.Request{MaxTokens: n, Stream: true} }
	session := &conversation{turns: []llm.Turn{
		{Request: request(2), KeepReply: true},
		{Request: request(3), Think: 500 * ms},
		{Request: request(1), Think: time.Second, KeepReply: true},
	}}
	p := play(t, Stage{Arrivals: at(20 * ms), Session: func(int) llm.Session { return session },
		Warmup: durationPointer(0), Duration: time.Minute, Drain: time.Minute},
		func(r *llm.Request) reply {
			if r.MaxTokens == 3 {
				return reply{ttft: 50 * ms, gap: 10 * ms, tokens: 3, fault: &llm.Fault{Outcome: llm.Reset, Message: "cut"}}
			}
			return reply{ttft: 50 * ms, gap: 10 * ms, tokens: r.MaxTokens}
		})
	turn := func(n int, due, took time.Duration) fate {
		f := ok(0, record.Measure, due, took)
		f.Turn = n
		return f
	}
	cut := turn(1, 580*ms, 70*ms)
	cut.Outcome = llm.Reset
	want := []fate{turn(0, 20*ms, 60*ms), cut, turn(2, 1650*ms, 50*ms)}
	expect.Same(t, want, p.fates())
	from := func(end time.Duration) int64 { return p.Start + int64(end) }
	told := []llm.Reply{{Outcome: llm.OK, Text: "word word ", Due: from(20 * ms), End: from(80 * ms)}, {Outcome: llm.Reset, Turn: 1, Due: from(580 * ms), End: from(650 * ms)},
		{Outcome: llm.OK, Text: "word ", Turn: 2, Due: from(1650 * ms), End: from(1700 * ms)}}
	expect.NoDiff(t, cmp.Diff(told, session.told), "replies (-want +got)")
}

func TestOnlyAConnectionOpenedForTheRequestHoldsItUp(t *testing.T) {
	stage := Stage{Arrivals: at(0), Warmup: durationPointer(0), Duration: time.Second, Drain: time.Minute}
	lag := func(r *record.Record) time.Duration { return time.Duration(r.Sent - max(r.Due, r.Slot, r.Conn)) }
	bubble(t, func(t *testing.T, c *clock.Clock) {
		late := targetFunc(func(_ ctx, yield yield) {
			time.Sleep(5 * ms) // of our own making: the connection was there
			(&script{clock: c}).play(t.Context(), after(ms), yield)
		})
		if got := lag(drive(t.Context(), t, c, late, stage).records[0]); got != 5*ms {
			t.Errorf("a request sent 5ms late on a kept connection shows a lag of %v", got)
		}
	})
	p := play(t, stage, always(reply{dial: 30 * ms, ttft: ms, tokens: 1}))
	if r := p.records[0]; lag(r) != 0 || r.Dialed-r.Due != int64(30*ms) || !r.ConnNew {
		t.Errorf("a connection that took 30ms to open: lag %v, dialed after %d ns", lag(r), r.Dialed-r.Due)
	}
}

func TestCountingTokensDelaysNobody(t *testing.T) {
	p := play(t, Stage{Cap: 1, Warmup: durationPointer(0), Requests: 3, Drain: time.Minute, CountShare: 1,
		Count: func(text string) int {
			time.Sleep(70 * ms)
			return 10 * len(text)
		}}, always(reply{ttft: 10 * ms, gap: 10 * ms, tokens: 2}))
	for i, r := range p.records[:3] {
		if want := p.Start + int64(i)*int64(20*ms); r.Due != want || r.Sent != want {
			t.Errorf("request %d was due at %d and sent at %d, want %d", i, r.Due, r.Sent, want)
		}
		if r.LocalTokens != 100 || r.OutputTokens != 100 || r.Counted != record.ByTokenizer {
			t.Errorf("request %d: %d tokens by %s, want 100 by the tokenizer", i, r.OutputTokens, r.Counted)
		}
	}
}

// A reply whose usage agrees with its events is counted as a check: the first of
// the window, so that a short run is checked too, and a share of the rest. One
// without usage is counted always.
func TestCountShareIsASample(t *testing.T) {
	counted := func(requests int, a reply) (n int) {
		p := play(t, Stage{Arrivals: every(ms), Warmup: durationPointer(5 * ms), Requests: requests, Drain: time.Minute, CountShare: 0.1,
			Count: func(string) int { return 7 }}, always(a))
		for _, r := range p.records {
			if r.LocalTokens == 7 && r.Phase == record.Measure {
				n++
			}
		}
		return n
	}
	told := reply{ttft: ms, tokens: 1, usage: 1}
	if n := counted(2000, told); n < 150 || n > 270 {
		t.Errorf("counted %d of 2000 replies, want about 220", n)
	}
	if n := counted(15, told); n != 15 {
		t.Errorf("counted %d of 15 replies, want all", n)
	}
	if n := counted(500, reply{ttft: ms, tokens: 1}); n != 500 {
		t.Errorf("counted %d of 500 replies without usage, want all", n)
	}
}

// A server that leaves its tokens open cannot fill the memory with text, nor take
// the processor by having many replies counted at once.
func TestWhatIsCountedIsBounded(t *testing.T) {
	var longest, counting, most atomic.Int64
	raise := func(mark *atomic.Int64, to int64) {
		for old := mark.Load(); to > old && !mark.CompareAndSwap(old, to); old = mark.Load() {
		}
	}
	count := func(text string) int {
		raise(&most, counting.Add(1))
		defer counting.Add(-1)
		raise(&longest, int64(len(text)))
		time.Sleep(ms) // of virtual time, in which others end
		return strings.Count(text, "x")
	}
	const tokens = 600
	word := strings.Repeat("-", 999) + "x"
	p := play(t, Stage{Arrivals: every(ms), Warmup: durationPointer(0), Requests: 50, Drain: time.Minute, Count: count},
		always(reply{ttft: ms, tokens: tokens, word: word}))
	for _, r := range p.records {
		if r.Outcome == llm.OK && r.OutputTokens != tokens {
			t.Errorf("request %d: %d tokens, want %d", r.ID, r.OutputTokens, tokens)
		}
	}
	if longest.Load() > maxText {
		t.Errorf("a text of %d bytes was counted, want at most %d", longest.Load(), maxText)
	}
	if limit := int64(max(1, runtime.GOMAXPROCS(0)/2)); most.Load() > limit {
		t.Errorf("%d replies were counted at once, want at most %d", most.Load(), limit)
	}
	p = play(t, Stage{Arrivals: every(ms), Warmup: durationPointer(0), Requests: 50, Drain: time.Minute, Count: count},
		always(reply{ttft: ms, tokens: 2, word: strings.Repeat("x", 2*maxText)}))
	for _, r := range p.records {
		if r.LocalTokens != 0 {
			t.Errorf("request %d: %d tokens by text, want none: it was too long", r.ID, r.LocalTokens)
		}
	}
}

// ctx and yield shorten the scripts.
type (
	ctx   = context.Context
	yield = func(llm.Event, error) bool
)

// thinkers are sessions of three turns with five seconds between them, without
// end.
func thinkers(int) llm.Session {
	turn := func() llm.Turn {
		return llm.Turn{Request: &llm.Request{PromptTokens: 10, MaxTokens: 1, Stream: true}, Think: 5 * time.Second}
	}
	first := turn()
	first.Think = 0
	return &conversation{turns: []llm.Turn{first, turn(), turn()}}
}

// A user who is still thinking when the stage ends owes nothing: neither the turn
// that would have come, nor another session.
func TestUsersWhoThinkOweNothing(t *testing.T) {
	for _, length := range []time.Duration{12 * time.Second, 20 * time.Second, time.Minute} {
		p := play(t, Stage{Cap: 4, Session: thinkers, Stagger: 2 * time.Second, Warmup: durationPointer(0), Duration: length, Drain: time.Minute},
			always(after(300*ms)))
		if p.Counts.By[llm.Unsent] != 0 {
			t.Errorf("%d of %d requests are unsent after %v", p.Counts.By[llm.Unsent], p.Counts.Due, length)
		}
		if want := int(length/(10900*ms)) * 12; p.Counts.Due < want || p.Counts.Due > want+4*3+4 {
			t.Errorf("%d requests in %v, want %d for whole sessions of four users, and those begun", p.Counts.Due, length, want)
		}
	}
}

// Later turns are part of the load: the warm-up lasts until they come as often
// as they will, or says that it was cut.
func TestWarmupCoversASession(t *testing.T) {
	for _, tt := range []struct {
		name    string
		settled time.Duration // beside four times the e2e
		start   time.Duration
		cut     bool
	}{
		{"sessions of half a minute", 30 * time.Second, 32 * time.Second, false},
		{"longer than a single request's warm-up may be", 100 * time.Second, 102 * time.Second, false},
		{"sessions that outlast every warm-up", time.Hour, 3 * time.Minute, true},
	} {
		p := play(t, Stage{Arrivals: every(100 * ms), Session: thinkers, Duration: 20 * time.Second, Drain: time.Second,
			SettleTime: func(e2e time.Duration) time.Duration { return tt.settled + 4*e2e }}, always(after(300*ms)))
		want := [2]time.Duration{tt.start, tt.start + 20*time.Second}
		if p.window() != want || p.WarmupCut != tt.cut || p.Unsettled != tt.cut {
			t.Errorf("%s: window %v, cut %v, unsettled %v; want %v, %v", tt.name, p.window(), p.WarmupCut, p.Unsettled, want, tt.cut)
		}
	}
}
