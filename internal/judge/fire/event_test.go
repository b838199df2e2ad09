package fire

import (
	"math"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// What an event hits is found where it hits all requests or those of one replica of
// several, and a failure that comes anyway is not taken for it.
func TestBoundary(t *testing.T) {
	t.Parallel()
	// Requests of which every nth fails, up to the given number.
	hit := func(n, every, until int) (list []bool) {
		for i := range n {
			list = append(list, (i+1)%every == 0 && i < until)
		}
		return list
	}
	for name, tt := range map[string]struct {
		usual float64
		list  []bool
		want  int
	}{
		"all of twenty":             {0.001, hit(200, 1, 20), 20},
		"every third of sixty":      {0.001, hit(200, 3, 60), 60},
		"every eighth of eighty":    {0.001, hit(300, 8, 80), 80},
		"none":                      {0.001, hit(200, 1, 0), 0},
		"one at once, as usual":     {0.02, hit(200, 1, 1), 0},
		"every hundredth, as usual": {0.01, hit(400, 100, 400), 0},
		"one at once, never before": {0.001, hit(200, 1, 1), 1},
	} {
		k, low, high := boundary(tt.usual, tt.list)
		if k != tt.want || low > k || high < k {
			t.Errorf("%s: %d (%d to %d), want %d", name, k, low, high, tt.want)
		}
	}
}

// Retries outlast an outage: nothing is lost, and what was retried is counted. A gap that
// is as long as others is no outage.
func TestOutageThatRetriesOutlast(t *testing.T) {
	t.Parallel()
	const tenth = second / 10
	for _, away := range []int64{0, 3 * second} {
		w := &Window{End: 20 * second, Good: func(*record.Record) [3]bool { return [3]bool{true, true, true} }}
		for at := tenth; at < w.End; at += tenth {
			r := &record.Record{Due: at, Sent: at, First: at + 1, End: at + 2, Outcome: llm.OK, Try: 1}
			if at >= 10*second && at < 10*second+away {
				r.First, r.End, r.Try = 10*second+away+1, 10*second+away+2, 3
			}
			w.Add(r)
		}
		e := w.Judge([]Happening{{Action: "kill", At: 10*second - 1}}).Events[0]
		if away == 0 && (e.OutageS != 0 || e.Retried != 0) || away > 0 && (e.OutageS < 2.9 || e.OutageS > 3.1 || e.Retried != 30) || e.Lost != 0 || *e.RecoveryS != 0 {
			t.Errorf("away for %d s: %+v", away/second, e)
		}
	}
}

// A request that is in flight through two events and fails at the second is lost to that
// one alone.
func TestALossCountsOnce(t *testing.T) {
	t.Parallel()
	w := &Window{End: 20 * second, Good: answered}
	for at := second / 10; at < w.End; at += second / 10 {
		w.Add(&record.Record{Due: at, Sent: at, First: at + 1, End: at + 2, Outcome: llm.OK, Try: 1})
	}
	w.Add(&record.Record{Due: 7 * second, Sent: 7 * second, First: 7*second + 1, End: 12*second + 1, Outcome: llm.Reset, Try: 1})
	got := w.Judge([]Happening{{Action: "roll", At: 5 * second, Took: 6 * second}, {Action: "kill", At: 12 * second}})
	if first, second := got.Events[0].Lost, got.Events[1].Lost; first != 0 || second != 1 {
		t.Errorf("%d lost to the first and %d to the second, want 0 and 1", first, second)
	}
}

func answered(r *record.Record) [3]bool {
	ok := r.Outcome == llm.OK
	return [3]bool{ok, ok, ok}
}

// A server that is away from 10 s to 14 s, in which every request fails: what happens
// meanwhile or at its end adds nothing, and the recovery counts from the first event.
func TestAnEventDuringAnOutage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		back    int64
		second  int64
		isSound bool // the second begins behind the outage
	}{
		"start at its end":                        {14, 14, false},
		"a command without effect in the middle":  {14, 12, false},
		"a command without effect, never back":    {40, 12, false},
		"a command without effect, at once":       {14, 10, false},
		"a command without effect, long after it": {14, 20, true},
	} {
		w := &Window{End: 30 * second, Good: answered}
		for at := second / 20; at < w.End; at += second / 10 {
			r := &record.Record{Due: at, Sent: at, First: at + 1, End: at + 2, Outcome: llm.OK, Try: 1}
			if at >= 10*second && at < tt.back*second {
				r.First, r.Outcome = 0, llm.Connect
			}
			w.Add(r)
		}
		got := w.Judge([]Happening{{Action: "kill", At: 10 * second}, {Action: "start", At: tt.second * second}})
		first, other := got.Events[0], got.Events[1]
		away := min(tt.back, 30) - 10
		if first.Lost != int(10*away) || first.Missed != first.Lost || other.Lost != 0 || (other.Continues == nil) != tt.isSound || got.MissedElsewhere != 0 {
			t.Errorf("%s: lost %d and %d, missed %d and %d elsewhere, continues %v", name, first.Lost, other.Lost, first.Missed, got.MissedElsewhere, other.Continues)
		}
		if (first.RecoveryS == nil) != (tt.back > 30) || (other.RecoveryS == nil) != (tt.back > 30) {
			t.Errorf("%s: recovered: %v, %v", name, first.RecoveryS, other.RecoveryS)
		} else if r := got.RecoveryInterval; r != nil && (r[0] > 4000 || r[1] < 4000 || r[1] > 4200) {
			t.Errorf("%s: recovery in %v ms, want 4,000", name, *r)
		}
	}
}

// A second outage is as much one as the first, and its own.
func TestTwoOutages(t *testing.T) {
	t.Parallel()
	w := &Window{End: 40 * second, Good: answered}
	for at := second / 20; at < w.End; at += second / 10 {
		r := &record.Record{Due: at, Sent: at, First: at + 1, End: at + 2, Outcome: llm.OK, Try: 1}
		if at >= 10*second && at < 14*second || at >= 25*second && at < 27*second {
			r.First, r.Outcome = 0, llm.Connect
		}
		w.Add(r)
	}
	for i, e := range w.Judge([]Happening{{Action: "restart", At: 10 * second}, {Action: "restart", At: 25 * second}}).Events {
		away := []float64{4, 2}[i]
		if e.Lost != int(10*away) || e.AsBefore || e.Continues != nil || math.Abs(e.OutageS-away) > 0.11 || math.Abs(*e.RecoveryS-away) > 0.11 {
			t.Errorf("away for %g s: %+v", away, e)
		}
	}
}

// What this machine may have done is in the interval, at both ends.
func TestAMachineBoundsTheRecovery(t *testing.T) {
	t.Parallel()
	w := &Window{End: 20 * second}
	w.Good = func(r *record.Record) [3]bool {
		slow := r.Due > 19*second
		return [3]bool{!slow, true, !slow}
	}
	for at := second / 20; at < w.End; at += second / 10 {
		w.Add(&record.Record{Due: at, Sent: at, First: at + 1, End: at + 2, Outcome: llm.OK, Try: 1})
	}
	for i := range w.requests { // held up for a while, but for the last request
		if r := &w.requests[i]; r.due > 19*second+second*9/10 {
			r.good = [3]bool{true, true, true}
		}
	}
	got := w.Judge([]Happening{{Action: "echo", At: 10 * second}})
	if got.RecoveryInterval[0] != 0 || got.RecoveryInterval[1] < 9800 {
		t.Errorf("between %v ms, want from 0 to the end of what was slow", *got.RecoveryInterval)
	}
}

// Requests due before an event that it cuts were not hit by the one before it.
func TestCutsOfTheNextEvent(t *testing.T) {
	t.Parallel()
	w := &Window{End: 30 * second, Good: answered}
	for at := second / 20; at < w.End; at += second / 10 {
		r := &record.Record{Due: at, Sent: at, First: at + 1, End: at + 2, Outcome: llm.OK, Try: 1}
		if at >= 19*second && at < 20*second {
			r.End, r.Outcome = 20*second+1, llm.Reset
		}
		w.Add(r)
	}
	got := w.Judge([]Happening{{Action: "roll", At: 8 * second}, {Action: "kill 1", At: 20 * second}}).Events
	if *got[0].RecoveryS != 0 || got[0].Missed != 0 || *got[1].RecoveryS != 0 || got[1].Lost != 10 || got[1].Missed != 10 {
		t.Errorf("%+v\n%+v", got[0], got[1])
	}
}

// Of a server that is late with everything, what waits at an event is late before it, but
// lost to it where it fails then.
func TestAnEventUnderOverload(t *testing.T) {
	t.Parallel()
	w := &Window{End: 30 * second, Good: func(*record.Record) [3]bool { return [3]bool{} }, Late: func(r *record.Record) int64 { return r.Due + second/5 }}
	for at := second / 20; at < w.End; at += second / 10 {
		r := &record.Record{Due: at, Sent: at, First: at + 4*second, End: at + 5*second, Outcome: llm.OK, Try: 1}
		if at >= 6*second && at < 14*second {
			r.First, r.End, r.Outcome = 0, max(at, 10*second), llm.Reset
		}
		w.Add(r)
	}
	e := w.Judge([]Happening{{Action: "restart", At: 10 * second}}).Events[0]
	if *e.RecoveryS != 0 || e.Lost != 80 || e.AsBefore || e.Missed < 40 || e.Missed > 42 {
		t.Errorf("%+v", e)
	}
}

// A request that was due before the start of the only server may have waited for it: the
// recovery is not before that start.
func TestNoRecoveryBeforeTheStart(t *testing.T) {
	t.Parallel()
	w := &Window{End: 30 * second, Good: answered}
	for at := second / 20; at < w.End; at += second / 10 {
		r := &record.Record{Due: at, Sent: at, First: at + 1, End: at + 2, Outcome: llm.OK, Try: 1}
		switch {
		case at >= 10*second && at < 14*second-second/10:
			r.First, r.Outcome = 0, llm.Connect
		case at >= 10*second && at < 14*second:
			r.First, r.End = 14*second+1, 14*second+2
		}
		w.Add(r)
	}
	e := w.Judge([]Happening{{Action: "kill", At: 10 * second}, {Action: "start", At: 14 * second, Back: 14 * second}}).Events[0]
	if e.RecoveryS == nil || *e.RecoveryS != 4 || e.Interval[0] != 4 || e.Interval[1] < 4 {
		t.Errorf("%+v, %v", e, e.Interval)
	}
}
