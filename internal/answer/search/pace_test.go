package search

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/must"
)

// searchOfPaces tells a search of levels whose pace follows from their rate: slowing is
// by how much it exceeds that of a lone request.
func searchOfPaces(t *testing.T, slowing func(rate float64) float64, rates ...float64) *Search {
	t.Helper()
	const lone, pace = 2 * time.Second, 10 * time.Millisecond
	s := must.Get(New(Spec{}, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
	ramp, _ := s.Next()
	s.Observe(ramp, Observation{Queued: true, InFlight: 400, E2E: lone, Pace: pace})
	for _, rate := range rates {
		observePace(s, slowing, rate, 30*time.Second)
	}
	return s
}

// observePace tells the search of a level that kept everything.
func observePace(s *Search, slowing func(rate float64) float64, rate float64, length time.Duration) {
	by, n := slowing(rate), int(length.Seconds()*rate)
	s.Observe(Level{Rate: rate, Duration: length, Purpose: Look}, Observation{Requests: n, InFlight: rate * by * s.lone.E2E.Seconds(),
		Pace: time.Duration(by * float64(s.lone.Pace)), Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", N: n, Standing: slo.Met}}})
}

// TestThePaceTellsTheLimit: levels that broke nothing, at a third to two thirds
// of the rate at which the pace would stand still, bound the limit from above.
func TestThePaceTellsTheLimit(t *testing.T) {
	t.Parallel()
	const still = 40.0
	law := func(rate float64) float64 { return 1 / (1 - rate/still) }
	s := searchOfPaces(t, law, 14, 20, 26)
	if got := s.standstill(); math.Abs(math.Exp(got.at)/(collapse*still)-1) > 0.01 || got.spread > 0.1 {
		t.Errorf("collapse at %.4g ± %.3g, want %.4g", math.Exp(got.at), got.spread, collapse*still)
	}
	if _, hi := s.belief().interval(); hi > still || hi < collapse*still {
		t.Errorf("limit up to %.4g, want above %.4g and below %g", hi, collapse*still, still)
	}
	if rate := s.belief().quantile(0.05); rate < 20 {
		t.Errorf("limit from %.4g on, though 26 kept everything", rate)
	}
}

// TestARampThatToldTooLittle: one that ended far below the limit holds no level back
// while tokens come nearly as fast as to a lone reply.
func TestARampThatToldTooLittle(t *testing.T) {
	t.Parallel()
	const still = 32.0
	law := func(rate float64) float64 { return 1 / (1 - rate/still) }
	s := must.Get(New(Spec{Budget: 3 * time.Minute}, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
	ramp, _ := s.Next()
	s.Observe(ramp.Until(4*time.Second), Observation{Queued: true, InFlight: 7, E2E: 1800 * time.Millisecond, Pace: 7 * time.Millisecond, Spent: 5 * time.Second})
	for before := 0.0; before < still/4; {
		level, _ := s.Next()
		if before > 0 && level.Rate < 1.99*before || level.Duration > s.minWindow() {
			t.Fatalf("%.3g for %v after %.3g, far below a standstill at %g", level.Rate, level.Duration, before, still)
		}
		before = level.Rate
		observePace(s, law, level.Rate, level.Duration)
	}
}

// TestARampIsReadByItsPace: one that slower tokens ended is none that a queue ended,
// also where its records show a little less slowing than was seen while it rose.
func TestARampIsReadByItsPace(t *testing.T) {
	t.Parallel()
	s := searchOfPaces(t, nil)
	seen := Observation{InFlight: 7.6, E2E: 1800 * time.Millisecond, Pace: 6600 * time.Microsecond, Slowing: enoughSlowing - 0.01}
	if paced := s.scale(Level{From: 1, Rate: 7, Duration: 4 * time.Second}, seen); paced.still < 7 {
		t.Errorf("%+v", paced)
	}
	seen.Queued = true
	if queued := s.scale(Level{From: 1, Rate: 7, Duration: 4 * time.Second}, seen); queued.still != 0 || queued.rate > 4 {
		t.Errorf("with a queue: %+v", queued)
	}
}

// TestAnObjectiveThatNoLevelJudges has a limit that can be written down.
func TestAnObjectiveThatNoLevelJudges(t *testing.T) {
	t.Parallel()
	a, _ := finish(t, Spec{}, logisticCurve(40, 30).observe, "ttft:p99<500ms", "tpot:p95<50ms")
	if _, err := json.Marshal(a); err != nil || math.Abs(a.Rate/40-1) > 0.1 {
		t.Errorf("%+v: %v", a, err)
	}
}

// TestAPaceOfAnotherLaw says little: of a server that slows by steps, or not at
// all, the levels contradict each other or tell nothing.
func TestAPaceOfAnotherLaw(t *testing.T) {
	t.Parallel()
	if got := searchOfPaces(t, func(float64) float64 { return 1.1 }, 14, 20, 26).standstill(); got.spread != 0 {
		t.Errorf("a pace that does not move tells %+v", got)
	}
	s := searchOfPaces(t, func(float64) float64 { return 2 }, 5, 20, 80)
	if got := s.standstill(); got.spread < 0.5 {
		t.Errorf("levels that contradict each other tell %+v", got)
	}
	if allowed := s.standstill().allows(math.Log(80), atCollapse) - s.standstill().allows(math.Log(20), atCollapse); allowed < -4 {
		t.Errorf("80 is %.3g times less likely than 20 by such a pace", math.Exp(-allowed))
	}
}

// TestWhatWasHeldIsNoLess: a pace that says less than a sustained run showed does
// not lower the answer, and the levels stand as the answer says.
func TestWhatWasHeldIsNoLess(t *testing.T) {
	t.Parallel()
	const top = 3.8
	law := func(rate float64) float64 { return 1 / (1 - rate/4) }
	short := searchOfPaces(t, law, 1.4, 2, 2.6, top)
	before := short.Answer()
	if before.Standing == atLeast || before.Rate >= top || before.UnmissedTo == nil || *before.UnmissedTo != top {
		t.Fatalf("%+v, want something below %g, which only short levels kept", before, top)
	}
	if got := short.Standings([]float64{before.Interval[0], top}); !slices.Equal(got, []slo.Standing{slo.Met, slo.Undecided}) {
		t.Errorf("%v beside %.4g", got, before.Interval)
	}
	held := searchOfPaces(t, law, 1.4, 2, 2.6)
	observePace(held, law, top, held.sustainedLength())
	a := held.Answer()
	if a.Held == nil || a.Rate < top || a.ByObjective["ttft:p99<500ms"].Rate < top || !a.Confirmed {
		t.Errorf("%+v, held %+v: want no less than the %g that was held", a, a.Held, top)
	}
	if got := held.Standings([]float64{top}); got[0] == slo.Missed {
		t.Errorf("%g, which was held, is %v", top, got)
	}
}

// TestACeilingIsNoLimit: where no higher rate may be offered, what was met is the
// least that the limit is, whatever the pace tells.
func TestACeilingIsNoLimit(t *testing.T) {
	t.Parallel()
	law := func(rate float64) float64 { return 1 / (1 - rate/40) }
	s := searchOfPaces(t, law, 14, 20)
	if a := s.Answer(); a.Standing == atLeast || a.Rate <= 20 {
		t.Fatalf("without a ceiling %+v", a)
	}
	for _, ceiling := range []float64{20, 24} {
		s.spec.Ceiling = ceiling
		if a := s.Answer(); a.Standing != atLeast || a.Rate != 20 {
			t.Errorf("a ceiling of %g: %+v", ceiling, a)
		}
	}
}

// TestAThroughputTakesNoPaceAway: an objective that load serves says nothing
// about where a queue collapses.
func TestAThroughputTakesNoPaceAway(t *testing.T) {
	t.Parallel()
	law := func(rate float64) float64 { return 1 / (1 - rate/40) }
	s := searchOfPaces(t, law, 14, 20, 26)
	with := *s
	with.objectives = append(slices.Clone(s.objectives), parse(t, "throughput:min>100"))
	pace := with
	pace.objectives = append(slices.Clone(s.objectives), parse(t, "tpot:p95<50ms"))
	if !s.hasPace() || !with.hasPace() || pace.hasPace() || with.upward() != s.upward() {
		t.Errorf("paced alone %v, beside a throughput %v, beside a tpot %v; upward %g and %g", s.hasPace(), with.hasPace(), pace.hasPace(), s.upward(), with.upward())
	}
}
