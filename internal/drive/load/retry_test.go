package load

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
)

func TestWaitsBeforeRetries(t *testing.T) {
	t.Parallel()
	r := Retries{Max: 4, Backoff: 300 * ms, MaxWait: time.Second}.Complete()
	for _, tt := range []struct {
		name  string
		tries int
		fault llm.Fault
		wait  time.Duration
		again bool
	}{
		{"first", 1, llm.Fault{Outcome: llm.Rejected}, 300 * ms, true},
		{"second", 2, llm.Fault{Outcome: llm.Connect}, 600 * ms, true},
		{"third, at the longest", 3, llm.Fault{Outcome: llm.Rejected}, time.Second, true},
		{"fourth, at the longest", 4, llm.Fault{Outcome: llm.Rejected}, time.Second, true},
		{"no fifth", 5, llm.Fault{Outcome: llm.Rejected}, 0, false},
		{"what the server wants", 3, llm.Fault{Outcome: llm.Rejected, RetryAfter: 10 * ms}, 10 * ms, true},
		{"the longest that the server may want", 1, llm.Fault{Outcome: llm.Rejected, RetryAfter: time.Second}, time.Second, true},
		{"more than it may want", 1, llm.Fault{Outcome: llm.Rejected, RetryAfter: 2 * time.Second}, 0, false},
		{"another fault", 1, llm.Fault{Outcome: llm.Reset}, 0, false},
		{"the end of the stage", 1, llm.Fault{Outcome: llm.Censored}, 0, false},
	} {
		wait, again := r.wait(tt.tries, &tt.fault)
		if again != tt.again || again && wait != tt.wait {
			t.Errorf("%s: %v, %t, want %v, %t", tt.name, wait, again, tt.wait, tt.again)
		}
	}
	if _, again := (Retries{}).Complete().wait(1, &llm.Fault{Outcome: llm.Rejected}); again {
		t.Error("a request is asked again although nobody said so")
	}
	want := Retries{Max: 1, Outcomes: []llm.Outcome{llm.Rejected, llm.Connect}, Backoff: 500 * ms, MaxWait: 30 * time.Second}
	expect.NoDiff(t, cmp.Diff(want, Retries{Max: 1}.Complete()), "defaults (-want +got)")
}

func TestRetriesThatAreWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		retries Retries
		want    string
	}{
		{Retries{}, ""},
		{Retries{Max: 100, Outcomes: []llm.Outcome{llm.Rejected, llm.HTTP, llm.Timeout}, Backoff: time.Second, MaxWait: time.Hour}, ""},
		{Retries{Max: 101}, "retries.max: expected a number from 0 to 100, got 101"},
		{Retries{Backoff: time.Second}, "retries.max: must be at least 1, since the block says how to retry"},
		{Retries{Max: 1, Backoff: -1}, "retries.backoff: expected a duration above 0, got -1ns"},
		{Retries{Max: 1, MaxWait: -1}, "retries.max_wait: expected a duration above 0, got -1ns"},
		{Retries{Max: 1, Outcomes: []llm.Outcome{llm.Rejected, llm.Censored}},
			`retries.outcomes: expected some of [rejected http connect tls dns timeout reset truncated malformed error_event empty], got "censored"`},
	} {
		got := ""
		if err := tt.retries.Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.retries, got, tt.want)
		}
	}
}

// rejection is the answer of a server that is busy.
func rejection(after time.Duration) reply {
	return reply{fault: &llm.Fault{Outcome: llm.Rejected, Status: 429, Message: "busy", RetryAfter: after}}
}

// inTurn answers the n-th try with the n-th reply, and with the last one from
// then on.
func inTurn(replies ...reply) func(*llm.Request) reply {
	var n atomic.Int64
	return func(*llm.Request) reply { return replies[min(int(n.Add(1)), len(replies))-1] }
}

// tried is a record's fate and how often it was tried.
type tried struct {
	Fate                fate
	Try, Status, Chunks int
	Conn                time.Duration
	Error               string
}

func (p played) attempts() (list []tried) {
	for i, f := range p.fates() {
		r := p.records[i]
		list = append(list, tried{f, r.Try, r.Status, r.ChunkCount(), time.Duration(r.Conn - p.Start), r.Error})
	}
	return list
}

// One request is due at 0 and is answered as told; its record shows the last
// try, at its own times, but for when it was due.
func TestRetriedRequest(t *testing.T) {
	t.Parallel()
	retries := Retries{Max: 2, Backoff: 100 * ms, MaxWait: 5 * time.Second,
		Outcomes: []llm.Outcome{llm.Rejected, llm.Connect, llm.Reset}}
	reset := reply{ttft: 20 * ms, tokens: 3, gap: 10 * ms, fault: &llm.Fault{Outcome: llm.Reset, Message: "cut"}}
	refused := reply{fault: &llm.Fault{Outcome: llm.Connect, Message: "nobody there"}}
	for _, tt := range []struct {
		name    string
		retries Retries
		answer  func(*llm.Request) reply
		want    tried
	}{
		{"not asked for", Retries{}, inTurn(rejection(0), after(50*ms)),
			tried{fate{Outcome: llm.Rejected, Slot: -1, Last: -1}, 1, 429, 0, 0, "busy"}},
		{"after a backoff", retries, inTurn(rejection(0), after(50*ms)),
			tried{fate{Outcome: llm.OK, Begin: 100 * ms, Slot: -1, Sent: 100 * ms, Last: 150 * ms, End: 150 * ms}, 2, 0, 1, 100 * ms, ""}},
		{"after what the server wants", retries, inTurn(rejection(3*time.Second), after(50*ms)),
			tried{fate{Outcome: llm.OK, Begin: 3000 * ms, Slot: -1, Sent: 3000 * ms, Last: 3050 * ms, End: 3050 * ms}, 2, 0, 1, 3000 * ms, ""}},
		{"not so long", retries, inTurn(rejection(6*time.Second), after(50*ms)),
			tried{fate{Outcome: llm.Rejected, Slot: -1, Last: -1}, 1, 429, 0, 0, "busy"}},
		{"another fault each time", retries, inTurn(rejection(0), reset, refused),
			tried{fate{Outcome: llm.Connect, Begin: 340 * ms, Slot: -1, Sent: 340 * ms, Last: -1, End: 340 * ms}, 3, 0, 0, 340 * ms, "nobody there"}},
		{"what was streamed before counts no more", retries, inTurn(reset, after(50*ms)),
			tried{fate{Outcome: llm.OK, Begin: 140 * ms, Slot: -1, Sent: 140 * ms, Last: 190 * ms, End: 190 * ms}, 2, 0, 1, 140 * ms, ""}},
		{"a fault that is not retried", retries, inTurn(rejection(0), reply{fault: &llm.Fault{Outcome: llm.HTTP, Status: 500, Message: "oops"}}),
			tried{fate{Outcome: llm.HTTP, Begin: 100 * ms, Slot: -1, Sent: 100 * ms, Last: -1, End: 100 * ms}, 2, 500, 0, 100 * ms, "oops"}},
		{"a new connection", retries, inTurn(rejection(0), reply{dial: 30 * ms, ttft: 50 * ms, tokens: 1}),
			tried{fate{Outcome: llm.OK, Begin: 100 * ms, Slot: -1, Sent: 130 * ms, Last: 180 * ms, End: 180 * ms}, 2, 0, 1, 130 * ms, ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := play(t, Stage{Arrivals: at(0), Warmup: durationPointer(0), Requests: 1, Drain: time.Minute, Retries: tt.retries}, tt.answer)
			tt.want.Fate.Phase = record.Measure
			expect.Same(t, []tried{tt.want}, p.attempts())
		})
	}
}

// While a request waits for its next try the cap lets another one through, and
// the first queues again behind it.
func TestRetryHoldsNoSlot(t *testing.T) {
	t.Parallel()
	stage := Stage{Arrivals: at(0, 10*ms, 50*ms), Cap: 1, Warmup: durationPointer(0), Requests: 3, Drain: time.Minute,
		Retries: Retries{Max: 1, Backoff: 100 * ms}}
	p := play(t, stage, inTurn(rejection(0), after(80*ms), after(80*ms), after(80*ms)))
	want := []fate{
		{Session: 0, Outcome: llm.OK, Due: 0, Begin: 100 * ms, Slot: 170 * ms, Sent: 170 * ms, Last: 250 * ms, End: 250 * ms},
		{Session: 1, Outcome: llm.OK, Due: 10 * ms, Begin: 10 * ms, Slot: 10 * ms, Sent: 10 * ms, Last: 90 * ms, End: 90 * ms},
		{Session: 2, Outcome: llm.OK, Due: 50 * ms, Begin: 50 * ms, Slot: 90 * ms, Sent: 90 * ms, Last: 170 * ms, End: 170 * ms},
	}
	for i := range want {
		want[i].Phase = record.Measure
	}
	expect.Same(t, want, p.fates())
}

// In a closed loop the user waits with its request: the next one is due when
// the retried one has ended.
func TestRetryInAClosedLoop(t *testing.T) {
	t.Parallel()
	p := play(t, Stage{Cap: 1, Warmup: durationPointer(0), Requests: 2, Drain: time.Minute, Retries: Retries{Max: 1, Backoff: 100 * ms}},
		inTurn(rejection(0), after(50*ms)))
	want := []fate{
		{Session: 0, Outcome: llm.OK, Due: 0, Begin: 100 * ms, Slot: 100 * ms, Sent: 100 * ms, Last: 150 * ms, End: 150 * ms},
		{Session: 1, Outcome: llm.OK, Due: 150 * ms, Begin: 150 * ms, Slot: 150 * ms, Sent: 150 * ms, Last: 200 * ms, End: 200 * ms},
	}
	for i := range want {
		want[i].Phase = record.Measure
	}
	expect.Same(t, want, p.fates()[:2])
}

// A stage that ends while requests wait for another try ends them with what
// they have, at once: at the end of its drain, and when the user stops it.
func TestRetriesEndWithTheStage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		stage Stage
		stop  time.Duration // when the user stops it
		took  time.Duration
		by    phases
	}{
		{"drain", Stage{Arrivals: every(100 * ms), Warmup: durationPointer(900 * ms), Requests: 1, Drain: 4950 * ms}, 0, 5850 * ms,
			phases{record.Warmup: {llm.Rejected: 9}, record.Measure: {llm.Rejected: 1}, record.Cooldown: {llm.Rejected: 49}}},
		{"user", Stage{Arrivals: at(0, 100*ms), Warmup: durationPointer(0), Duration: time.Minute, Drain: time.Minute, Grace: time.Minute},
			3 * time.Second, 3 * time.Second, phases{record.Measure: {llm.Rejected: 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *clock.Clock) {
				tt.stage.Retries = Retries{Max: 9, Backoff: 20 * time.Second}
				if tt.stop > 0 {
					stop := make(chan struct{})
					tt.stage.Stop = stop
					time.AfterFunc(tt.stop, func() { close(stop) })
				}
				p := drive(t.Context(), t, c, &script{clock: c, answer: always(rejection(0))}, tt.stage)
				expect.Same(t, tt.by, p.by())
				if p.Took != tt.took {
					t.Errorf("took %v, want %v", p.Took, tt.took)
				}
			})
		})
	}
}

// A request that waits for a slot for its next try keeps what it has when the
// stage ends.
func TestRetryThatGetsNoSlot(t *testing.T) {
	t.Parallel()
	p := play(t, Stage{Arrivals: at(0, 10*ms), Cap: 1, Warmup: durationPointer(0), Duration: time.Second, Drain: 0,
		Retries: Retries{Max: 1, Backoff: 100 * ms}}, inTurn(rejection(0), reply{hang: true}))
	want := phases{record.Measure: {llm.Rejected: 1, llm.Censored: 1}}
	expect.Same(t, want, p.by())
}
