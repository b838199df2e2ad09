package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/drive/record"
	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/twin/faults"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// The requests of these tests ask for so many tokens, and the engine brings
// one out each beat, the first one beat after the request.
const (
	struckTokens = 8
	beat         = 10 * time.Millisecond
)

// never is the time of a moment that does not come.
const never = time.Duration(-1)

// fate is what the client makes of one request. Times are from its sending.
type fate struct {
	Outcome                llm.Outcome
	Status                 int
	RetryAfter             time.Duration
	Events, Coalesced      int
	Tokens                 int
	Counted                record.CountSource
	Short                  bool
	ConnNew                bool
	Reconnects             int
	Written                int // output events that the engine says it wrote
	Head, First, Last, End time.Duration
}

// sound is the fate of a request that nothing befalls, on a connection that it
// has to open.
func sound(changes ...func(*fate)) fate {
	f := fate{Outcome: llm.OK, Status: 200, Events: 8, Tokens: 8, Counted: record.ByUsage, ConnNew: true, Written: 8,
		Head: 0, First: beat, Last: 8 * beat, End: 8 * beat}
	for _, change := range changes {
		change(&f)
	}
	return f
}

// refusedFate is the fate of a request that gets a status instead of an answer.
func refusedFate(outcome llm.Outcome, status int, after time.Duration) fate {
	return fate{Outcome: outcome, Status: status, RetryAfter: after, ConnNew: true, First: never, Last: never}
}

// halfway is the fate of a request that goes wrong after half of its tokens,
// when the fifth is out.
func halfway(outcome llm.Outcome) fate {
	return sound(func(f *fate) {
		f.Outcome, f.Events, f.Tokens, f.Counted = outcome, 4, 4, record.ByEvents
		f.Written, f.Last, f.End = 4, 4*beat, 5*beat
	})
}

// strike is one row: how the engine misbehaves, and the fate of the last
// request asked of it.
type strike struct {
	name     string
	faults   []string
	timeouts client.Timeouts
	requests int
	want     fate
	cause    string // in the record's error
}

var strikes = []strike{
	{"nothing", nil, client.Timeouts{}, 1, sound(), ""},
	{"429", []string{"429(2s)"}, client.Timeouts{}, 1, refusedFate(llm.Rejected, 429, 2*time.Second), "Too Many Requests"},
	{"429 on the second", []string{"429(7s):#2"}, client.Timeouts{}, 2,
		func() fate { f := refusedFate(llm.Rejected, 429, 7*time.Second); f.ConnNew = false; return f }(), "Too Many Requests"},
	{"429 on the first alone", []string{"429:#1"}, client.Timeouts{}, 2, sound(func(f *fate) { f.ConnNew = false }), ""},
	{"503", []string{"503"}, client.Timeouts{}, 1, refusedFate(llm.Rejected, 503, time.Second), "Service Unavailable"},
	{"500", []string{"500"}, client.Timeouts{}, 1, refusedFate(llm.HTTP, 500, 0), "Internal Server Error"},
	{"401", []string{"401"}, client.Timeouts{}, 1, refusedFate(llm.HTTP, 401, 0), "Unauthorized"},
	{"404", []string{"404"}, client.Timeouts{}, 1, refusedFate(llm.HTTP, 404, 0), "Not Found"},
	{"slow-head", []string{"slow-head(5s)"}, client.Timeouts{}, 1, sound(func(f *fate) {
		f.Head, f.First, f.Last, f.End = 5*time.Second, 5*time.Second+beat, 5*time.Second+8*beat, 5*time.Second+8*beat
	}), ""},
	{"slow-head beyond the limit", []string{"slow-head(1h)"}, client.Timeouts{Header: 30 * time.Second}, 1,
		fate{Outcome: llm.Timeout, ConnNew: true, Head: never, First: never, Last: never, End: 30 * time.Second}, "within 30s"},
	{"slow-head of a refusal", []string{"slow-head(5s)", "500"}, client.Timeouts{}, 1, func() fate {
		f := refusedFate(llm.HTTP, 500, 0)
		f.Head, f.End = 5*time.Second, 5*time.Second
		return f
	}(), "Internal Server Error"},
	{"empty", []string{"empty"}, client.Timeouts{}, 1,
		fate{Outcome: llm.Empty, Status: 200, ConnNew: true, First: never, Last: never}, "no output"},
	{"stall", []string{"stall(3s)"}, client.Timeouts{}, 1, sound(func(f *fate) {
		f.Last, f.End = 5*beat+3*time.Second, 5*beat+3*time.Second // the engine has gone on meanwhile
	}), ""},
	{"stall beyond the idle limit", []string{"stall(1h)"}, client.Timeouts{Idle: time.Second}, 1,
		func() fate { f := halfway(llm.Timeout); f.End = 4*beat + time.Second; return f }(), "silent for 1s"},
	{"stall beyond the total limit", []string{"stall(1h)"}, client.Timeouts{Total: time.Minute}, 1,
		func() fate { f := halfway(llm.Timeout); f.End = time.Minute; return f }(), "within 1m0s"},
	{"reset", []string{"reset"}, client.Timeouts{}, 1, halfway(llm.Reset), "cut in mid stream"},
	{"truncated", []string{"truncated"}, client.Timeouts{}, 1, halfway(llm.Truncated), "closing event"},
	{"malformed", []string{"malformed"}, client.Timeouts{}, 1, halfway(llm.Malformed), "{"},
	{"error-event", []string{"error-event"}, client.Timeouts{}, 1, halfway(llm.ErrorEvent), "the engine died"},
	{"no-usage", []string{"no-usage"}, client.Timeouts{}, 1, sound(func(f *fate) { f.Counted = record.ByEvents }), ""},
	{"wrong-usage", []string{"wrong-usage"}, client.Timeouts{}, 1, sound(func(f *fate) { f.Tokens, f.Short = 16, true }), ""},
	{"crlf", []string{"crlf"}, client.Timeouts{}, 1, sound(), ""},
	{"paired", []string{"paired"}, client.Timeouts{}, 1, sound(func(f *fate) { f.Coalesced, f.First = 4, 2*beat }), ""},
	{"halved", []string{"halved"}, client.Timeouts{}, 1, sound(), ""},
	{"bytewise", []string{"bytewise"}, client.Timeouts{}, 1, sound(), ""},
	{"bytewise with crlf", []string{"bytewise", "crlf"}, client.Timeouts{}, 1, sound(), ""},
	{"leak", []string{"leak"}, client.Timeouts{}, 1, sound(), ""}, // both are for clients that leave
	{"deaf", []string{"deaf"}, client.Timeouts{}, 1, sound(), ""},
	// These change texts alone.
	{"lie", []string{"lie"}, client.Timeouts{}, 1, sound(), ""},
	{"lie-batch", []string{"lie-batch"}, client.Timeouts{}, 1, sound(), ""},
	{"lie-cache", []string{"lie-cache"}, client.Timeouts{}, 1, sound(), ""},
	{"lie-preempted", []string{"lie-preempted"}, client.Timeouts{}, 1, sound(), ""},
	{"loop", []string{"loop"}, client.Timeouts{}, 1, sound(), ""},
	{"garbled", []string{"garbled"}, client.Timeouts{}, 1, sound(), ""},
	{"mix", []string{"mix"}, client.Timeouts{}, 1, sound(), ""},
	{"huge", []string{"huge"}, client.Timeouts{}, 1, sound(), ""},
	{"hang-up", []string{"hang-up"}, client.Timeouts{}, 2, sound(func(f *fate) { f.Reconnects = 1 }), ""},
	{"paired, then reset", []string{"paired", "reset"}, client.Timeouts{}, 1,
		func() fate { f := halfway(llm.Reset); f.Coalesced, f.First = 2, 2*beat; return f }(), "cut in mid stream"},
	{"the first of two endings", []string{"truncated", "reset"}, client.Timeouts{}, 1, halfway(llm.Truncated), "closing event"},
}

func TestEveryFaultHasARow(t *testing.T) {
	t.Parallel()
	for _, kind := range faults.Names() {
		if !slices.ContainsFunc(strikes, func(s strike) bool { return s.name == kind }) {
			t.Errorf("no row drives the fault %s", kind)
		}
	}
}

// In virtual time every stamp is known to the microsecond, and so is what the
// engine says it wrote.
func TestEveryFaultThroughTheClient(t *testing.T) {
	t.Parallel()
	for _, s := range strikes {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { s.check(t) })
		})
	}
}

func (s strike) check(t *testing.T) {
	var truth bytes.Buffer
	place := &harbour{}
	engine := must.Get(simserver.Start(t.Context(), sim.Spec{Faults: s.faults},
		simserver.ServeOptions{Open: place.open, Pace: beat, Truth: &truth, Clock: clock.Virtual()}))(t)
	asker := newAsker(t, client.Spec{URLs: []string{"http://sim"}, Timeouts: s.timeouts},
		client.Options{Clock: clock.Virtual(), Dial: place.dial})
	var last asked
	for range s.requests {
		time.Sleep(time.Second) // stamps of 0 would read as unknown
		last = asker.ask(t.Context(), wire.Dialects[0])
	}
	asker.Close()
	expect.OK(t, engine.Close())
	got := last.fate()
	got.Written = last.compareTruth(t, &truth)
	expect.NoDiff(t, cmp.Diff(s.want, got), "fate (-want +got)")
	last.checkCause(t, s.cause)
	last.checkOrder(t)
}

// harbour is an address in memory that servers come to one after another.
type harbour struct {
	mu      sync.Mutex
	present *pipe.Listener
}

func (h *harbour) open(context.Context, string) (net.Listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.present = pipe.Listen("memory")
	return h.present, nil
}

func (h *harbour) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	h.mu.Lock()
	present := h.present
	h.mu.Unlock()
	return present.Dial(ctx, network, addr)
}

// asker sends requests one after another.
type asker struct {
	*client.Client
	clock  *clock.Clock
	number int
}

func newAsker(t *testing.T, s client.Spec, o client.Options) *asker {
	t.Helper()
	c := must.Get(client.New(s, o))(t)
	t.Cleanup(c.Close)
	return &asker{Client: c, clock: o.Clock}
}

type asked struct {
	record.Record
	request    *llm.Request
	clock      *clock.Clock
	retryAfter time.Duration
}

func (a *asker) ask(ctx context.Context, d *wire.Dialect) asked {
	a.number++
	out := asked{clock: a.clock, request: &llm.Request{ID: llm.RequestID("fault", a.number), Model: sim.DefaultModel, Stream: true,
		Messages: []llm.Message{{Role: "user", Content: "tell me of " + d.Name}}, MaxTokens: struckTokens}}
	out.AskedOutput = struckTokens
	for ev, err := range a.Stream(ctx, out.request) {
		if fault := (*llm.Fault)(nil); errors.As(err, &fault) {
			out.Fail(fault)
			out.retryAfter = fault.RetryAfter
			break
		}
		out.Observe(ev)
	}
	out.Settle()
	return out
}

func (a *asked) fate() fate {
	since := func(stamp int64) time.Duration {
		if stamp == 0 {
			return never
		}
		return time.Duration(stamp - a.Sent)
	}
	return fate{Outcome: a.Outcome, Status: a.Status, RetryAfter: a.retryAfter, Events: a.ChunkCount(), Coalesced: a.Coalesced,
		Tokens: a.OutputTokens, Counted: a.Counted, Short: a.Short(), ConnNew: a.ConnNew, Reconnects: a.Reconnects,
		Head: since(a.Head), First: since(a.First), Last: since(a.Last), End: since(a.End)}
}

// checkCause holds the record's error to naming a cause, in one line.
func (a *asked) checkCause(t *testing.T, cause string) {
	t.Helper()
	if (cause == "") != (a.Error == "") || !strings.Contains(a.Error, cause) || strings.Contains(a.Error, "\n") {
		t.Errorf("error %q, want one line with %q", a.Error, cause)
	}
}

// checkOrder holds the stamps that there are to the order of the moments. A
// reply can arrive before the write of its request returns, so that of Written
// only its distance from the sending is known.
func (a *asked) checkOrder(t *testing.T) {
	t.Helper()
	earlier := int64(1)
	for _, stamp := range []int64{a.Conn, a.Sent, a.Head, a.First, a.Answer, a.Last, a.End} {
		if stamp == 0 {
			continue
		}
		if stamp < earlier {
			t.Errorf("stamps out of order: %+v", a.Record)
		}
		earlier = stamp
	}
	if a.Written < a.Sent && a.Outcome == llm.OK {
		t.Errorf("written at %d, before it was sent at %d", a.Written, a.Sent)
	}
}

// compareTruth finds the request in the engine's truth and holds each event
// that arrived to the time of its write. It gives the number of events written.
func (a *asked) compareTruth(t *testing.T, truth *bytes.Buffer) int {
	t.Helper()
	var line struct {
		ID     string  `json:"id"`
		Before []int64 `json:"before_ns"`
		After  []int64 `json:"after_ns"`
	}
	for decoder := json.NewDecoder(truth); line.ID != a.request.ID; {
		if decoder.Decode(&line) != nil {
			return 0
		}
	}
	i := 0
	for at := range a.Chunks() {
		if i == len(line.Before) || i == len(line.After) {
			t.Fatalf("event %d arrived; the truth knows %d", i+1, len(line.Before))
		}
		from, to := a.clock.FromReal(line.Before[i]), a.clock.FromReal(line.After[i])
		if rounding := int64(time.Microsecond); at < from-rounding || at > to+rounding {
			t.Errorf("event %d arrived %v after its write began, which took %v", i+1, time.Duration(at-from), time.Duration(to-from))
		}
		i++
	}
	return len(line.Before)
}
