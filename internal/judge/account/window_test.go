package account

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
)

func TestSpans(t *testing.T) {
	t.Parallel()
	s := spans{start: 1 * second, end: 5 * second}
	s.add(0, 2*second)                             // half of it before the window
	s.add(second+second/2, 4*second)               // across
	s.add(4*second, 6*second)                      // begins as the one before ends
	s.add(4*second+second/2, 0)                    // no end
	s.add(7*second, 8*second)                      // after the window
	s.add(0, second)                               // ends as the window begins
	if got, want := s.mean(), 5.0/4; got != want { // 1 + 2.5 + 1 + 0.5
		t.Errorf("mean %v, want %v", got, want)
	}
	if got := s.maxOverlap(); got != 2 {
		t.Errorf("most %d, want 2", got)
	}
	expect.NoDiff(t, cmp.Diff([]float64{1.5, 1, 1, 1.5}, s.perSecond()), "by second, want −, got +")
}

// queue is one server that takes every request the same time, in ms, one after
// another: the due times become records. cap bounds the requests in flight on
// the client's side, 0 for no bound.
func queue(due []int64, service int64, limit int) []*record.Record {
	list := make([]*record.Record, 0, len(due))
	var ends []int64
	free := int64(0)
	for i, at := range due {
		slot := at
		if limit > 0 && i >= limit {
			slot = max(at, ends[i-limit])
		}
		free = max(free, slot) + service
		ends = append(ends, free)
		list = append(list, recordOf(life{due: at, begin: at, slot: slot, sent: slot, end: free,
			chunks: []chunk{{at: free - service/2}, {at: free}}, usage: llm.Usage{OutputTokens: 2}, askedOutput: 2}))
	}
	return list
}

// poisson gives due times in ms at a mean distance of gap ms.
func poisson(seed uint64, gap float64, until int64) (due []int64) {
	r := stats.Rand(seed, "arrivals", 0)
	for at := 1.0; at < float64(until); at += gap * stats.Exponential(r) {
		due = append(due, int64(at))
	}
	return due
}

func TestAQueueBelowItsLimitIsSteadyAndNotOverloaded(t *testing.T) {
	t.Parallel()
	o := Options{Start: 10_000 * ms, End: 130_000 * ms, AskedRate: 10}
	for seed := range uint64(6) {
		s := summarizeRecords(t, o, queue(poisson(seed, 100, 140_000), 70, 0))
		if s.Window.Overload == nil || *s.Window.Overload {
			t.Errorf("seed %d at 70 %% load: overload %v, growth %v; want none", seed, s.Window.Overload, *s.Window.Growth)
		}
		// Little's law holds but for the edges of the window.
		if off := s.Concurrency.Little/s.Concurrency.Mean - 1; math.Abs(off) > 0.05 {
			t.Errorf("seed %d: Little's law gives %v, counted %v", seed, s.Concurrency.Little, s.Concurrency.Mean)
		}
	}
}

func TestAQueueBeyondItsLimitIsOverloaded(t *testing.T) {
	t.Parallel()
	o := Options{Start: 1 * ms, End: 120_000 * ms, AskedRate: 10}
	for seed := range uint64(6) {
		s := summarizeRecords(t, o, queue(poisson(seed, 100, 130_000), 140, 0))
		if !s.Window.Overloaded() {
			t.Errorf("seed %d at 140 %% load: growth %v of %d due is no overload", seed, *s.Window.Growth, s.Requests.Due)
		}
	}
}

// TestAGrowingQueueIsNotCuredByALongerWindow: where e2e grows with the queue,
// nobody is told to measure for longer.
func TestAGrowingQueueIsNotCuredByALongerWindow(t *testing.T) {
	t.Parallel()
	o := Options{Start: 1 * ms, End: 20_000 * ms, AskedRate: 10, Objectives: objectives(t, "e2e:p90<30s")}
	s := summarizeRecords(t, o, queue(poisson(1, 100, 25_000), 140, 0))
	if got := s.Objectives[0]; !s.Window.Overloaded() || got.Standing != slo.Undecided || got.Note != growingQueue {
		t.Errorf("overload %v, %s: %q", s.Window.Overloaded(), got.Standing, got.Note)
	}
	for _, n := range s.Notes {
		if strings.Contains(n.Text, "too short") {
			t.Errorf("%s: %s", n.Figure, n.Text)
		}
	}
}

// TestCappedOpenLoopThatCannotKeepUp: the backlog belongs to the user's
// latency, not to the server's, and not to our own lateness.
func TestCappedOpenLoopThatCannotKeepUp(t *testing.T) {
	t.Parallel()
	o := Options{Start: 1 * ms, End: 60_000 * ms, AskedRate: 10, Objectives: objectives(t, "e2e:p99<1s", "e2e:max<1s")}
	s := summarizeRecords(t, o, queue(poisson(1, 100, 60_000), 140, 4))
	l := s.Latency
	// Four in flight at 140 ms each: the server has each for 560 ms at most.
	if l.E2E.Max > 560 {
		t.Errorf("e2e reaches %v ms, want at most 560", l.E2E.Max)
	}
	// 600 arrive in a minute and 430 leave: the last wait for 170 × 140 ms.
	if l.E2EDue.Max < 15_000 {
		t.Errorf("e2e_due reaches %v ms only, want the backlog in it", l.E2EDue.Max)
	}
	if l.Lag.Max != 0 {
		t.Errorf("lag reaches %v ms, want none", l.Lag.Max)
	}
	if got, want := l.SlotWait.Max, l.E2EDue.Max-l.E2E.Max; got < want-1 {
		t.Errorf("slot_wait reaches %v ms, want the %v ms between e2e and e2e_due", got, want)
	}
	if s.Window.Overload == nil || !*s.Window.Overload {
		t.Errorf("overload %v, want true: the queue stands on our side", s.Window.Overload)
	}
	if s.Concurrency.Max != 4 {
		t.Errorf("%d in flight at most, want the cap of 4", s.Concurrency.Max)
	}
	for _, v := range s.Objectives {
		if v.Standing != slo.Missed {
			t.Errorf("%s is %s, want missed", v.Objective, v.Standing)
		}
	}
	if l.E2E.Firm != nil {
		t.Errorf("firm %v while the queue grows, want nothing", l.E2E.Firm)
	}
}

// TestGrowthWithinFewServiceTimesIsUnknown: a server that holds each request
// for half a minute has not turned over often enough in a minute to tell a
// growing queue from chance.
func TestGrowthWithinFewServiceTimesIsUnknown(t *testing.T) {
	t.Parallel()
	level := spans{start: 0, end: 60 * second}
	for i := range int64(60) {
		for range i {
			level.add(i*second, (i+1)*second)
		}
	}
	for _, c := range []struct {
		service float64
		want    *bool
	}{{10 * second, ptr(true)}, {10*second + 1, nil}, {30 * second, nil}} {
		var w metric.Window
		judgeGrowth(&w, &level, 100, c.service, 1)
		expect.NoDiff(t, cmp.Diff(metric.Window{Growth: ptr(60.0), Overload: c.want}, w), "served for %v s, want −, got +", c.service/second)
	}
}

func TestALevelThatKeepsRisingIsNotSteady(t *testing.T) {
	t.Parallel()
	var flat, rising spans
	flat = spans{start: 0, end: 100 * second}
	rising = flat
	r := stats.Rand(1, "steady", 0)
	for i := range int64(100) {
		n := 20 + r.IntN(5)
		for range n {
			flat.add(i*second, (i+1)*second)
		}
		// It climbs for three quarters of the window.
		for range min(int(i), 75) + r.IntN(5) {
			rising.add(i*second, (i+1)*second)
		}
	}
	var w metric.Window
	if judgeSettling(&w, &flat, nil, 2*second, 1); w.Steady == nil || !*w.Steady {
		t.Errorf("level ground: steady %v, want true", w.Steady)
	}
	w = metric.Window{}
	if judgeSettling(&w, &rising, nil, 2*second, 1); w.Steady == nil || *w.Steady {
		t.Errorf("three quarters of a climb: steady %v, want false", w.Steady)
	}
	short := spans{start: 0, end: 20 * second}
	w = metric.Window{}
	if judgeSettling(&w, &short, nil, 2*second, 1); w.Steady != nil {
		t.Errorf("twenty seconds: steady %v, want not known", *w.Steady)
	}
}

// TestAMetronomeIsFirm: 10 requests a second that are all alike.
func TestAMetronomeIsFirm(t *testing.T) {
	t.Parallel()
	var due []int64
	for at := int64(1000); at < 100_000; at += 100 {
		due = append(due, at)
	}
	o := Options{Start: 10_000 * ms, End: 90_000 * ms, AskedRate: 10, Percentiles: []float64{99.99}}
	s := summarizeRecords(t, o, queue(due, 40, 0))
	want := &metric.Dist{N: 800, Mean: 40, Max: 40,
		P:    map[string]float64{"p50": 40, "p75": 40, "p90": 40, "p95": 40, "p99": 40, "p999": 40, "p9999": 40},
		Firm: []string{"p50", "p75", "p90", "p95", "p99"},
		CI:   map[string][2]float64{"p50": {40, 40}, "p75": {40, 40}, "p90": {40, 40}, "p95": {40, 40}, "p99": {40, 40}}}
	expect.Same(t, want, s.Latency.E2E)
	expect.Same(t, metric.Concurrency{Mean: 0.4, Max: 1, Little: 0.4}, s.Concurrency)
}
