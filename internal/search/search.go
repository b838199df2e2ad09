// Package search decides which load to offer next and where a server's limit,
// knee and cliff are. It takes objectives and, level after level, what came of
// each; it gives the next level, and at any time the answer so far with its
// interval. It offers no load, reads no clock and keeps no file: a conductor
// elsewhere runs the levels.
//
// The limit is the highest rate at which the expected share of requests that
// break an objective, in a run of the sustained length, is at most what the
// objective allows: 1 − p for a percentile p.
//
// A search goes through three purposes. Probes double or halve the rate until
// the limit is between two of them. Levels then go where the limit is believed
// to be, and last the longer the better it is known: far from the limit a
// glance is enough, near it only a long look tells. A sustained run at the
// limit confirms or lowers it. Every level, whatever its purpose, adds to the
// same belief; how evidence is weighed is told in belief.go.
package search

import (
	"fmt"
	"math"
	"time"

	"redline/internal/slo"
)

// Spec says how far to search. The zero value of a field takes its default.
type Spec struct {
	// Sustained is the length of the run that the limit is about, 300 s.
	Sustained time.Duration `yaml:"sustained,omitempty"`
	// Budget bounds the load time of everything, the sustained run included;
	// 0 is no bound.
	Budget time.Duration `yaml:"budget,omitempty"`
	// Start is the first rate, 1 per second; a good guess saves probes.
	Start float64 `yaml:"start,omitempty"`
	// Floor and Ceiling bound the rates that are offered: 0.05 and 100,000
	// per second.
	Floor   float64 `yaml:"floor,omitempty"`
	Ceiling float64 `yaml:"ceiling,omitempty"`
	// Shortest and Longest bound the length of a level before the sustained
	// run: 10 s and the sustained length.
	Shortest time.Duration `yaml:"shortest,omitempty"`
	Longest  time.Duration `yaml:"longest,omitempty"`
	// Precision is the half-width of the interval, relative to the limit, at
	// which the search is content: 0.05.
	Precision float64 `yaml:"precision,omitempty"`
}

// Validate says what is wrong with the spec, in one line.
func (s Spec) Validate() error {
	for _, f := range []struct {
		key   string
		value float64
	}{
		{"sustained", s.Sustained.Seconds()}, {"budget", s.Budget.Seconds()}, {"start", s.Start}, {"floor", s.Floor},
		{"ceiling", s.Ceiling}, {"shortest", s.Shortest.Seconds()}, {"longest", s.Longest.Seconds()}, {"precision", s.Precision},
	} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return fmt.Errorf("%s: want a positive number, or 0 for the default, got %g", f.key, f.value)
		}
	}
	full := s.filled()
	switch {
	case full.Floor > full.Ceiling:
		return fmt.Errorf("floor: %g is above the ceiling of %g requests per second", full.Floor, full.Ceiling)
	case full.Start < full.Floor || full.Start > full.Ceiling:
		return fmt.Errorf("start: want a rate between the floor %g and the ceiling %g, got %g", full.Floor, full.Ceiling, full.Start)
	case full.Shortest > full.Longest && s.Shortest == 0 && s.Longest == 0:
		return fmt.Errorf("sustained: want at least %v, which is the shortest level (experiment.shortest), got %v", full.Shortest, full.Sustained)
	case full.Shortest > full.Longest && s.Shortest == 0:
		return fmt.Errorf("longest: want at least %v, which is the shortest level (experiment.shortest), got %v", full.Shortest, full.Longest)
	case full.Shortest > full.Longest:
		return fmt.Errorf("shortest: %v is longer than the longest level, %v", full.Shortest, full.Longest)
	case full.Precision >= 1:
		return fmt.Errorf("precision: want a share of the limit below 1, such as 0.05, got %g", full.Precision)
	}
	return nil
}

// filled gives the spec with every default in its place.
func (s Spec) filled() Spec {
	for _, f := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&s.Sustained, 300 * time.Second}, {&s.Shortest, 10 * time.Second},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	for _, f := range []struct {
		value    *float64
		standard float64
	}{
		{&s.Floor, 0.05}, {&s.Ceiling, 1e5}, {&s.Precision, 0.05},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	if s.Longest == 0 {
		s.Longest = s.Sustained
	}
	if s.Start == 0 {
		s.Start = min(max(1, s.Floor), s.Ceiling)
	}
	return s
}

// Level is a load to offer.
type Level struct {
	Rate     float64       `json:"rate"`
	Duration time.Duration `json:"duration_ns"`
	Purpose  string        `json:"purpose"`
	// Draw numbers the sessions and gaps to use. Levels of one draw use the
	// same ones, with the gaps scaled by the rate; a sustained run has a draw
	// of its own, so that luck cannot confirm itself.
	Draw int `json:"draw"`
}

// The purposes of a level.
const (
	Probe   = "probe"   // to get the limit between two rates
	Narrow  = "narrow"  // to learn where between them it is
	Sustain = "sustain" // to confirm or lower it
)

// Search is a search under way.
type Search struct {
	spec       Spec
	objectives []slo.Objective
	seen       []seen
	spent      time.Duration
}

// seen is a level and what came of it.
type seen struct {
	Level
	Observation
	evidence []evidence // by objective
}

// New begins a search. It needs at least one objective that load can break.
func New(spec Spec, objectives []slo.Objective) (*Search, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	s := &Search{spec: spec.filled(), objectives: objectives}
	for _, o := range objectives {
		if kindOf(o) != rising {
			return s, nil
		}
	}
	return nil, fmt.Errorf("a limit needs an objective that load can break, such as ttft:p99<500ms")
}

// Observe takes in what came of a level. Levels may come in any order, also
// ones that Next did not ask for: a search is resumed by telling it again what
// was seen before.
func (s *Search) Observe(l Level, o Observation) {
	if !(l.Rate > 0) || l.Duration <= 0 {
		return
	}
	if o.Spent == 0 {
		o.Spent = l.Duration
	}
	s.spent += o.Spent
	one := seen{Level: l, Observation: o}
	for _, objective := range s.objectives {
		one.evidence = append(one.evidence, o.evidence(objective, float64(l.Duration)/float64(s.spec.Sustained)))
	}
	s.seen = append(s.seen, one)
}
