package load

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/llm"
)

// scenario is a random stage, a random target and a random moment to stop.
type scenario struct {
	stage    Stage
	arrivals []int64 // nil in a closed loop
	replies  []reply
	stop     time.Duration // 0: never
	cancel   time.Duration // 0: never
}

func (sc scenario) String() string {
	s := sc.stage
	warmup := "adaptive"
	if s.Warmup != nil {
		warmup = s.Warmup.String()
	}
	return fmt.Sprintf("arrivals %v, cap %d, duration %v, requests %d, warm-up %s, drain %v, stagger %v, grace %v, stop %v, cancel %v, replies %+v",
		sc.arrivals, s.Cap, s.Duration, s.Requests, warmup, s.Drain, s.Stagger, s.Grace, sc.stop, sc.cancel, sc.replies)
}

// span draws a duration in a coarse grain, so that things happen at the same
// moment now and then.
func span(limit int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(0, limit), func(n int) time.Duration { return time.Duration(n) * 10 * ms })
}

func drawScenario(t *rapid.T) scenario {
	sc := scenario{stage: Stage{Run: "r", Drain: span(300).Draw(t, "drain"), Grace: span(50).Draw(t, "grace")}}
	s := &sc.stage
	mode := rapid.SampledFrom([]string{"open", "capped", "closed"}).Draw(t, "mode")
	if mode != "open" {
		s.Cap = rapid.IntRange(1, 6).Draw(t, "cap")
	}
	if mode == "closed" {
		s.Stagger = span(50).Draw(t, "stagger")
	} else {
		sum := int64(0)
		sc.arrivals = []int64{}
		for _, gap := range rapid.SliceOfN(span(15), 0, 80).Draw(t, "gaps") {
			sum += int64(gap)
			sc.arrivals = append(sc.arrivals, sum)
		}
		s.Arrivals = slices.Values(sc.arrivals)
	}
	s.Duration = 10*ms + span(300).Draw(t, "duration")
	if rapid.Bool().Draw(t, "bounded by requests") {
		s.Requests = rapid.IntRange(1, 40).Draw(t, "requests")
	}
	if rapid.IntRange(0, 4).Draw(t, "warm-up") > 0 {
		s.Warmup = durationPointer(span(200).Draw(t, "fixed warm-up"))
	}
	sc.stop, sc.cancel = drawMoment(t, "stop"), drawMoment(t, "cancel")
	sc.replies = rapid.SliceOfN(rapid.Custom(drawReply), 1, 5).Draw(t, "replies")
	turns := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 4).Draw(t, "turns")
	think := span(40).Draw(t, "think")
	sessions := rapid.SampledFrom([]int{3, 50, 1 << 20}).Draw(t, "sessions")
	s.Session = func(i int) llm.Session {
		session := &conversation{}
		if i < sessions {
			session.turns = make([]llm.Turn, 1+turns[i%len(turns)])
		}
		for n := range session.turns {
			session.turns[n] = llm.Turn{Request: &llm.Request{PromptTokens: i, MaxTokens: 5, Stream: true}, Think: think}
		}
		return session
	}
	if limit := rapid.IntRange(0, 400).Draw(t, "budget"); limit > 200 {
		s.Budgets = []Budget{{Name: "tokens", Limit: float64(limit), Cost: func(_, output int) float64 { return float64(output) }}}
	}
	return sc
}

func drawMoment(t *rapid.T, label string) time.Duration {
	if rapid.IntRange(0, 3).Draw(t, label) > 0 {
		return 0
	}
	return 10*ms + span(400).Draw(t, label+" at")
}

// drawReply draws an answer that takes some time, as all do.
func drawReply(t *rapid.T) reply {
	a := reply{ttft: ms + span(30).Draw(t, "ttft"), gap: span(5).Draw(t, "gap"), tokens: rapid.IntRange(1, 5).Draw(t, "tokens")}
	switch rapid.IntRange(0, 7).Draw(t, "end") {
	case 0:
		a.hang = true
	case 1:
		a.fault = &llm.Fault{Outcome: rapid.SampledFrom([]llm.Outcome{llm.Reset, llm.Rejected, llm.Timeout}).Draw(t, "fault")}
	case 2:
		a.dial = 10*ms + span(10).Draw(t, "dial")
	}
	return a
}

func (sc scenario) run(t *testing.T) (p played, most int64) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Virtual()
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if sc.cancel > 0 {
			defer time.AfterFunc(sc.cancel, cancel).Stop()
		}
		s := sc.stage
		if sc.stop > 0 {
			stop := make(chan struct{})
			s.Stop = stop
			defer time.AfterFunc(sc.stop, func() { close(stop) }).Stop()
		}
		target := &script{clock: c, answer: func(r *llm.Request) reply { return sc.replies[r.PromptTokens%len(sc.replies)] }}
		p = drive(ctx, t, c, target, s)
		most = target.most.Load()
	})
	return p, most
}

func TestNoRequestIsLostWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := drawScenario(rt)
		p, most := sc.run(t)
		for fault := range sc.violations(p, most) {
			rt.Errorf("%s", fault)
		}
		if rt.Failed() {
			rt.Logf("%v\n%+v, window %v", sc, p.Outcome, p.window())
			for _, f := range p.fates() {
				rt.Logf("%+v", f)
			}
		}
	})
}

// violations names everything about a played scenario that must not be.
func (sc scenario) violations(p played, limit int64) iter.Seq[string] {
	return func(yield func(string) bool) {
		say := func(format string, args ...any) { yield(fmt.Sprintf(format, args...)) }
		counts := Counts{By: map[llm.Outcome]int{}}
		for i, r := range p.records {
			counts.Due++
			counts.By[r.Outcome]++
			if r.ID != i {
				say("the %d-th record has id %d: ids are lost or doubled", i, r.ID)
			}
			if fault := stampsInOrder(r); fault != "" {
				say("request %d: %s", r.ID, fault)
			}
			if fault := p.wrongPhase(r); fault != "" {
				say("request %d: %s", r.ID, fault)
			}
			if got := time.Duration(r.Due - p.Start); got > p.Took+1 {
				say("request %d was due at %v, after the end at %v", r.ID, got, p.Took)
			}
		}
		if !cmp.Equal(counts, p.Counts) {
			say("records say %+v, the outcome %+v", counts, p.Counts)
		}
		if sc.stage.Cap > 0 && limit > int64(sc.stage.Cap) {
			say("%d in flight under a cap of %d", limit, sc.stage.Cap)
		}
		sc.bounds(p, say)
		sc.schedule(p, say)
	}
}

// stampsInOrder says which stamp of a record lies before one that it follows.
func stampsInOrder(r *record.Record) string {
	last, name := r.Due, "due"
	slack := int64(0)
	if r.Phase == record.Cooldown {
		// One that ties with the last request of a full window counts as due
		// a nanosecond later.
		slack = 1
	}
	for _, s := range []struct {
		name string
		at   int64
	}{{"begin", r.Begin}, {"slot", r.Slot}, {"conn", r.Conn}, {"sent", r.Sent}, {"first", r.First}, {"last", r.Last}, {"end", r.End}} {
		if s.at == 0 || s.name == "conn" && !r.ConnNew {
			continue
		}
		if s.at+slack < last {
			return fmt.Sprintf("%s at %d lies before %s at %d", s.name, s.at, name, last)
		}
		last, name = s.at, s.name
	}
	switch {
	case r.End == 0:
		return "it has no end"
	case r.Outcome == llm.Unsent && r.Sent != 0:
		return "it was sent but counts as unsent"
	case r.Outcome != llm.Unsent && r.Sent == 0:
		return fmt.Sprintf("it was never sent but counts as %s", r.Outcome)
	case r.Sent != 0 && r.Sent > max(r.Due, r.Slot, r.Conn):
		return fmt.Sprintf("lag of %d ns in virtual time", r.Sent-max(r.Due, r.Slot, r.Conn))
	}
	return ""
}

// wrongPhase says where a record's phase is not that of its due time.
func (p played) wrongPhase(r *record.Record) string {
	want := record.Measure
	switch {
	case p.WindowEnd == 0 || r.Due < p.WindowStart:
		want = record.Warmup
	case r.Due >= p.WindowEnd:
		want = record.Cooldown
	}
	if r.Phase == want {
		return ""
	}
	return fmt.Sprintf("due at %v it counts as %s, want %s", time.Duration(r.Due-p.Start), r.Phase, want)
}

// bounds holds the window against what was asked.
func (sc scenario) bounds(p played, say func(string, ...any)) {
	measured := 0
	for _, r := range p.records {
		if r.Phase == record.Measure {
			measured++
		}
	}
	window := p.window()
	if n := sc.stage.Requests; n > 0 && measured > n {
		say("%d requests in a window of %d", measured, n)
	}
	if length := window[1] - window[0]; length > sc.stage.Duration || length < 0 {
		say("the window lasts %v; must be at most %v", length, sc.stage.Duration)
	}
	if p.WindowEnd != 0 && sc.stage.Warmup != nil && window[0] != *sc.stage.Warmup {
		say("the window begins at %v, want %v", window[0], *sc.stage.Warmup)
	}
	full := sc.stage.Requests > 0 && measured == sc.stage.Requests
	if p.Stopped == "" && !full && window[1]-window[0] != sc.stage.Duration {
		say("the window %v holds %d requests, but nothing is said to have cut it short", window, measured)
	}
}

// schedule holds first turns against the arrivals. One that is as early as the
// last request of a full window counts as due at its end.
func (sc scenario) schedule(p played, say func(string, ...any)) {
	if sc.arrivals == nil {
		return
	}
	next := 0
	for _, r := range p.records {
		if r.Turn > 0 {
			continue
		}
		if want := p.Start + sc.arrivals[r.Session]; r.Due != want && (r.Due != p.WindowEnd || r.Phase != record.Cooldown) {
			say("session %d was due at %d, want %d", r.Session, r.Due, want)
		}
		if r.Session != next {
			say("session %d follows session %d", r.Session, next-1)
		}
		next = r.Session + 1
	}
	// Whatever the schedule had before the end is accounted for. The last
	// stretch of a wait cannot be cut short, so that the engine may return a
	// few milliseconds after the stage was over.
	if p.Stopped != "" || next == len(sc.arrivals) {
		return
	}
	if left := time.Duration(sc.arrivals[next]); left < p.Took-3*ms {
		if first := sc.stage.Session(next).Next(nil); first != nil {
			say("the arrival at %v is lost; the stage took %v", left, p.Took)
		}
	}
}
