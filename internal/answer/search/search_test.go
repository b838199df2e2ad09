package search

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/stats"
)

// curve is a server whose share of violations follows the rate exactly.
type curve func(rate float64) float64

// logisticCurve reaches the allowed share of 1 % at the limit.
func logisticCurve(limit, slope float64) curve {
	return func(rate float64) float64 { return logistic(logit(0.01) + slope*math.Log(rate/limit)) }
}

// observe is what a level of that server shows of ttft:p99<500ms.
func (c curve) observe(l Level) Observation {
	if l.Purpose == Ramp {
		return Observation{Queued: true}
	}
	n := int(l.Rate * l.Duration.Seconds())
	worth := float64(n) / 10
	// The work of a window differs by chance, now more and now less.
	share := c(l.Rate * (1 + [...]float64{-1, 1.2, -0.6, 0.8}[l.Draw%4]/math.Sqrt(float64(n))))
	broken := int(math.Round(share * float64(n)))
	return Observation{Requests: n, Goodput: l.Rate * (1 - share), Latency: 50 + 1000*share,
		Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", N: n, Violations: broken, NEff: &worth}}}
}

func finish(t *testing.T, spec Spec, observe func(Level) Observation, objectives ...string) (Limit, []Level) {
	t.Helper()
	var list []slo.Objective
	for _, text := range objectives {
		list = append(list, parse(t, text))
	}
	s := must.Get(New(spec, list))(t)
	var levels []Level
	for l, ok := s.Next(); ok; l, ok = s.Next() {
		o := observe(l)
		if l.Purpose == Ramp && l.Rate > rampTop {
			l = l.Until(min(l.Duration, time.Duration(math.Log2(max(rampTop/l.From, 2))*float64(doubling))))
		}
		if levels = append(levels, l); len(levels) > 50 {
			t.Fatalf("no end after %v", levels)
		}
		o.Spent = took(l)
		s.Observe(l, o)
	}
	return s.Answer(), levels
}

// rampTop is where a ramp of these servers meets a queue.
const rampTop = 80.0

func took(l Level) time.Duration { return l.Warmup + l.Duration + l.Drain + pauseBetweenLevels }

func TestTheLimitOfAKnownCurve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit, slope, start float64
		off                 float64 // more where the ramp begins far too high, and few requests are left
	}{
		{40, 8, 1, 0.06}, {40, 200, 1, 0.06}, {3, 30, 500, 0.1}, {900, 30, 1, 0.06},
	} {
		a, levels := finish(t, Spec{Start: c.start}, logisticCurve(c.limit, c.slope).observe, "ttft:p99<500ms")
		if math.Abs(a.Rate/c.limit-1) > c.off || a.Interval[0] > c.limit || a.Interval[1] < c.limit {
			t.Errorf("limit %g, slope %g: got %.4g %.4g", c.limit, c.slope, a.Rate, a.Interval)
		}
		if a.Binding != "ttft:p99<500ms" {
			t.Errorf("limit %g, slope %g: bound by %q", c.limit, c.slope, a.Binding)
		}
		if a.Held == nil || a.Held.Rate > 1.05*c.limit || a.Held.Rate < 0.8*c.limit || a.Held.Seconds < 135 {
			t.Errorf("limit %g, slope %g: held %+v after %v", c.limit, c.slope, a.Held, levels)
		}
	}
}

// TestTheEdgeOfAKnownCurve: within 5 % of rate a cliff goes from few to many.
func TestTheEdgeOfAKnownCurve(t *testing.T) {
	t.Parallel()
	for slope, want := range map[float64]string{8: Slope, 30: Slope, 200: cliff} {
		s := must.Get(New(Spec{}, parseAll(t, "ttft:p99<500ms")))(t)
		for i, rate := range []float64{37, 38, 39, 41, 42, 43} {
			l := Level{Rate: rate, Duration: 3 * time.Minute, Purpose: Sustain, Draw: i}
			s.Observe(l, logisticCurve(40, slope).observe(l))
		}
		if a := s.Answer(); a.Edge != want {
			t.Errorf("slope %g: %q, want %q", slope, a.Edge, want)
		}
	}
}

// TestTheOrderOfLevels: a ramp, looks that grow, and sustained runs; each with
// requests of its own.
func TestTheOrderOfLevels(t *testing.T) {
	t.Parallel()
	_, levels := finish(t, Spec{}, logisticCurve(40, 20).observe, "ttft:p99<500ms")
	var order []string
	draws := map[int]bool{}
	for _, l := range levels {
		if len(order) == 0 || order[len(order)-1] != l.Purpose {
			order = append(order, l.Purpose)
		}
		draws[l.Draw] = true
	}
	if diff := cmp.Diff([]string{Ramp, Look, Sustain}, order[:min(3, len(order))]); diff != "" || len(draws) != len(levels) {
		t.Errorf("%d draws of %d levels, purposes (-want +got):\n%s", len(draws), len(levels), diff)
	}
}

// TestABudgetIsKept, and a larger one narrows the interval.
func TestABudgetIsKept(t *testing.T) {
	t.Parallel()
	widths := []float64{}
	for _, budget := range []time.Duration{40 * time.Second, 2 * time.Minute, 10 * time.Minute} {
		a, levels := finish(t, Spec{Budget: budget}, logisticCurve(40, 12).observe, "ttft:p99<500ms")
		spent := time.Duration(0)
		for _, l := range levels {
			spent += took(l)
		}
		if spent > budget*11/10 || len(levels) < 3 {
			t.Errorf("%v on a budget of %v: %v", spent, budget, levels)
		}
		widths = append(widths, (a.Interval[1]-a.Interval[0])/a.Rate)
	}
	if !(widths[0] > widths[1] && widths[1] > widths[2]) {
		t.Errorf("widths %.3f do not shrink with the budget", widths)
	}
}

// TestAPlansOwnDrainIsCounted: levels that drain for long are fewer, and a
// budget that cannot hold two of them is refused with what would.
func TestAPlansOwnDrainIsCounted(t *testing.T) {
	t.Parallel()
	own := Spec{Budget: 30 * time.Second, Drain: new(20 * time.Second), Warmup: new(4 * time.Second)}
	_, err := New(own, []slo.Objective{parse(t, "ttft:p99<500ms")})
	want := "a budget of 30s is too short for a ramp and two levels of 5s, each with a warm-up of 4s (--warmup) and a drain of 20s (--drain): give it at least 1m9s"
	if err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	for _, budget := range []time.Duration{own.MinBudget(), 2 * time.Minute, 10 * time.Minute} {
		own.Budget = budget
		a, levels := finish(t, own, logisticCurve(40, 12).observe, "ttft:p99<500ms")
		for _, l := range levels {
			if l.Purpose != Ramp && (l.Drain != *own.Drain || l.Warmup != *own.Warmup) {
				t.Errorf("%+v: want the plan's warm-up and drain", l)
			}
		}
		if a.LoadS > 1.1*budget.Seconds() || len(levels) < 3 {
			t.Errorf("%g s on a budget of %v: %v", a.LoadS, budget, levels)
		}
	}
}

// TestEveryLevelHasItsOwnDraw, also after one that does not count.
func TestEveryLevelHasItsOwnDraw(t *testing.T) {
	t.Parallel()
	s := must.Get(New(Spec{}, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
	drawn := map[int]bool{}
	for i := range 6 {
		l, _ := s.Next()
		if drawn[l.Draw] {
			t.Errorf("level %d has draw %d again", i, l.Draw)
		}
		drawn[l.Draw] = true
		if i%2 == 1 {
			s.Pass(took(l))
			continue
		}
		s.Observe(l, logisticCurve(40, 30).observe(l))
	}
}

// TestGridsRise whatever the ramp found, and where levels of before lie outside
// the rates that may be offered now.
func TestGridsRise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		rate float64 // of a level that was seen
	}{{Spec{Floor: 100, Start: 100}, 100}, {Spec{Ceiling: 2}, 500}, {Spec{Floor: 5, Start: 5}, 0.01}, {Spec{Floor: 3, Start: 3, Ceiling: 3}, 3}} {
		s := must.Get(New(c.spec, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
		ramp, _ := s.Next()
		s.Observe(ramp, Observation{Queued: true, InFlight: 1, E2E: 2 * time.Second})
		for range 2 {
			l, ok := s.Next()
			if !ok {
				break
			}
			grid := s.wideGrid()
			full := s.spec
			if lo, hi := math.Exp(grid[0]), math.Exp(grid[len(grid)-1]); lo > hi || !(l.Rate >= full.Floor && l.Rate <= full.Ceiling) {
				t.Errorf("%+v after %g: limits from %g to %g, then %g", c.spec, c.rate, lo, hi, l.Rate)
			}
			l.Rate = c.rate
			s.Observe(l, logisticCurve(40, 30).observe(l))
		}
	}
}

// TestAPaceThatStandsAnyQueue: where nothing is ever missed, the search goes
// down to a rate with which the server keeps up, and then up to its capacity.
func TestAPaceThatStandsAnyQueue(t *testing.T) {
	t.Parallel()
	const capacity = 20.0
	for _, budget := range []time.Duration{time.Minute, 10 * time.Minute} {
		a, levels := finish(t, Spec{Budget: budget}, func(l Level) Observation {
			if l.Purpose == Ramp {
				return Observation{Queued: true}
			}
			n := int(l.Rate * l.Duration.Seconds())
			return Observation{Requests: n, Growth: max(l.Rate-capacity, 0) * l.Duration.Seconds(),
				Objectives: []slo.Verdict{{Objective: "tpot:p95<50ms", Standing: slo.Met, N: n}}}
		}, "tpot:p95<50ms")
		if a.Standing != atLeast || !(a.Rate > capacity/3 && a.Rate < 1.5*capacity) {
			t.Errorf("%v: %s %.4g after %v, want at least a rate that a capacity of %g keeps up with", budget, a.Standing, a.Rate, levels, capacity)
		}
	}
}

// TestLevelsOfOneRateAgree: what is said of a rate comes from all levels
// together, and agrees with the interval of the limit.
func TestLevelsOfOneRateAgree(t *testing.T) {
	t.Parallel()
	s := must.Get(New(Spec{}, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
	for l, ok := s.Next(); ok; l, ok = s.Next() {
		o := logisticCurve(40, 30).observe(l)
		o.Spent = took(l)
		s.Observe(l, o)
	}
	a, rates := s.Answer(), []float64{}
	for _, l := range s.levels {
		rates = append(rates, l.Rate)
	}
	for i, got := range s.Standings(rates) {
		l := s.levels[i]
		want := slo.Undecided
		switch {
		case l.Rate <= a.Interval[0]:
			want = slo.Met
		case l.Rate >= a.Interval[1]:
			want = slo.Missed
		}
		if got != want {
			t.Errorf("%.4g is %v beside a limit of %.4g, want %v", l.Rate, got, a.Interval, want)
		}
	}
}

// TestTwoLevelsAreOne: one bad minute at a rate that was met twice does not
// break it.
func TestTwoLevelsAreOne(t *testing.T) {
	t.Parallel()
	s := must.Get(New(Spec{}, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
	for i, broken := range []int{0, 12, 0} {
		worth := 100.0
		s.Observe(Level{Rate: 20 + 0.1*float64(i), Duration: time.Minute, Purpose: Look}, Observation{Requests: 1000,
			Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", N: 1000, Violations: broken, NEff: &worth}}})
	}
	if kept, broken := s.bracket(); kept != 20.2 || !math.IsInf(broken, 1) {
		t.Errorf("kept up to %g and broken from %g, want 12 of 3,000 to be kept", kept, broken)
	}
}

func TestAnObjectiveThatNoLoadKeeps(t *testing.T) {
	t.Parallel()
	a, levels := finish(t, Spec{Floor: 0.5}, curve(func(float64) float64 { return 0.4 }).observe, "ttft:p99<500ms")
	if a.Standing != below || a.Rate != 0 || a.Confirmed {
		t.Errorf("%s at %g, want no rate", a.Standing, a.Rate)
	}
	expect.NoDiff(t, cmp.Diff([]string{"ttft:p99<500ms"}, a.Unmet), "unmet (-want +got)")
	if lowest := levels[len(levels)-1].Rate; lowest != 0.5 || a.Interval != [2]float64{0, 0.5} || !strings.Contains(a.Notes[0], "0.5") {
		t.Errorf("ended at %g with %v and %q, want the floor measured and named", lowest, a.Interval, a.Notes)
	}
}

func TestAServerThatNothingBreaks(t *testing.T) {
	t.Parallel()
	a, levels := finish(t, Spec{Ceiling: 50}, curve(func(float64) float64 { return 0 }).observe, "ttft:p99<500ms")
	if a.Standing != atLeast || a.Rate != 50 || levels[len(levels)-1].Rate != 50 || a.Edge != "" || a.Binding != "" {
		t.Errorf("%+v after %v, want at least the ceiling of 50", a, levels)
	}
	if alone := a.ByObjective["ttft:p99<500ms"]; alone.Standing != atLeast || alone.Rate != a.Rate {
		t.Errorf("by objective %+v, want the same as the whole: %+v", alone, a)
	}
}

// TestASearchGoesUpWhileNothingBreaks: rates rise from level to level.
func TestASearchGoesUpWhileNothingBreaks(t *testing.T) {
	t.Parallel()
	a, levels := finish(t, Spec{Budget: 3 * time.Minute}, curve(func(float64) float64 { return 0 }).observe, "ttft:p99<500ms")
	if a.Standing != atLeast || a.Rate < 1.5*levels[1].Rate || a.Interval[1] != a.Rate {
		t.Errorf("%+v after %v", a, levels)
	}
}

// TestASustainedRunIsRepeatedLower: a server that only tires after minutes.
func TestASustainedRunIsRepeatedLower(t *testing.T) {
	t.Parallel()
	fresh, tired := logisticCurve(40, 60), logisticCurve(34, 60)
	var runs []float64
	a, levels := finish(t, Spec{}, func(l Level) Observation {
		if l.Purpose == Sustain {
			runs = append(runs, l.Rate)
			return tired.observe(l)
		}
		return fresh.observe(l)
	}, "ttft:p99<500ms")
	if len(runs) < 2 || runs[1] >= runs[0] || a.Interval[0] > 36 {
		t.Errorf("sustained at %.4g, limit %.4g %.4g after %v, want a second run below the first", runs, a.Rate, a.Interval, levels)
	}
}

// TestLatenessFarBelowAQueueWidensTheInterval: shares that differ from level to
// level and hardly rise with the rate may come from stalls, and the interval has
// room for that; shares that leap come from a queue.
func TestLatenessFarBelowAQueueWidensTheInterval(t *testing.T) {
	t.Parallel()
	answer := func(shares map[float64]float64) Limit {
		s := must.Get(New(Spec{Budget: 3 * time.Minute}, parseAll(t, "ttft:p95<500ms")))(t)
		for rate, share := range shares {
			l := Level{Rate: rate, Duration: time.Minute, Purpose: Look}
			n := 60 * rate
			s.Observe(l, Observation{Requests: int(n), Objectives: []slo.Verdict{{Objective: "ttft:p95<500ms", N: int(n), Violations: int(share * n), NEff: new(n / 8)}}})
		}
		return s.Answer()
	}
	const clause = "stalls and long prompts"
	stalls := answer(map[float64]float64{4: 0.02, 6: 0.08, 8: 0.03, 10: 0.07})
	if notes := strings.Join(stalls.Notes, "\n"); !strings.Contains(notes, clause) || stalls.Interval[0] > 4 || stalls.Interval[1] < 10 {
		t.Errorf("%.3g within %.3g, want an interval beyond 4 to 10; notes:\n%s", stalls.Rate, stalls.Interval, notes)
	}
	queue := answer(map[float64]float64{7: 0, 8: 0.01, 9: 0.3, 10: 0.8})
	if notes := strings.Join(queue.Notes, "\n"); strings.Contains(notes, clause) || queue.Interval[0] < 6.5 || queue.Interval[1] > 10 {
		t.Errorf("%.3g within %.3g, want an interval within 6.5 to 10; notes:\n%s", queue.Rate, queue.Interval, notes)
	}
}

// TestABriefSearchSaysWhatItCannotSee: a search whose levels last for 27 s in all
// speaks of what happens every 9 s.
func TestABriefSearchSaysWhatItCannotSee(t *testing.T) {
	t.Parallel()
	for objective, want := range map[string]bool{"ttft:p99<500ms": true, "tpot:p99<50ms": false} {
		s := must.Get(New(Spec{Budget: time.Minute}, parseAll(t, objective)))(t)
		for _, rate := range []float64{5, 6, 7} {
			o := Observation{Requests: 50, Objectives: []slo.Verdict{{Objective: objective, N: 50, NEff: new(20.0)}}}
			s.Observe(Level{Rate: rate, Duration: 9 * time.Second, Purpose: Look}, o)
		}
		notes := strings.Join(s.Answer().Notes, "\n")
		if got := strings.Contains(notes, "less often than every 9 s"); got != want {
			t.Errorf("%s: said %v, want %v; notes:\n%s", objective, got, want, notes)
		}
	}
}

// TestEveryObjectiveHasItsOwnLimit: the strictest binds, one that never breaks
// has no limit, and a throughput is reached from some rate on.
func TestEveryObjectiveHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	texts := []string{"ttft:p99<500ms", "error:rate<1%", "good:fraction>0.99", "tpot:mean<50ms", "throughput:min>2000"}
	objectives := must.Get(slo.ParseAll(texts))(t)
	a, _ := finish(t, Spec{}, func(l Level) Observation {
		o := logisticCurve(40, 50).observe(l)
		if l.Purpose == Ramp {
			return o
		}
		one := o.Objectives[0]
		one.Objective = objectives[0].Text
		errors := one
		errors.Objective, errors.Violations = objectives[1].Text, 0
		good := logisticCurve(34, 50).observe(l).Objectives[0]
		good.Objective = objectives[2].Text
		mean := slo.Verdict{Objective: objectives[3].Text, Standing: slo.Met}
		if l.Rate > 38 {
			mean.Standing = slo.Missed
		}
		throughput := slo.Verdict{Objective: objectives[4].Text, Standing: slo.Missed}
		if l.Rate > 12 {
			throughput.Standing = slo.Met
		}
		o.Objectives = []slo.Verdict{one, errors, good, mean, throughput}
		return o
	}, texts...)
	standings := map[string]result.LimitStanding{}
	for text, b := range a.ByObjective {
		standings[text] = b.Standing
	}
	if a.Binding != objectives[2].Text || math.Abs(a.Rate/34-1) > 0.05 {
		t.Errorf("%.4g by %q, want 34 by the good fraction", a.Rate, a.Binding)
	}
	if standings[objectives[1].Text] != atLeast || standings[objectives[4].Text] != needs || a.ByObjective[objectives[4].Text].Rate > 40 {
		t.Errorf("standings %v", a.ByObjective)
	}
	if alone := a.ByObjective[objectives[0].Text]; alone.Rate < a.Rate || alone.Interval[0] > 40 {
		t.Errorf("ttft alone: %+v, want no less than the whole and an interval that can hold 40", alone)
	}
	if len(a.Unmet) != 0 {
		t.Errorf("unmet %v", a.Unmet)
	}
}

func TestAThroughputOutOfReachIsUnmet(t *testing.T) {
	t.Parallel()
	text := parse(t, "throughput:min>9000").Text
	a, _ := finish(t, Spec{}, func(l Level) Observation {
		o := logisticCurve(40, 50).observe(l)
		o.Objectives = append(o.Objectives, slo.Verdict{Objective: text, Standing: slo.Missed})
		return o
	}, "ttft:p99<500ms", text)
	expect.NoDiff(t, cmp.Diff([]string{text}, a.Unmet), "unmet (-want +got)")
}

// TestResumedSearchesGoOnAlike: telling a new search what was seen gives the
// same next level.
func TestResumedSearchesGoOnAlike(t *testing.T) {
	t.Parallel()
	objectives := []slo.Objective{parse(t, "ttft:p99<500ms")}
	one := must.Get(New(Spec{}, objectives))(t)
	var past []Level
	for {
		again := must.Get(New(Spec{}, objectives))(t)
		for _, l := range past {
			again.Observe(l, logisticCurve(40, 30).observe(l))
		}
		want, more := one.Next()
		got, ok := again.Next()
		if diff := cmp.Diff(want, got); diff != "" || more != ok {
			t.Fatalf("after %d levels (-went on +resumed):\n%s", len(past), diff)
		}
		if !more {
			return
		}
		one.Observe(want, logisticCurve(40, 30).observe(want))
		past = append(past, want)
	}
}

// TestThePlanFits: what is planned begins with what happens and fits the budget.
func TestThePlanFits(t *testing.T) {
	t.Parallel()
	s := must.Get(New(Spec{Start: 2}, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
	p := s.Plan()
	spent := time.Duration(0)
	purposes := map[string]bool{}
	for _, l := range p.Levels {
		spent += took(l)
		purposes[l.Purpose] = true
	}
	if p.Guess != 32 || p.Sustained != 3*time.Minute || p.Budget != 10*time.Minute || spent > p.Budget || len(purposes) != 3 {
		t.Errorf("%v of %+v: want a ramp, looks and a sustained run to a limit of 32", spent, p)
	}
	if first, _ := s.Next(); first.Purpose != Ramp || first.From != 2 {
		t.Errorf("begins with %+v, want a ramp from 2", first)
	}
}

// TestAnythingSeenEnds: whatever a server seems to do, levels stay within
// bounds, come to an end, and leave an answer that can be written down.
func TestAnythingSeenEnds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(effort.Of(3, 12)) {
		r := stats.Rand(seed, "anything", 0)
		spec := Spec{Floor: 0.1, Ceiling: 1000}
		a, levels := finish(t, spec, func(l Level) Observation {
			n := r.IntN(1000)
			worth := float64(n) * r.Float64()
			v := slo.Verdict{Objective: "ttft:p99<500ms", N: n, NEff: &worth, Standing: slo.Undecided}
			if v.Violations = r.IntN(n + 1); r.IntN(3) > 0 {
				v.Violations = 0
			}
			if r.IntN(5) == 0 {
				v.Standing = slo.NotJudged
			}
			return Observation{Objectives: []slo.Verdict{v}, Requests: n, Growth: r.NormFloat64() * float64(n),
				Work: r.Float64() * 3, Latency: r.Float64(), Goodput: r.Float64()}
		}, "ttft:p99<500ms")
		for _, l := range levels[1:] {
			if !(l.Rate >= spec.Floor && l.Rate <= spec.Ceiling) || l.Duration < 10*time.Second || l.Duration > 180*time.Second {
				t.Errorf("seed %d: %+v is out of bounds", seed, l)
			}
		}
		if _, err := json.Marshal(a); err != nil || a.Interval[0] > a.Interval[1] || a.Standing == "" {
			t.Errorf("seed %d: %+v, %v", seed, a, err)
		}
	}
}

func TestNothingJudgedIsNoAnswer(t *testing.T) {
	t.Parallel()
	a, levels := finish(t, Spec{}, func(Level) Observation { return Observation{Requests: 20} }, "ttft:p99<500ms")
	want := Limit{Standing: wide, ByObjective: map[string]bound{}, LoadS: a.LoadS, Requests: 20, Notes: []string{"no objective was judged at any load"}}
	if diff := cmp.Diff(want, a); diff != "" || len(levels) != 2 {
		t.Errorf("%d levels (-want +got):\n%s", len(levels), diff)
	}
}

func TestKnee(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		latency []float64 // at 10, 20, … requests/s
		want    float64
	}{
		{"flat, then steep", []float64{10, 11, 12, 13, 60, 110}, 40},
		{"a dip on the way is no bend", []float64{10, 12, 9, 13, 60, 110}, 40},
		{"a straight line", []float64{10, 20, 30, 40, 50, 60}, 0},
		{"nothing moves", []float64{10, 10, 10, 10}, 0},
		{"too few levels", []float64{10, 11, 100}, 0},
	} {
		s := &Search{}
		for i, ms := range c.latency {
			s.levels = append(s.levels, levelResult{Level: Level{Rate: float64(10 * (i + 1))}, Observation: Observation{Latency: ms}})
		}
		got := 0.0
		if k := s.knee(60); k != nil {
			got = *k
		}
		if got != c.want {
			t.Errorf("%s: knee at %g, want %g", c.name, got, c.want)
		}
	}
}

func TestFromPoint(t *testing.T) {
	t.Parallel()
	asked, growth, yes := 20.0, 7.5, true
	p := result.Point{Summary: metric.Summary{
		Window:     metric.Window{Growth: &growth, Overload: &yes},
		Requests:   metric.Requests{Due: 1230},
		Rates:      metric.Rates{Asked: &asked, Offered: 20.5, Completed: 19},
		Latency:    metric.Latency{TTFTDue: &metric.Dist{P: map[string]float64{"p99": 420}}, E2EDue: &metric.Dist{P: map[string]float64{"p99": 9000}}},
		Goodput:    &metric.Goodput{Requests: 18},
		Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Limit: 500}},
	}}
	p.Latency.E2E = &metric.Dist{Mean: 3000}
	want := Observation{Objectives: p.Objectives, Values: []float64{0.84}, E2E: 3 * time.Second, Requests: 1230, Growth: 7.5, Work: 1.025,
		Latency: 420, Goodput: 18}
	expect.Same(t, want, fromPoint(p, 1))
}

func TestBadSpecsSayWhatToWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Start: -1}, "start: expected a positive number"},
		{Spec{Floor: math.NaN()}, "floor: expected a positive number"},
		{Spec{Floor: 10, Ceiling: 5}, "floor: 10 is above the ceiling of 5"},
		{Spec{Start: 1, Floor: 2}, "start: expected a rate between the floor 2"},
		{Spec{MinWindow: time.Hour}, "shortest: 1h0m0s is longer than the longest level, 3m0s"},
		{Spec{Precision: 1.5}, "precision: expected a share of the limit below 1"},
		{Spec{}, ""},
	} {
		err := c.spec.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", c.spec, err, c.want)
		}
	}
	for budget, want := range map[time.Duration]string{20 * time.Second: "a budget of 20s is too short for a ramp and two levels of 5s: give it at least 28s", 40 * time.Second: ""} {
		_, err := New(Spec{Budget: budget}, []slo.Objective{parse(t, "ttft:p99<500ms")})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("a budget of %v: %v, want %q", budget, err, want)
		}
	}
	if _, err := New(Spec{Budget: time.Minute}, parseAll(t, "e2e:p95<30s")); err == nil ||
		!strings.Contains(err.Error(), "a budget of 1m0s is too short for e2e:p95<30s: no level could outlast that limit; give it at least") {
		t.Errorf("got %v, want what a limit of 30 s needs", err)
	}
	if _, err := New(Spec{}, []slo.Objective{parse(t, "throughput:min>100")}); err == nil || !strings.Contains(err.Error(), "ttft:p99<500ms") {
		t.Errorf("got %v, want an error that names an objective that load can break", err)
	}
}

// A pace that every queue leaves alone is missed nowhere: that says nothing of
// rates at which the server did not keep up.
func TestAQueueAtEveryRate(t *testing.T) {
	t.Parallel()
	o := must.Get(slo.Parse("tpot:p95<50ms"))(t)
	s := must.Get(New(Spec{}, []slo.Objective{o}))(t)
	for _, rate := range []float64{20, 40} {
		n := int(60 * rate)
		s.Observe(Level{Rate: rate, Duration: time.Minute, Purpose: Look}, Observation{Requests: n, Growth: float64(n) / 2,
			Objectives: []slo.Verdict{{Objective: o.Text, Standing: slo.Met, N: n}}})
	}
	a := s.Answer()
	if a.Standing != wide || a.Interval != [2]float64{0, 20} || len(a.Notes) == 0 || !strings.Contains(a.Notes[0], "queue grew at every rate") {
		t.Errorf("%s, %q", a.Standing, a.Notes)
	}
}

// sessionsOf5 are sessions of five turns whose later ones take 80 s to come.
func sessionsOf5(budget time.Duration) Spec {
	return Spec{Budget: budget, Turns: 5, Settle: 80 * time.Second, Reply: 2 * time.Second, Pace: pacing20}
}

// TestSessionsAreTheUnit: a search over sessions begins with a fifth of the rate,
// reads its ramp as one of first turns, gives every level the time that later
// turns take to come, and answers in sessions.
func TestSessionsAreTheUnit(t *testing.T) {
	t.Parallel()
	s := must.Get(New(sessionsOf5(10*time.Minute), parseAll(t, "ttft:p99<500ms")))(t)
	ramp, _ := s.Next()
	if ramp.From != 0.2 {
		t.Errorf("the ramp begins at %g sessions/s, want 0.2", ramp.From)
	}
	risen := ramp.Until(6 * time.Second)
	s.Observe(risen, Observation{Queued: true, E2E: 2 * time.Second, Pace: pacing20})
	l, _ := s.Next()
	if l.Warmup < 80*time.Second || l.Rate > risen.Rate/4 {
		t.Errorf("%+v after a ramp to %g: want a warm-up of 80 s, and a fifth of the rate or less", l, risen.Rate)
	}
	n := int(5 * l.Rate * l.Duration.Seconds())
	s.Observe(l, Observation{Requests: n, Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", N: n, Violations: n / 2}}})
	if a := s.Answer(); a.Unit != result.SessionRates || a.Rate > l.Rate {
		t.Errorf("%+v, want less than %g sessions/s", a, l.Rate)
	}
	p := result.Point{Summary: metric.Summary{Rates: metric.Rates{Asked: new(0.5), Offered: 2}}}
	if work := fromPoint(p, 5).Work; work != 0 {
		t.Errorf("2 requests/s of 0.5 sessions of 5 turns: %g of the work, want nothing known", work)
	}
}

// TestABudgetOfFewSessions is refused.
func TestABudgetOfFewSessions(t *testing.T) {
	t.Parallel()
	_, err := New(sessionsOf5(time.Minute), parseAll(t, "ttft:p99<500ms"))
	if err == nil || !strings.Contains(err.Error(), "a budget of 1m0s is too short for sessions whose later turns take 1m20s to come as often as they ever will: give it at least 3m") {
		t.Errorf("got %v, want how long sessions take", err)
	}
}

// TestAnObjectiveThatNoLevelOutlasts is left out of the answer, which says so.
func TestAnObjectiveThatNoLevelOutlasts(t *testing.T) {
	t.Parallel()
	a, _ := finish(t, Spec{Budget: time.Minute}, logisticCurve(40, 30).observe, "ttft:p99<500ms", "e2e:p95<30s")
	if _, ok := a.ByObjective["e2e:p95<30s"]; ok || !strings.Contains(strings.Join(a.Notes, "\n"), "e2e:p95<30s was not judged: levels are over before it") {
		t.Errorf("%+v with notes %q", a.ByObjective, a.Notes)
	}
}
