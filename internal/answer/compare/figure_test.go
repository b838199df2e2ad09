package compare

import (
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/text"
	"redline/internal/twin/sim"
)

// point measures a stage as runs are measured: through records.
func (e engine) point(t testing.TB, requests, own uint64, rate float64) result.Point {
	chunks := map[*trip][]int64{}
	trips := e.play(t, requests, own, rate, func(one *trip, k sim.Token) { chunks[one] = append(chunks[one], k.At) })
	records := func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			for _, one := range trips {
				if !yield(one.record(chunks[one]), nil) {
					return
				}
			}
		}
	}
	objective := must.Get(slo.Parse("ttft:p99<500ms"))(t)
	s := must.Get(account.Summarize(records, account.Options{Start: int64(e.lead), End: int64(e.lead + e.window),
		AskedRate: rate, Objectives: []slo.Objective{objective}, Seed: own}))(t)
	return result.Point{Load: result.Load{Mode: "open", Rate: &rate}, Summary: s}
}

// record is the trip as the load engine would have written it down.
func (one *trip) record(chunks []int64) *record.Record {
	r := &record.Record{Due: one.due, Begin: one.due, Slot: one.due, Try: 1, Streamed: true, AskedOutput: one.output}
	r.Observe(llm.Event{Kind: llm.Sent, At: one.due})
	for _, at := range chunks {
		r.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte("word")})
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: one.output}})
	r.Observe(llm.Event{Kind: llm.End, At: chunks[len(chunks)-1]})
	r.Settle()
	return r
}

// TestTheTrialsMeasureAsRunsDo holds the figures of the trials, which are
// computed from the engine's own stamps, against those of a measured point.
func TestTheTrialsMeasureAsRunsDo(t *testing.T) {
	t.Parallel()
	point := small.point(t, 1, 2, small.limit)
	want := small.values(t, 1, 2, small.limit)
	// Records keep whole microseconds, points six digits.
	expect.NoDiff(t, cmp.Diff(want, ValuesOf(&point), cmpopts.EquateApprox(1e-3, 0)), "-trial +measured")
}

func TestAPointWithoutRequestsHasNoValues(t *testing.T) {
	t.Parallel()
	expect.Same(t, Values{}, ValuesOf(&result.Point{}))
}

func TestNumbersAreShort(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0.0512: "0.051", 5.123: "5.1", 12.6: "13", 123.4: "123", 0: "0"} {
		if got := text.Rough(v); got != want {
			t.Errorf("%v is shown as %s, want %s", v, got, want)
		}
	}
}

// TestSingleRunsOfOneEngineAreNotCalledDifferent compares single runs of other
// seeds, whose own intervals and the tolerance must hold them together.
func TestSingleRunsOfOneEngineAreNotCalledDifferent(t *testing.T) {
	t.Parallel()
	n, full := trialsAsked(t, effort.Of(4, 8))
	e := small
	e.window = 60 * time.Second
	if full {
		e.window = 120 * time.Second
	}
	alarms, by := 0, map[string]int{}
	for i := range uint64(n) {
		a, b := run("a", 1), run("b", 1)
		a.Points[0], b.Points[0] = e.point(t, 2*i, 2*i, 0.8*e.limit), e.point(t, 2*i+1, 2*i+1, 0.8*e.limit)
		c := must.Get(Runs(one(a), one(b), Options{}))(t)
		if c.Standing != slo.Undecided && c.Standing != slo.Same {
			alarms++
		}
		for _, m := range c.Metrics {
			if m.Standing == slo.Better || m.Standing == slo.Worse {
				by[m.Name]++
			}
		}
	}
	t.Logf("%d of %d called different, at most %d allowed; by metric %v", alarms, n, maxFalseAlarms(n), by)
	if alarms > maxFalseAlarms(n) {
		t.Errorf("%d of %d single runs of one engine are called different, want at most %d", alarms, n, maxFalseAlarms(n))
	}
}
