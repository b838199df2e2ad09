package search

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"redline/internal/judge/slo"
)

// pacing tells a search of levels whose pace follows from their rate: slowing is
// by how much it exceeds that of a lone request.
func pacing(t *testing.T, slowing func(rate float64) float64, rates ...float64) *Search {
	t.Helper()
	const lone, pace = 2 * time.Second, 10 * time.Millisecond
	s, err := New(Spec{}, []slo.Objective{parse(t, "ttft:p99<500ms")})
	if err != nil {
		t.Fatal(err)
	}
	ramp, _ := s.Next()
	s.Observe(ramp, Observation{Queued: true, InFlight: 400, E2E: lone, Pace: pace})
	for _, rate := range rates {
		by := slowing(rate)
		n := int(30 * rate)
		s.Observe(Level{Rate: rate, Duration: 30 * time.Second, Purpose: Look}, Observation{Requests: n, InFlight: rate * by * lone.Seconds(),
			Pace: time.Duration(by * float64(pace)), Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", N: n, Standing: slo.Met}}})
	}
	return s
}

// TestThePaceTellsTheLimit: levels that broke nothing, at a third to two thirds
// of the rate at which the pace would stand still, bound the limit from above.
func TestThePaceTellsTheLimit(t *testing.T) {
	t.Parallel()
	const still = 40.0
	law := func(rate float64) float64 { return 1 / (1 - rate/still) }
	s := pacing(t, law, 14, 20, 26)
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
	if got := pacing(t, func(float64) float64 { return 1.1 }, 14, 20, 26).standstill(); got.spread != 0 {
		t.Errorf("a pace that does not move tells %+v", got)
	}
	s := pacing(t, func(float64) float64 { return 2 }, 5, 20, 80)
	if got := s.standstill(); got.spread < 0.5 {
		t.Errorf("levels that contradict each other tell %+v", got)
	}
	if allowed := s.standstill().allows(math.Log(80)) - s.standstill().allows(math.Log(20)); allowed < -4 {
		t.Errorf("80 is %.3g times less likely than 20 by such a pace", math.Exp(-allowed))
	}
}
