// Package search decides which load to offer next and where a server's limit,
// knee and cliff are. It takes objectives and, level after level, what came of
// each; it gives the next level, and at any time the answer so far with its
// interval. It offers no load, reads no clock and keeps no file: a conductor
// elsewhere runs the levels.
//
// The limit is the highest rate at which at least half of the runs of the
// sustained length meet every objective. A run meets a percentile objective
// when its own share of requests beyond the limit is at most 1 − p.
//
// A search has a budget of wall-clock time, and goes through three purposes. A
// ramp finds the scale, and warms the server: it rises no faster than replies
// can warn (ramp.go). Looks then go where the limit is believed to be. Sustained
// runs, of a third of the budget and at most the sustained length, go where they
// are most likely to be met near it, so that there is a rate that was held.
// Every level, whatever its purpose, adds to the same belief, from which
// everything that is answered comes; how evidence is weighed is told in
// belief.go, and how time is divided in time.go.
package search

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// Spec says how far to search. The zero value of a field takes its default.
type Spec struct {
	// Sustained is the length of the runs that the limit is about, 3 minutes.
	Sustained time.Duration `yaml:"sustained,omitempty"`
	// Budget is the wall-clock time of the whole search: warm-ups, drains and
	// sustained runs included. 10 minutes, or as much as gives sustained runs
	// their length.
	Budget time.Duration `yaml:"budget,omitempty"`
	// Start is the rate at which the ramp begins: a sixth of a guess, or 1 per
	// second and no more than keeps eight replies in flight.
	Start float64 `yaml:"start,omitempty"`
	// Floor and Ceiling bound the rates that are offered: 0.05 and 100,000
	// per second; 1 and 1,000 agents.
	Floor   float64 `yaml:"floor,omitempty"`
	Ceiling float64 `yaml:"ceiling,omitempty"`
	// Agents searches for a number of live jobs of agents in place of a rate: what
	// is called a rate here is such a whole number then, and every level is a closed
	// loop. There is no ramp: levels rise by up to agentStep until one is missed.
	Agents bool `yaml:"agents,omitempty"`
	// MinWindow and Longest bound the measured window of a level: a twelfth of
	// the budget within 5 and 10 s, and the sustained length.
	MinWindow time.Duration `yaml:"shortest,omitempty"`
	MaxWindow time.Duration `yaml:"longest,omitempty"`
	// Precision is the half-width of the interval, relative to the limit, at
	// which the search is content: 0.05.
	Precision float64 `yaml:"precision,omitempty"`
	// Guess is what the limit is computed to be from model and hardware, 0 where
	// it was not computed; it may be wrong by a factor of three either way. Reply is how long a
	// lone reply takes, and Pace the time between its tokens, as far as that is
	// known before any load. Lengths are those of the workload's requests. Where
	// these come in sessions of several, rates are of sessions, Turns is how many
	// requests one has in the mean, and Settle how long sessions go on until later
	// turns come as often as they ever will, were replies to take no time; 0 where
	// each is a session.
	Guess   float64       `yaml:"-"`
	Reply   time.Duration `yaml:"-"`
	Pace    time.Duration `yaml:"-"`
	Lengths Lengths       `yaml:"-"`
	Turns   float64       `yaml:"-"`
	Settle  time.Duration `yaml:"-"`
	// Warmup and Drain are those of every level, where the plan has its own.
	Warmup *time.Duration `yaml:"-"`
	Drain  *time.Duration `yaml:"-"`
}

// Validate says what is wrong with the spec, in one line.
func (s Spec) Validate() error {
	for _, f := range []struct {
		key   string
		value float64
	}{
		{"sustained", s.Sustained.Seconds()}, {"budget", s.Budget.Seconds()}, {"start", s.Start}, {"floor", s.Floor},
		{"ceiling", s.Ceiling}, {"shortest", s.MinWindow.Seconds()}, {"longest", s.MaxWindow.Seconds()}, {"precision", s.Precision},
	} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return fmt.Errorf("%s: expected a positive number, or 0 for the default, got %g", f.key, f.value)
		}
	}
	full := s.Complete()
	switch {
	case full.Floor > full.Ceiling:
		return fmt.Errorf("floor: %g is above the ceiling of %g", full.Floor, full.Ceiling)
	case full.Start < full.Floor || full.Start > full.Ceiling:
		return fmt.Errorf("start: expected a rate between the floor %g and the ceiling %g, got %g", full.Floor, full.Ceiling, full.Start)
	case full.MinWindow > full.MaxWindow && s.MinWindow == 0 && s.MaxWindow == 0:
		return fmt.Errorf("sustained: must be at least %v, which is the shortest level (experiment.shortest), got %v", full.MinWindow, full.Sustained)
	case full.MinWindow > full.MaxWindow && s.MinWindow == 0:
		return fmt.Errorf("longest: must be at least %v, which is the shortest level (experiment.shortest), got %v", full.MinWindow, full.MaxWindow)
	case full.MinWindow > full.MaxWindow:
		return fmt.Errorf("shortest: %v is longer than the longest level, %v", full.MinWindow, full.MaxWindow)
	case full.Precision >= 1:
		return fmt.Errorf("precision: expected a share of the limit below 1, such as 0.05, got %g", full.Precision)
	}
	return nil
}

// Complete gives the spec with every default in its place.
func (s Spec) Complete() Spec {
	s.Sustained = cmp.Or(s.Sustained, 180*time.Second)
	floor, ceiling := 0.05, 1e5
	if s.Agents {
		floor, ceiling = 1, 1000
	}
	s.Floor, s.Ceiling, s.Precision = cmp.Or(s.Floor, floor), cmp.Or(s.Ceiling, ceiling), cmp.Or(s.Precision, 0.05)
	if s.MinWindow == 0 {
		s.MinWindow = 10 * time.Second
		if s.Budget > 0 {
			own, _ := s.ownTimes()
			s.MinWindow = min(max((s.Budget-2*own)/12, 5*time.Second), s.MinWindow)
		}
		if s.Agents { // turns of few agents are few
			s.MinWindow = min(max(cmp.Or(s.Budget, defaultBudget)/agentWindowPart, 5*time.Second), maxAgentWindow)
		}
	}
	s.MaxWindow = cmp.Or(s.MaxWindow, s.Sustained)
	s.Budget = cmp.Or(s.Budget, max(defaultBudget, (sustainedPart*s.Sustained).Round(time.Second)))
	s.Turns = max(s.Turns, 1)
	// The rate at which the ramp begins.
	rate := 1.0
	switch {
	case s.Agents:
		rate = firstAgents * s.Turns
	case s.Guess > 0:
		rate = guessPart * s.Guess
	case s.Reply > 0:
		rate = min(rate, openingFlight/s.Reply.Seconds())
	}
	s.Start = cmp.Or(s.Start, min(max(rate/s.Turns, s.Floor), s.Ceiling))
	return s
}

// ownTimes is the time that the plan's own warm-up and drain take of a level, and
// what they are called.
func (s Spec) ownTimes() (whole time.Duration, names string) {
	var list []string
	for _, one := range []struct {
		name, option string
		given        *time.Duration
	}{{"warm-up", "--warmup", s.Warmup}, {"drain", "--drain", s.Drain}} {
		if one.given != nil {
			whole += *one.given
			list = append(list, fmt.Sprintf("a %s of %v (%s)", one.name, *one.given, one.option))
		}
	}
	if list == nil {
		return 0, ""
	}
	return whole, ", each with " + strings.Join(list, " and ")
}

// Level is a load to offer.
type Level struct {
	// Rate is in requests per second. A ramp begins at From and has risen to
	// Rate at its end; From is 0 for a level.
	Rate float64 `json:"rate"`
	From float64 `json:"from,omitempty"`
	// Duration is that of the measured window. The load runs for Warmup before
	// it, and for at most Drain after it, until the window's requests have
	// ended.
	Duration time.Duration `json:"duration_ns"`
	Warmup   time.Duration `json:"warmup_ns"`
	Drain    time.Duration `json:"drain_ns"`
	Purpose  string        `json:"purpose"`
	// Draw numbers the sessions and gaps to use: every level has its own, so
	// that what one drew tells nothing about the next.
	Draw int `json:"draw"`
}

// The purposes of a level.
const (
	Ramp    = result.PurposeRamp // to find the scale
	Look    = "look"             // to learn where the limit is
	Sustain = "sustain"          // to hold a rate
)

// Search is a search under way.
type Search struct {
	spec       Spec
	objectives []slo.Objective
	levels     []levelResult
	offered    int // levels, those of which nothing is used included
	spent      time.Duration
	rampSpent  time.Duration
	ramped     scale         // what the ramp found
	e2e        time.Duration // mean of a request, as of the last level that knew it
	lone       Observation   // what the ramp says of a lone request
}

type levelResult struct {
	Level
	Observation
	evidence []evidence // by objective
}

// New begins a search. It needs at least one objective that load can break.
func New(spec Spec, objectives []slo.Objective) (*Search, error) {
	spec = spec.forJobs(objectives)
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	s := &Search{spec: spec.Complete(), objectives: objectives}
	if least := s.spec.MinBudget(); s.spec.Budget < least {
		_, own := s.spec.ownTimes()
		switch {
		case s.spec.Agents && s.spec.Warmup == nil:
			return nil, fmt.Errorf("a budget of %v is too short for agents, whose whole prompts a server has to read first: give it at least %v (--budget), or a --warmup of your own", s.spec.Budget, least)
		case s.spec.Agents:
			return nil, fmt.Errorf("a budget of %v is too short for two levels of %v%s: give it at least %v", s.spec.Budget, s.spec.MinWindow, own, least)
		case s.spec.Settle > 0 && s.spec.Warmup == nil:
			return nil, fmt.Errorf("a budget of %v is too short for sessions whose later turns take %v to come as often as they ever will: give it at least %v (--budget)", s.spec.Budget, round(s.spec.Settle), least)
		}
		return nil, fmt.Errorf("a budget of %v is too short for a ramp and two levels of %v%s: give it at least %v", s.spec.Budget, s.spec.MinWindow, own, least)
	}
	var brief *slo.Objective
	for i, o := range objectives {
		switch {
		case kindOf(o) == rising:
		case ofReplies(o) && !s.outlasts(o):
			brief = &objectives[i]
		default:
			return s, nil
		}
	}
	if brief != nil {
		what, want := s.tooShort(*brief)
		return nil, fmt.Errorf("%s too short for %s: no level could outlast that limit; give it at least %s", what, brief.Text, want)
	}
	return nil, fmt.Errorf("a limit needs an objective that load can break, such as ttft:p99<500ms")
}

// Observe takes in what came of a level. Levels may come in any order, also
// ones that Next did not ask for: a search is resumed by repeating what was
// seen before.
func (s *Search) Observe(l Level, o Observation) {
	if !(l.Rate > 0) || l.Duration <= 0 {
		return
	}
	o.Spent = cmp.Or(o.Spent, l.Warmup+l.Duration)
	if s.spec.Agents {
		o.Growth = 0 // a closed loop has no queue that grows
	}
	s.spent += o.Spent
	if o.E2E > 0 {
		s.e2e = o.E2E
	}
	if l.Purpose == Ramp {
		s.lone, s.rampSpent = o, o.Spent
		s.ramped = s.scale(l, o)
		return
	}
	s.offered++
	one := levelResult{Level: l, Observation: o}
	for _, objective := range s.objectives {
		if ofReplies(objective) && !s.outlasts(objective) {
			one.evidence = append(one.evidence, evidence{}) // it ends before replies show what they break
			continue
		}
		one.evidence = append(one.evidence, o.evidence(objective))
	}
	s.levels = append(s.levels, one)
}

// Pass counts a level of which nothing is used, and the time that was spent on
// it: the next level has requests of its own.
func (s *Search) Pass(d time.Duration) {
	s.offered++
	s.spent += d
}
