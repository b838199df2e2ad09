package progress

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
)

func TestLiveFollowsARun(t *testing.T) {
	t.Parallel()
	var l Live
	none := Spread{P50: math.NaN(), P95: math.NaN(), P99: math.NaN()}
	want := Snapshot{Elapsed: time.Second, Phase: record.Warmup, InFlight: 3, Waiting: 1, Due: 4, Events: 12, OfferedPerS: 4,
		TokensPerS: 12, TTFT: none, TPOT: none, ITL: none, E2E: none, RecentTTFT: math.NaN()}
	got := l.Snapshot(Snapshot{Elapsed: time.Second, Phase: record.Warmup, InFlight: 3, Waiting: 1, Due: 4}, 12)
	expect.NoDiff(t, cmp.Diff(want, got, cmpopts.EquateNaNs()), "before anything ended, want −, got +")
	// Ten replies of four events with three tokens each, and four faults.
	for i := range int64(10) {
		at := 1000 + i
		l.Observe(recordOf(life{due: at, sent: at, end: at + 200, chunks: steadily(at+100, 10, 4), usage: llm.Usage{OutputTokens: 12}}))
	}
	for _, o := range []llm.Outcome{llm.Rejected, llm.Reset, llm.HTTP, llm.Timeout, llm.Cancelled} {
		l.Observe(recordOf(life{due: 1000, sent: 1000, end: 1100, outcome: o}))
	}
	got = l.Snapshot(Snapshot{Elapsed: 2 * time.Second, Phase: record.Measure, Due: 15}, 40)
	// Since the start: 10 replies and 40 events of three tokens in 2 s. How many
	// came with the first event is not known, so there is no pace.
	spread := func(ms float64, n uint32) Spread {
		s := Spread{P50: ms, P95: ms, P99: ms}
		for i := range s.Bins {
			if ms >= BinEdge(i) && ms < BinEdge(i+1) {
				s.Bins[i] = n
			}
		}
		return s
	}
	want = Snapshot{Elapsed: 2 * time.Second, Phase: record.Measure, Due: 15, Events: 40, OK: 10,
		Outcomes:    map[llm.Outcome]int{llm.Rejected: 1, llm.Reset: 1, llm.HTTP: 1, llm.Timeout: 1},
		OfferedPerS: 7.5, RequestsPerS: 5, TokensPerS: 60, RecentTTFT: 100,
		TTFT: spread(100, 10), TPOT: none, ITL: none, E2E: spread(130, 10)}
	expect.Same(t, want, got, cmpopts.EquateApprox(0.01, 0), cmpopts.EquateNaNs())
}

// The distributions are those of the window as soon as a request of it has
// ended: the warm-up's are dropped, and what ends late of it is left out.
func TestLiveDistributionsAreOfTheWindow(t *testing.T) {
	t.Parallel()
	var l Live
	end := func(phase record.Phase, ttft int64) {
		r := recordOf(life{due: 1000, sent: 1000, end: 1000 + ttft + 50, chunks: steadily(1000+ttft, 10, 2), usage: llm.Usage{OutputTokens: 2}})
		r.Phase = phase
		l.Observe(r)
	}
	at := func() float64 { return l.Snapshot(Snapshot{Elapsed: time.Second}, 0).TTFT.P99 }
	for _, step := range []struct {
		phase record.Phase
		ttft  int64
		want  float64
	}{{record.Warmup, 400, 400}, {record.Measure, 100, 100}, {record.Warmup, 300, 100}, {record.Measure, 200, 200}, {record.Cooldown, 900, 200}} {
		end(step.phase, step.ttft)
		if got := at(); math.Abs(got-step.want) > step.want/100 {
			t.Errorf("after %v ms in %s: p99 %v, want %v", step.ttft, step.phase, got, step.want)
		}
	}
}

// Objectives are judged by the figures so far; those that nothing follows, or
// that are about some requests only, are not.
func TestLiveJudgesObjectives(t *testing.T) {
	t.Parallel()
	objectives := must.Get(slo.ParseAll([]string{"ttft:p99<500ms", "ttft:p50<50ms", "e2e:max<200ms", "error:rate<1%", "throughput:min>10", "class=rag ttft:p99<2s"}))(t)
	l := Live{Objectives: objectives}
	standings := func() (list []slo.Standing) {
		for _, v := range l.Snapshot(Snapshot{}, 0).Objectives {
			list = append(list, v.Standing)
		}
		return list
	}
	expect.NoDiff(t, cmp.Diff(slices.Repeat([]slo.Standing{slo.NotJudged}, 6), standings()), "before anything ended")
	l.Observe(recordOf(life{due: 1000, sent: 1050, end: 1300, chunks: steadily(1100, 10, 4), usage: llm.Usage{OutputTokens: 4}}))
	l.Observe(recordOf(life{due: 1000, sent: 1000, end: 1100, outcome: llm.Reset}))
	want := []slo.Standing{slo.Undecided, slo.Missed, slo.Met, slo.Missed, slo.NotJudged, slo.NotJudged}
	expect.Same(t, want, standings())
	for range 297 { // a p99 takes 299 replies to be called met
		l.Observe(recordOf(life{due: 1000, sent: 1050, end: 1300, chunks: steadily(1100, 10, 4), usage: llm.Usage{OutputTokens: 4}}))
	}
	if got := standings()[0]; got != slo.Met {
		t.Errorf("after 299 replies: %s", got)
	}
}

// A fast server costs no more gaps than a slow one: no reply is taken in by
// halves, and the next snapshot has room again.
func TestLiveTakesInBoundedGaps(t *testing.T) {
	t.Parallel()
	var l Live
	gaps := func() (n int) {
		for _, count := range l.Snapshot(Snapshot{}, 0).ITL.Bins {
			n += int(count)
		}
		return n
	}
	gaps()
	for range 100 {
		l.Observe(recordOf(life{due: 1000, sent: 1000, end: 9000, chunks: steadily(1100, 1, 1001), usage: llm.Usage{OutputTokens: 1001}}))
	}
	if got := gaps(); got != 2000 {
		t.Errorf("%d gaps were taken in, want those of two replies", got)
	}
	l.Observe(recordOf(life{due: 1000, sent: 1000, end: 9000, chunks: steadily(1100, 1, 1001), usage: llm.Usage{OutputTokens: 1001}}))
	if got := gaps(); got != 3000 {
		t.Errorf("%d gaps after another snapshot, want 3000", got)
	}
}

func TestLiveRatesLookBackFiveSeconds(t *testing.T) {
	t.Parallel()
	var l Live
	for second := range 20 {
		events := int64(100 * second)
		if second >= 10 {
			events = 1000 // the stream stopped at the tenth second
		}
		got := l.Snapshot(Snapshot{Elapsed: time.Duration(second) * time.Second}, events)
		switch want := got.TokensPerS; {
		case second == 10 && want != 100, second == 12 && want != 60, second >= 15 && want != 0:
			t.Errorf("at %d s: %v tokens/s", second, want)
		}
	}
}

func TestLiveIsSafeForManyGoroutines(t *testing.T) {
	t.Parallel()
	var l Live
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				l.Observe(recordOf(life{due: 1000, sent: 1000, end: 1200, chunks: steadily(1100, 10, 2), usage: llm.Usage{OutputTokens: 2}}))
				l.Snapshot(Snapshot{Elapsed: time.Second}, 0)
			}
		})
	}
	wg.Wait()
	if got := l.Snapshot(Snapshot{Elapsed: time.Second}, 0).OK; got != 800 {
		t.Errorf("%d of 800 records were counted", got)
	}
}

// What a snapshot costs after many replies: four of them are taken in a second.
func BenchmarkLiveSnapshot(b *testing.B) {
	var l Live
	for i := range int64(2000) {
		l.Observe(recordOf(life{due: 1000, sent: 1000, end: 2000 + i, chunks: steadily(1100+i, 10, 100), usage: llm.Usage{OutputTokens: 100}}))
		l.Snapshot(Snapshot{Elapsed: time.Second}, 0)
	}
	for b.Loop() {
		l.Snapshot(Snapshot{Elapsed: time.Second}, 0)
	}
}

// What a reply of a hundred tokens costs the live summary, its gaps included.
func BenchmarkLiveObserve(b *testing.B) {
	var l Live
	r := recordOf(life{due: 1000, sent: 1000, end: 2000, chunks: steadily(1100, 10, 100), usage: llm.Usage{OutputTokens: 100}})
	for b.Loop() {
		l.gapsLeft = maxLiveGaps
		l.Observe(r)
	}
}

const ms = int64(1_000_000)

// life is a request of a test, in ms.
type life struct {
	due, sent, end int64
	chunks         []int64 // when its output events came
	usage          llm.Usage
	outcome        llm.Outcome
	local          int
}

// recordOf makes the record that the engine would have made of it.
func recordOf(l life) *record.Record {
	r := &record.Record{Due: l.due * ms, Try: 1, Streamed: true, LocalTokens: l.local}
	r.Observe(llm.Event{Kind: llm.Sent, At: l.sent * ms})
	for _, at := range l.chunks {
		r.Observe(llm.Event{Kind: llm.Output, At: at * ms, Text: []byte("word")})
	}
	if l.usage != (llm.Usage{}) {
		r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: l.usage})
	}
	r.Observe(llm.Event{Kind: llm.End, At: l.end * ms})
	if l.outcome != "" {
		r.Outcome = l.outcome
	}
	r.Settle()
	return r
}

// steadily gives n events that begin at first and follow one another by gap.
func steadily(first, gap int64, n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = first + int64(i)*gap
	}
	return list
}
