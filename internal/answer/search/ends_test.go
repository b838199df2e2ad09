package search

import (
	"math"
	"testing"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// lateBetween is a search that saw 1,800 requests at 10 per second of which 20 broke a p99
// as measured, and between low and high by what this machine may have done.
func lateBetween(t *testing.T, low, high int) *Search {
	t.Helper()
	s := must.Get(New(Spec{}, parseAll(t, "ttft:p99<500ms")))(t)
	s.Observe(Level{Rate: 10, Duration: 3 * time.Minute, Purpose: Sustain}, Observation{Requests: 1800,
		Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", N: 1800, Violations: 20, ViolationsLow: &low, ViolationsHigh: &high}}})
	return s
}

// TestALevelIsMetByItsHighsAndMissedByItsLows, of 1,800 requests of which 18 may
// be late.
func TestALevelIsMetByItsHighsAndMissedByItsLows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		low, high    int
		kept, broken bool
	}{{5, 18, true, false}, {5, 19, false, false}, {18, 40, false, false}, {19, 40, false, true}} {
		s := lateBetween(t, c.low, c.high)
		kept, broken := s.bracket()
		if (kept == 10) != c.kept || (broken == 10) != c.broken || (s.heldRate() != nil) != c.kept {
			t.Errorf("from %d to %d late: kept %g, broken %g, held %+v", c.low, c.high, kept, broken, s.heldRate())
		}
	}
}

// TestEndsWidenTheInterval on the side that they leave open.
func TestEndsWidenTheInterval(t *testing.T) {
	t.Parallel()
	interval := func(low, high int) (lo, hi float64) { return lateBetween(t, low, high).answerBelief().interval() }
	lo, hi := interval(20, 20)
	if l, h := interval(1, 20); !(h > hi*1.02) || l < lo*0.98 {
		t.Errorf("perhaps fewer late: %.4g–%.4g, want higher than %.4g–%.4g", l, h, lo, hi)
	}
	if l, h := interval(20, 200); !(l < lo*0.98) || h > hi*1.02 {
		t.Errorf("perhaps more late: %.4g–%.4g, want lower than %.4g–%.4g", l, h, lo, hi)
	}
}

// TestValuesHaveEnds: a percentile counts as the middle of its ends, and its pace
// as known by theirs.
func TestValuesHaveEnds(t *testing.T) {
	t.Parallel()
	value, low := 400.0, 100.0
	p := result.Point{Summary: metric.Summary{
		Latency: metric.Latency{
			TTFTDue: &metric.Dist{P: map[string]float64{"p99": value}},
			TPOT:    &metric.Dist{N: 9, Mean: 20, P: map[string]float64{"p95": 30}, Low: map[string]float64{"mean": 10}, High: map[string]float64{"p95": 120}},
		},
		Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Limit: 500, Value: &value, Low: &low}, {Objective: "tpot:p95<60ms", Limit: 60}},
	}}
	o := fromPoint(p, 1)
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	if len(o.Values) != 2 || !near(o.Values[0], 200.0/500) || !near(o.Blurs[0], math.Log(4)/2) || !near(o.Values[1], 1) || !near(o.Blurs[1], math.Log(4)/2) {
		t.Errorf("values %v, blurs %v", o.Values, o.Blurs)
	}
	if o.Pace != 20*time.Millisecond || !near(o.PaceBlur, math.Log(2)/2) {
		t.Errorf("pace %v, known by %v", o.Pace, o.PaceBlur)
	}
}
