package fire

import (
	"testing"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// What an event hits is found where it hits all requests or those of one replica of
// several, and a failure that comes anyway is not taken for it.
func TestBoundary(t *testing.T) {
	t.Parallel()
	// Requests of which every nth fails, up to the given number.
	hit := func(n, every, until int) (list []request) {
		for i := range n {
			list = append(list, request{good: (i+1)%every != 0 || i >= until})
		}
		return list
	}
	for name, tt := range map[string]struct {
		usual float64
		list  []request
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
		w := &Window{End: 20 * second, Good: func(*record.Record) bool { return true }}
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
	w := &Window{End: 20 * second, Good: func(r *record.Record) bool { return r.Outcome == llm.OK }}
	for at := second / 10; at < w.End; at += second / 10 {
		w.Add(&record.Record{Due: at, Sent: at, First: at + 1, End: at + 2, Outcome: llm.OK, Try: 1})
	}
	w.Add(&record.Record{Due: 7 * second, Sent: 7 * second, First: 7*second + 1, End: 12*second + 1, Outcome: llm.Reset, Try: 1})
	got := w.Judge([]Happening{{Action: "roll", At: 5 * second, Took: 6 * second}, {Action: "kill", At: 12 * second}})
	if first, second := got.Events[0].Lost, got.Events[1].Lost; first != 0 || second != 1 {
		t.Errorf("%d lost to the first and %d to the second, want 0 and 1", first, second)
	}
}
