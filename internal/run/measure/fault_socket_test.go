package measure

import (
	"strings"
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
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// Over sockets the same faults give the same outcomes in every dialect.
func TestEveryFaultInEveryDialect(t *testing.T) {
	t.Parallel()
	for _, s := range strikes {
		if s.timeouts != (client.Timeouts{}) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, d := range wire.Dialects {
				s.checkOutcome(t, d)
			}
		})
	}
}

// inAMoment shortens the times of faults that really pass.
var inAMoment = strings.NewReplacer("slow-head(5s)", "slow-head(3ms)", "stall(3s)", "stall(3ms)")

func (s strike) checkOutcome(t *testing.T, d *wire.Dialect) {
	t.Helper()
	var faults []string
	for _, f := range s.faults {
		faults = append(faults, inAMoment.Replace(f))
	}
	engine := must.Get(simserver.Start(t.Context(), sim.Spec{Faults: faults}, simserver.ServeOptions{Pace: time.Millisecond}))(t)
	asker := newAsker(t, client.Spec{URLs: []string{engine.URL()}, API: d.Name}, client.Options{Clock: clock.New()})
	var last asked
	for range s.requests {
		last = asker.ask(t.Context(), d)
	}
	expect.OK(t, engine.Close())
	type outcome struct {
		Outcome llm.Outcome
		Status  int
		Events  int
		Short   bool
	}
	want := outcome{s.want.Outcome, s.want.Status, s.want.Events, s.want.Short}
	got := outcome{last.Outcome, last.Status, last.ChunkCount(), last.Short()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", d.Name, diff)
	}
	if told := last.PromptTokens > 0; last.Outcome == llm.OK && (last.Counted != s.want.Counted || told != (s.want.Counted == record.ByUsage)) {
		t.Errorf("%s: %d prompt tokens, output counted by %s; want it counted by %s", d.Name, last.PromptTokens, last.Counted, s.want.Counted)
	}
	if last.Coalesced < s.want.Coalesced {
		t.Errorf("%s: %d events coalesced, want at least %d", d.Name, last.Coalesced, s.want.Coalesced)
	}
	last.checkCause(t, s.cause)
	last.checkOrder(t)
}

func TestResetOfASocket(t *testing.T) {
	t.Parallel()
	engine := must.Get(simserver.Start(t.Context(), sim.Spec{Faults: []string{"reset"}}, simserver.ServeOptions{Pace: time.Millisecond}))(t)
	defer engine.Close()
	a := newAsker(t, client.Spec{URLs: []string{engine.URL()}}, client.Options{Clock: clock.New()})
	got := a.ask(t.Context(), wire.Dialects[0])
	if got.Outcome != llm.Reset || !strings.Contains(got.Error, "connection reset by peer") {
		t.Errorf("%s: %q, want a connection that the peer has reset", got.Outcome, got.Error)
	}
}

func TestUnknownAuthority(t *testing.T) {
	t.Parallel()
	engine := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Pace: time.Millisecond, TLS: true}))(t)
	defer engine.Close()
	for name, row := range map[string]struct {
		trust   client.TLS
		outcome llm.Outcome
		events  int
		secured bool
		cause   string
	}{
		"verified": {client.TLS{}, llm.TLS, 0, false, "unknown authority"},
		"trusted":  {client.TLS{Insecure: true}, llm.OK, struckTokens, true, ""},
	} {
		a := newAsker(t, client.Spec{URLs: []string{engine.URL()}, TLS: row.trust}, client.Options{Clock: clock.New()})
		got := a.ask(t.Context(), wire.Dialects[0])
		if got.Outcome != row.outcome || got.ChunkCount() != row.events || (got.Secured != 0) != row.secured || !got.ConnNew {
			t.Errorf("%s: %s with %d events, %+v", name, got.Outcome, got.ChunkCount(), got.Record)
		}
		if (got.Sent != 0) != row.secured {
			t.Errorf("%s: sent at %d", name, got.Sent)
		}
		got.checkCause(t, row.cause)
		got.checkOrder(t)
	}
}

// A server that restarts cuts who is there, refuses who comes, and begins to
// count anew.
func TestRestartInMidRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		place := &harbour{}
		engine := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Open: place.open, Pace: time.Second,
			Clock: clock.Virtual(), RestartAfter: 30 * time.Second}))(t)
		a := newAsker(t, client.Spec{URLs: []string{"http://sim"}}, client.Options{Clock: clock.Virtual(), Dial: place.dial})
		for _, row := range []struct {
			at     time.Duration
			want   fate
			cause  string
			served string // requests that the server says it has served
		}{
			{5 * time.Second, fate{Outcome: llm.OK, Status: 200, Events: 8, Tokens: 8, Counted: record.ByUsage, ConnNew: true,
				First: time.Second, Last: 8 * time.Second, End: 8 * time.Second}, "", "1"},
			{25500 * time.Millisecond, fate{Outcome: llm.Reset, Status: 200, Events: 4, Tokens: 4, Counted: record.ByEvents,
				First: time.Second, Last: 4 * time.Second, End: 4500 * time.Millisecond}, "cut in mid stream", ""},
			{30500 * time.Millisecond, fate{Outcome: llm.Connect, Head: never, First: never, Last: never}, "refused the connection", ""},
			{31500 * time.Millisecond, fate{Outcome: llm.OK, Status: 200, Events: 8, Tokens: 8, Counted: record.ByUsage, ConnNew: true,
				First: time.Second, Last: 8 * time.Second, End: 8 * time.Second}, "", "1"},
		} {
			time.Sleep(row.at - time.Since(start))
			asked := a.ask(t.Context(), wire.Dialects[0])
			got := asked.fate()
			if asked.Sent == 0 {
				got.End = 0
			}
			expect.NoDiff(t, cmp.Diff(row.want, got), "asked after %v (-want +got)", row.at)
			asked.checkCause(t, row.cause)
			if row.served != "" {
				checkServed(t, a, row.served)
			}
		}
		a.Close()
		expect.OK(t, engine.Close())
	})
}

func checkServed(t *testing.T, a *asker, want string) {
	t.Helper()
	page := must.Get(a.Get(t.Context(), "/metrics"))(t)
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "vllm:request_success_total") && strings.Contains(line, `"length"`) {
			if _, got, _ := strings.Cut(line, "} "); strings.TrimSpace(got) != want {
				t.Errorf("%s requests served, want %s", got, want)
			}
			return
		}
	}
	t.Error("the page does not tell how many requests were served")
}
