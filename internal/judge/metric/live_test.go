package metric

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

func TestLiveFollowsARun(t *testing.T) {
	t.Parallel()
	var l Live
	want := Snapshot{Elapsed: time.Second, Phase: record.Warmup, InFlight: 3, Waiting: 1, Due: 4,
		TokensPerS: 12, TTFTp50: math.NaN(), TTFTp99: math.NaN()}
	got := l.Snapshot(Snapshot{Elapsed: time.Second, Phase: record.Warmup, InFlight: 3, Waiting: 1, Due: 4}, 12)
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("before anything ended, want −, got +:\n%s", diff)
	}
	// Ten replies of four events with three tokens each, and four faults.
	for i := range int64(10) {
		at := 1000 + i
		l.Observe(lived(life{due: at, sent: at, end: at + 200, chunks: steadily(at+100, 10, 4), usage: llm.Usage{OutputTokens: 12}}))
	}
	for _, o := range []llm.Outcome{llm.Rejected, llm.Reset, llm.HTTP, llm.Timeout, llm.Cancelled} {
		l.Observe(lived(life{due: 1000, sent: 1000, end: 1100, outcome: o}))
	}
	got = l.Snapshot(Snapshot{Elapsed: 2 * time.Second, Phase: record.Measure}, 40)
	// Since the start: 10 replies and 40 events of three tokens in 2 s.
	want = Snapshot{Elapsed: 2 * time.Second, Phase: record.Measure, OK: 10, Errors: 3, Rejected: 1,
		RequestsPerS: 5, TokensPerS: 60, TTFTp50: 100, TTFTp99: 100}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0.001, 0)); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
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
				l.Observe(lived(life{due: 1000, sent: 1000, end: 1200, chunks: steadily(1100, 10, 2), usage: llm.Usage{OutputTokens: 2}}))
				l.Snapshot(Snapshot{Elapsed: time.Second}, 0)
			}
		})
	}
	wg.Wait()
	if got := l.Snapshot(Snapshot{Elapsed: time.Second}, 0).OK; got != 800 {
		t.Errorf("%d of 800 records were counted", got)
	}
}
