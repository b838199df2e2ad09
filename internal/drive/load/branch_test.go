package load

import (
	"slices"
	"sync"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
)

// diamond is a session of a turn, two behind it that run at once, 20 and 50 ms
// after it, and one that waits for both and then for 10 ms.
type diamond struct {
	mu   sync.Mutex
	ends []int64
}

func (d *diamond) Next(prev *llm.Reply) *llm.Turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	turn := func(n int, think time.Duration, beside ...*llm.Turn) *llm.Turn {
		return &llm.Turn{Request: &llm.Request{PromptTokens: n, MaxTokens: 1, Stream: true}, Number: n, Think: think, Beside: beside}
	}
	switch {
	case prev == nil:
		return turn(0, 0)
	case prev.Outcome != llm.OK || prev.Turn == 3:
		return nil
	case prev.Turn == 0:
		return turn(1, 20*ms, turn(2, 50*ms))
	}
	if d.ends = append(d.ends, prev.End); len(d.ends) < 2 {
		return nil
	}
	last := turn(3, 10*ms)
	last.After = slices.Max(d.ends)
	return last
}

// diamondReply answers the turns of a diamond in 100, 300, 40 and 5 ms.
func diamondReply(r *llm.Request) reply {
	return after([]time.Duration{100 * ms, 300 * ms, 40 * ms, 5 * ms}[r.PromptTokens])
}

func TestTurnsBesideOthersRunAtOnce(t *testing.T) {
	p := play(t, Stage{Arrivals: at(0), Session: func(int) llm.Session { return &diamond{} }, Warmup: durationPointer(0), Duration: time.Second, Drain: time.Minute}, diamondReply)
	turn := func(n int, due, took time.Duration) fate {
		f := ok(0, record.Measure, due, took)
		f.Turn = n
		return f
	}
	want := []fate{turn(0, 0, 100*ms), turn(1, 120*ms, 300*ms), turn(2, 150*ms, 40*ms), turn(3, 430*ms, 5*ms)}
	expect.Same(t, want, p.fates())
}

// A closed loop of one has one session at a time, whose turns run at once.
func TestSlotsOfBranchingSessionsAreFreeWithTheirLastTurn(t *testing.T) {
	p := play(t, Stage{Cap: 1, Branching: true, Session: func(int) llm.Session { return &diamond{} }, Warmup: durationPointer(0), Requests: 8, Drain: time.Minute}, diamondReply)
	begins := map[int]time.Duration{}
	ends := map[int]time.Duration{}
	for _, f := range p.fates()[:8] {
		if f.Turn == 0 {
			begins[f.Session] = f.Due
		}
		if f.Turn == 2 && f.Due != begins[f.Session]+150*ms {
			t.Errorf("session %d: the turn beside another is due at %v, want %v", f.Session, f.Due, begins[f.Session]+150*ms)
		}
		ends[f.Session] = max(ends[f.Session], f.End)
	}
	if begins[0] != 0 || begins[1] != 435*ms || ends[1] != 870*ms {
		t.Errorf("sessions begin at %v and end at %v, want the second from 435 to 870 ms", begins, ends)
	}
}

// What a failed turn leaves unsent does not keep the slot.
func TestFailedTurnsEndABranchingSession(t *testing.T) {
	p := play(t, Stage{Cap: 1, Branching: true, Session: func(int) llm.Session { return &diamond{} }, Warmup: durationPointer(0), Requests: 4, Drain: time.Minute},
		func(r *llm.Request) reply {
			a := diamondReply(r)
			if r.PromptTokens == 2 {
				a.fault = &llm.Fault{Outcome: llm.Malformed, Message: "no"}
			}
			return a
		})
	list := p.fates()
	if len(list) < 4 || list[3].Session != 1 || list[3].Due != 420*ms {
		t.Errorf("%+v, want the second session at 420 ms, when the other branch has ended", list)
	}
}

// prompter is a session of two turns, 10 s apart, whose prompts are written when they
// are wanted.
type prompter struct {
	turns   []*llm.Turn
	written []time.Duration
	begun   time.Time
}

func (p *prompter) Next(prev *llm.Reply) *llm.Turn {
	if len(p.turns) == 2 {
		return nil
	}
	turn := &llm.Turn{Request: &llm.Request{MaxTokens: 2, Stream: true}, Think: time.Duration(len(p.turns)) * 10 * time.Second, Write: func() []llm.Message {
		p.written = append(p.written, time.Since(p.begun))
		return []llm.Message{{Role: "user", Content: "long"}}
	}}
	p.turns = append(p.turns, turn)
	return turn
}

// A long prompt is written shortly before it is sent, again where it is sent again,
// and let go once the reply has begun.
func TestLongPromptsAreNotHeld(t *testing.T) {
	var p *prompter
	tries := 0
	play(t, Stage{Arrivals: at(0), Session: func(int) llm.Session {
		p = &prompter{begun: time.Now()}
		return p
	}, Warmup: durationPointer(0), Duration: time.Minute, Drain: time.Minute, Retries: Retries{Max: 1, Outcomes: []llm.Outcome{llm.Reset}, Backoff: ms, MaxWait: ms}}, func(r *llm.Request) reply {
		if tries++; len(r.Messages) != 1 {
			t.Errorf("try %d is sent without its prompt", tries)
		}
		a := reply{ttft: 100 * ms, gap: 100 * ms, tokens: 2}
		if tries == 2 {
			a.fault = &llm.Fault{Outcome: llm.Reset, Message: "gone"}
		}
		return a
	})
	if tries != 3 || len(p.written) != 3 {
		t.Fatalf("%d tries, written at %v, want 3 of both", tries, p.written)
	}
	// The second turn is due at 10.2 s.
	if at := p.written[1]; at != 10200*ms-time.Duration(composeAhead) {
		t.Errorf("the second prompt is written at %v, want %v before 10.2 s", at, time.Duration(composeAhead))
	}
	for i, turn := range p.turns {
		if turn.Request.Messages != nil {
			t.Errorf("prompt %d is held behind its reply", i)
		}
	}
}
