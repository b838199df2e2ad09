package metric

import (
	"math"
	"testing"

	"redline/internal/llm"
	"redline/internal/record"
	"redline/internal/slo"
	"redline/internal/stats"
)

// queued gives the records of n customers of a queue with one server, Poisson
// arrivals at the given load and exponential service of mean 10 ms, once it
// has forgotten its start. A reply is one event at its end.
func queued(seed uint64, n int, load float64) (records []*record.Record, start, end int64) {
	const forget, service = 1000, 10e6 // customers, ns
	r := stats.Rand(seed, "queue", 0)
	at, free := 1e9, 0.0
	for i := range forget + n {
		at += stats.Exponential(r) * service / load
		free = max(free, at) + stats.Exponential(r)*service
		if i < forget {
			continue
		}
		if i == forget {
			start = int64(at)
		}
		one := &record.Record{Due: int64(at), Streamed: true, Try: 1}
		one.Observe(llm.Event{Kind: llm.Sent, At: int64(at)})
		one.Observe(llm.Event{Kind: llm.Output, At: int64(free), Text: []byte("word")})
		one.Observe(llm.Event{Kind: llm.End, At: int64(free)})
		one.Settle()
		records = append(records, one)
	}
	return records, start, int64(at) + 1
}

// TestAServerAtItsLimitIsSeldomCalledMet: the time in that queue is
// exponential with mean 10 ms / (1 − load), so its percentiles are known. Held
// to exactly its own p95, a server keeps and breaks the promise alike, and
// "met" should be rare. It comes in about 35 runs of 1,000 and not in the
// nominal ten, because a busy queue remembers longer than a short window can
// show; by the variance between the single batches alone it came in 130. The
// bound is three standard errors above 35.
func TestAServerAtItsLimitIsSeldomCalledMet(t *testing.T) {
	t.Parallel()
	const trials, n, load, p = 400, 1000, 0.8, 0.95
	limit := -math.Log(1-p) * 10e6 / (1 - load)
	promise := slo.Objective{Metric: "e2e", Stat: "p95", P: p, Limit: limit, Text: "e2e:p95<150ms"}
	met := 0
	for seed := range uint64(trials) {
		records, start, end := queued(seed, n, load)
		s := summarizeRecords(t, Options{Start: start, End: end, AskedRate: 80, Objectives: []slo.Objective{promise}}, records)
		if s.Objectives[0].Standing == slo.Met {
			met++
		}
	}
	if met > 25 {
		t.Errorf("met %d times in %d, want at most 25", met, trials)
	}
}

func TestAMeanIsNotMetBesideRequestsThatAreNotOK(t *testing.T) {
	t.Parallel()
	o := window(600, objectives(t, "ttft:mean<11ms")...)
	got := summarizeRecords(t, o, alike(600, func(i int, l *life) {
		if i%100 == 50 {
			fail(l)
		}
	})).Objectives[0]
	if want := "6 of 600 due not ok, above any bound"; got.Standing != slo.Undecided || got.Note != want {
		t.Errorf("%+v, want undecided: %s", got, want)
	}
}

func TestAMeanIsNotMetWhileTheQueueGrows(t *testing.T) {
	t.Parallel()
	// Request i waits 20·i ms for its slot and is then served as ever.
	o := window(1200, objectives(t, "tpot:mean<30ms")...)
	s := summarizeRecords(t, o, alike(1200, func(i int, l *life) {
		wait := 20 * int64(i)
		l.sent, l.end = l.sent+wait, l.end+wait
		for k := range l.chunks {
			l.chunks[k].at += wait
		}
	}))
	if got := s.Objectives[0]; !s.Window.overloaded() || got.Standing != slo.Undecided || got.Note != growingQueue {
		t.Errorf("overload %v, %+v; want an overload in which no mean is met", s.Window.overloaded(), got)
	}
}

// TestAFailedRequestStandsForAWholeReplysGaps: the window holds half of each
// ok reply's ten gaps, and a failed request still weighs as much as a whole
// one.
func TestAFailedRequestStandsForAWholeReplysGaps(t *testing.T) {
	t.Parallel()
	o := window(600, objectives(t, "icl:p50<1s")...)
	got := summarizeRecords(t, o, alike(600, func(i int, l *life) {
		if i == 0 {
			fail(l)
			return
		}
		l.chunks = nil
		for k := range int64(11) {
			at := l.due + 10 + 10*k
			if k > 5 {
				at += 1_000_000 // long after the window
			}
			l.chunks = append(l.chunks, chunk{at: at})
		}
		l.end = l.chunks[10].at
	})).Objectives[0]
	if got.N != 599*5+10 || got.Violations != 10 {
		t.Errorf("%d of %d gaps beyond the limit, want 10 of %d", got.Violations, got.N, 599*5+10)
	}
}
