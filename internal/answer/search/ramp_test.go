package search

import (
	"math"
	"testing"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/must"
)

// fluid is a server as a ramp sees it, without chance. It begins on a request
// after first seconds and answers capacity of them per second at most. A reply
// then takes so long alone, and the longer the more run: as long again with
// every still times reply of them.
type fluid struct {
	first, capacity, reply, still float64
	fails                         float64 // from this rate on
}

// climb plays a ramp and says how far it rose, and by what Moment it ended.
func (f fluid) climb(s *Search) (Level, Moment, bool) {
	const tick = 0.25
	l := s.ramp()
	climber := s.Climber(l)
	var sent, answered, ended, failed, events float64
	for at := tick; at <= l.Duration.Seconds(); at += tick {
		rate := l.RateAt(time.Duration(at * 1e9))
		if f.fails > 0 && rate > f.fails {
			failed += rate * tick
		} else {
			sent += rate * tick
		}
		answered = min(answered+f.capacity*tick, max(sent-rate*f.first, 0))
		if running := answered - ended; f.reply > 0 {
			slow := 1 + running/(f.still*f.reply)
			ended += running / (f.reply * slow) * tick
			events += running / slow * tick / pacing20.Seconds()
		} else {
			ended = answered
		}
		m := Moment{time.Duration(at * 1e9), int(sent + failed), int(answered), int(ended), int(failed), int(events)}
		if climber.Enough(m) {
			return l.Until(m.Elapsed), m, true
		}
	}
	return l, Moment{}, false
}

// pacing20 is the time between the tokens of a lone reply of these servers.
const pacing20 = 20 * time.Millisecond

// TestARampDoesNotFlood: whatever a server is limited by, and however long its
// replies take, the ramp has risen to no more than about twice what it can take
// when it ends, and not to a tenth. Where nothing comes for half a second the
// rate has risen a little further.
func TestARampDoesNotFlood(t *testing.T) {
	t.Parallel()
	none := math.Inf(1)
	for _, c := range []struct {
		name   string
		server fluid
		spec   Spec
		limit  float64
	}{
		{"one at a time", fluid{first: 0.02, capacity: 100}, Spec{}, 100},
		{"one at a time, half a second later", fluid{first: 0.5, capacity: 40}, Spec{}, 53},
		{"all at once, replies of 2 s", fluid{first: 0.05, capacity: none, reply: 2, still: 30}, Spec{}, 25},
		{"replies of 5 s", fluid{first: 0.1, capacity: none, reply: 5, still: 6}, Spec{}, 5},
		{"replies of 20 s", fluid{first: 0.2, capacity: none, reply: 20, still: 2.5}, Spec{}, 2},
		{"few at a time, replies of 10 s", fluid{first: 0.2, capacity: 1.5, reply: 10, still: none}, Spec{}, 1.5},
		{"a guess three times too high", fluid{first: 0.1, capacity: none, reply: 5, still: 6}, Spec{Guess: 15}, 5},
		{"a guess three times too low", fluid{first: 0.1, capacity: none, reply: 5, still: 6}, Spec{Guess: 5.0 / 3}, 5},
		{"fails", fluid{first: 0.05, capacity: none, fails: 50}, Spec{}, 50},
	} {
		if c.server.reply > 0 {
			c.spec.Reply, c.spec.Pace = time.Duration(c.server.reply*1e9), pacing20
		}
		s := must.Get(New(c.spec, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
		l, _, ended := c.server.climb(s)
		if over := l.Rate / c.limit; !ended || over > 2.2 || over < 0.1 {
			t.Errorf("%s: ended (%v) at %.4g requests/s after %v, %.2g times the limit", c.name, ended, l.Rate, l.Duration, over)
		}
	}
}

// TestARampThatNothingEnds goes up to the ceiling.
func TestARampThatNothingEnds(t *testing.T) {
	t.Parallel()
	s := must.Get(New(Spec{Ceiling: 1000}, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
	if l, m, ended := (fluid{first: 0.05, capacity: math.Inf(1)}).climb(s); ended || math.Abs(l.Rate/1000-1) > 0.01 {
		t.Errorf("ended (%v) at %.4g requests/s by %+v, want 1000", ended, l.Rate, m)
	}
}

// TestARampRisesAsReplies allow: its first rate keeps few of them in flight, and
// doubles no faster than most of a reply takes; a guess of the limit, or the
// user, says where it begins.
func TestARampRisesAsReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec   Spec
		from   float64
		double time.Duration
	}{
		{Spec{}, 1, doubling},
		{Spec{Reply: 20 * time.Millisecond}, 1, doubling},
		{Spec{Reply: 20 * time.Second}, 0.4, 14 * time.Second},
		{Spec{Reply: 20 * time.Second, Guess: 6}, 1, 14 * time.Second},
		{Spec{Reply: 20 * time.Second, Guess: 6, Start: 0.3}, 0.3, 14 * time.Second},
		{Spec{Guess: 1e-3}, 0.05, doubling},
	} {
		s := must.Get(New(c.spec, []slo.Objective{parse(t, "ttft:p99<500ms")}))(t)
		l := s.ramp()
		if again := l.RateAt(c.double) / l.From; math.Abs(l.From-c.from) > 1e-9 || math.Abs(again-2) > 0.01 || l.Duration > s.spec.Budget/4 {
			t.Errorf("%+v: from %.4g, %.4g times that after %v, for %v; want from %g", c.spec, l.From, again, c.double, l.Duration, c.from)
		}
		if half := l.Until(l.Duration / 2); math.Abs(half.Rate-l.RateAt(l.Duration/2)) > 1e-9 || math.Abs(half.RateAt(time.Second)-l.RateAt(time.Second)) > 1e-9 {
			t.Errorf("half of %+v is %+v", l, half)
		}
	}
}

// TestTheSlowingOfARamp is the same from its moments as it was while it rose.
func TestTheSlowingOfARamp(t *testing.T) {
	t.Parallel()
	l := Level{From: 1, Rate: 16, Duration: 8 * time.Second, Purpose: Ramp}
	var moments []Moment
	for at := time.Second / 4; at <= l.Duration; at += time.Second / 4 {
		// Ten run from the start, each with a token every 30 ms.
		moments = append(moments, Moment{Elapsed: at, Due: 10, Answered: 10, Events: int(10 * at / (30 * time.Millisecond))})
	}
	if got, _ := Review(l, 20*time.Millisecond, moments); math.Abs(got-1.5) > 0.02 {
		t.Errorf("slowed by %.3f, want 1.5", got)
	}
	if got, _ := Review(l, 20*time.Millisecond, moments[:2]); got != 0 {
		t.Errorf("slowed by %.3f after half a second, want nothing known", got)
	}
}

// TestTheLoadOfAStretch: what is in flight and in memory, of requests that were
// there for all of it, came within it, or had no output yet.
func TestTheLoadOfAStretch(t *testing.T) {
	t.Parallel()
	load := Load{From: 100, To: 200}
	load.add(0, 50, 250, 1000, 400)  // grows from 100 to 300 of its 400 tokens: 200 on average
	load.add(150, 160, 180, 100, 10) // a fifth of the time, with 105 tokens on average
	load.add(190, 0, 300, 5000, 0)
	load.add(10, 20, 90, 5000, 5000)
	inFlight, resident := load.Mean()
	if math.Abs(inFlight-(1+0.3+0.1)) > 1e-9 || math.Abs(resident-(1200+0.2*105)) > 1e-9 {
		t.Errorf("%.4g in flight with %.6g tokens, want 1.4 with 1221", inFlight, resident)
	}
}

// recordedSearch tells a search what a real one of 3 minutes saw of a server whose
// replies take 4 s: three levels near the limit, none of which kept it clearly.
func recordedSearch(t *testing.T) *Search {
	t.Helper()
	s := must.Get(New(Spec{Budget: 3 * time.Minute}, parseAll(t, "ttft:p99<500ms")))(t)
	s.Observe(s.ramp().Until(8*time.Second), Observation{Queued: true, Spent: 9 * time.Second})
	for _, l := range []struct {
		rate, growth, value float64
		n, broken           int
		length, settle      time.Duration
	}{
		{5.81, 18, 0.71, 64, 0, 10 * time.Second, 7 * time.Second},
		{6.333, 28, 1.2, 69, 5, 10 * time.Second, 7 * time.Second},
		{5.703, 25, 1.23, 169, 3, 30 * time.Second, 11 * time.Second},
	} {
		s.Observe(Level{Rate: l.rate, Duration: l.length, Warmup: l.settle, Purpose: Look}, Observation{Requests: l.n, Growth: l.growth,
			Values: []float64{l.value}, Spent: l.settle + l.length + 6*time.Second,
			Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", N: l.n, Violations: l.broken, Standing: slo.Undecided}}})
	}
	return s
}

// TestASustainedRunIsNearTheLimit, also where no level was kept.
func TestASustainedRunIsNearTheLimit(t *testing.T) {
	t.Parallel()
	s := recordedSearch(t)
	limit := s.Answer().Rate
	if l := s.sustain(s.belief()); l.Purpose != Sustain || math.Abs(l.Rate/limit-1) > nearShare {
		t.Errorf("%+v: want a sustained run within 15 %% of %.4g", l, limit)
	}
}

// TestLevelsOutlastWhatTheyJudge: a level is longer than a reply takes, and than
// an objective allows, where the budget allows it.
func TestLevelsOutlastWhatTheyJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		objective string
		reply     time.Duration
		budget    time.Duration
		least     time.Duration
	}{
		{"ttft:p99<500ms", time.Second, 10 * time.Minute, 10 * time.Second},
		{"ttft:p99<500ms", 20 * time.Second, 10 * time.Minute, 30 * time.Second},
		{"ttft:p99<500ms", 20 * time.Second, 3 * time.Minute, 18 * time.Second},
		{"e2e:p95<30s", time.Second, 10 * time.Minute, 36 * time.Second},
		{"e2e:p95<30s", time.Second, 3 * time.Minute, 36 * time.Second},
	} {
		s := must.Get(New(Spec{Budget: c.budget}, parseAll(t, c.objective)))(t)
		s.Observe(s.ramp(), Observation{Queued: true, E2E: c.reply, Pace: pacing20, InFlight: 10})
		l, _ := s.Next()
		if l.Duration < c.least {
			t.Errorf("%s, replies of %v in %v: a level of %v, want at least %v", c.objective, c.reply, c.budget, l.Duration, c.least)
		}
	}
}
