package capacity

import (
	"fmt"
	"time"
)

// Spec is the load that a plan asks about: its capacity block. A sweep then
// answers it with what it measured.
type Spec struct {
	// Rate is the peak to carry in requests per second, MeanRate the average.
	Rate     float64 `yaml:"rate,omitempty"`
	MeanRate float64 `yaml:"mean_rate,omitempty"`
	// Users who think between their requests take the place of a rate.
	Users int `yaml:"users,omitempty"`
	// Agents, live jobs at the peak, take the place of a rate.
	Agents int           `yaml:"agents,omitempty"`
	Think  time.Duration `yaml:"think,omitempty"`
	// Headroom is the share of the load that is kept free, 0.2 unless set, and
	// Spare the instances that may fail.
	Headroom *float64 `yaml:"headroom,omitempty"`
	Spare    int      `yaml:"spare,omitempty"`
}

// Given reports whether anything is asked.
func (s Spec) Given() bool { return s != (Spec{}) }

// Demand is the load of the spec.
func (s Spec) Demand() Demand {
	return Demand{Rate: s.Rate, Mean: s.MeanRate, Users: s.Users, Think: s.Think, Agents: s.Agents}
}

// Options are how much of it is kept free.
func (s Spec) Options() Options {
	o := Options{Headroom: DefaultHeadroom, Spare: s.Spare}
	if s.Headroom != nil {
		o.Headroom = *s.Headroom
	}
	return o
}

// Validate checks the block by itself. A message begins with the key.
func (s Spec) Validate() error {
	switch {
	case !s.Given():
		return nil
	case s.Rate != 0 && s.Users != 0:
		return fmt.Errorf("users: a rate is given too; give only one of the two")
	case s.Agents != 0 && (s.Rate != 0 || s.Users != 0):
		return fmt.Errorf("agents: a rate or users are given too; give only one of the three")
	case s.Think != 0 && s.Users == 0:
		return fmt.Errorf("think: is the time between a user's requests: give users, or leave it out")
	}
	peak := s.Demand()
	peak.Mean = 0
	if err := peak.validate(); err != nil {
		return err
	}
	if most := max(s.Rate, float64(s.Agents)); !(s.MeanRate >= 0) || s.Users == 0 && s.MeanRate > most {
		return fmt.Errorf("mean_rate: must be at most the peak of %g, got %g", most, s.MeanRate)
	}
	return s.Options().validate()
}
