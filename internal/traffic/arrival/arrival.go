// Package arrival says when requests are due. It takes a rate or a profile of
// rates over time, the name of a process and a seed, and gives absolute offsets
// from a stage's start, computed ahead of time and independent of anything that
// happens during the run. It knows no request, no server and no clock.
//
// A profile is the shape of the rate:
//
//	steady                the rate throughout; the default
//	burst                 three times the rate for 10 s in every minute, less in between, the rate on average; burst(5): five times
//	overload              one and a half times the limit; overload(2): twice
//	hot-spot              the rate throughout, 80 % of it one tenant's; hot-spot(0.9): 90 %
//	steps(10:1m,20:1m)    10 requests per second for a minute, then 20
//	ramp(1..50,5m)        from 1 to 50 within five minutes, in a straight line
//	ramp(1..50,5m,exp)    the same, by equal factors in equal times
//	onoff(50:10s,5:20s)   50 for ten seconds, 5 for twenty, and so on
//	diurnal(5..20,24h)    from 5 up to 20 and back in a day, along a cosine, and so on
//
// After its last step, and at the end of a ramp, the last rate holds. The
// process is how arrivals scatter around that rate. The two are joined by
// running a process of one arrival per second on a clock that shows how many
// arrivals the profile expects by then.
package arrival

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"time"
)

// The rates that make sense: from a request in eleven days to more than any
// one machine sends.
const (
	slowest = 1e-6
	fastest = 1e6
)

// Spec is an open-loop load: the rate and arrival keys of the plan's
// load_profile block. A plan that is not Open is a closed loop and has no
// arrivals, so its Spec is neither validated nor used.
type Spec struct {
	// Rate is the mean number of arrivals per second, where the profile does
	// not say it.
	Rate float64 `yaml:"rate,omitempty"`
	// Process is constant, poisson or gamma(b); poisson where empty.
	Process string `yaml:"arrival,omitempty"`
	// Profile is the rate over time: steady, burst, overload, hot-spot,
	// steps(10:1m,20:1m), ramp(1..50,5m), onoff(50:10s,5:20s) or
	// diurnal(5..20,24h); steady where empty.
	Profile string `yaml:"profile,omitempty"`
	// Limit is the rate that the server is known to sustain, which overload
	// exceeds.
	Limit float64 `yaml:"limit,omitempty"`
}

// Open reports whether the Spec asks for arrivals: it gives a rate, or a
// profile that has one.
func (s Spec) Open() bool {
	if s.Rate != 0 {
		return true
	}
	shape, _, err := readShape(s.Profile)
	return err != nil || shape.rates != givenRate
}

// Validate says what is wrong with a Spec and what to write in its place.
func (s Spec) Validate() error {
	if _, err := s.profile(); err != nil {
		return err
	}
	_, _, err := parse(s.Process)
	return err
}

func checkRate(key string, rate float64) error {
	switch {
	case !(rate > 0) || math.IsInf(rate, 0):
		return fmt.Errorf("%s: expected a number of requests per second above 0, got %g", key, rate)
	case rate > fastest:
		return fmt.Errorf("%s: must be at most %.0f requests per second, got %g", key, fastest, rate)
	case rate < slowest:
		return fmt.Errorf("%s: must be at least %g requests per second, got %g", key, slowest, rate)
	}
	return nil
}

// String names the process and the profile as reports show them: "Poisson",
// "gamma(0.5), ramp(1..50,5m)".
func (s Spec) String() string {
	name := s.Process
	if p, arg, err := parse(s.Process); err == nil {
		name = p.title
		if p.takes {
			name = fmt.Sprintf("%s(%g)", p.title, arg)
		}
	}
	if shape := s.Shape(); shape != "" {
		name += ", " + shape
	}
	return name
}

// Shape is the profile as reports show it, and nothing for a steady rate.
func (s Spec) Shape() string {
	shape, args, err := readShape(s.Profile)
	switch {
	case err != nil:
		return s.Profile
	case shape.name == steady:
		return ""
	case len(args) == 0:
		return shape.name
	}
	return shape.name + "(" + strings.Join(args, ",") + ")"
}

// RateAt is the rate at a time after the stage's start; 0 for a Spec that does
// not validate.
func (s Spec) RateAt(t time.Duration) float64 {
	p, err := s.profile()
	if err != nil {
		return 0
	}
	in, seconds, _ := p.at(t)
	return in.rate(seconds)
}

// MeanOver is the mean rate between two times after the stage's start.
func (s Spec) MeanOver(from, to time.Duration) float64 {
	p, err := s.profile()
	if err != nil || to <= from {
		return 0
	}
	return (p.count(to) - p.count(from)) / (to - from).Seconds()
}

// Dispersion is the variance of the number of arrivals over its mean, in
// windows of many arrivals: 1 for Poisson, 0 for a constant rate; 1 for a Spec
// that does not validate.
func (s Spec) Dispersion() float64 {
	p, arg, err := parse(s.Process)
	if err != nil {
		return 1
	}
	return p.dispersion(arg)
}

// Mean is the mean rate over the profile's Span.
func (s Spec) Mean() float64 {
	if span := s.Span(); span > 0 {
		return s.MeanOver(0, span)
	}
	return s.RateAt(0)
}

// Peak is the highest rate that the profile reaches.
func (s Spec) Peak() float64 {
	p, err := s.profile()
	if err != nil {
		return 0
	}
	return p.peak()
}

// Span is how long the profile takes: all of its steps, its ramp, or one round
// of what repeats; 0 for a rate that does not change.
func (s Spec) Span() time.Duration {
	p, err := s.profile()
	if err != nil {
		return 0
	}
	return p.span()
}

// HotSpot is the share of the load that the profile turns to one tenant; who
// that is the workload says. It is 0 where the profile says nothing of tenants.
func (s Spec) HotSpot() float64 {
	shape, args, err := readShape(s.Profile)
	if err != nil || shape.name != hotSpot {
		return 0
	}
	share, err := readShare(args)
	if err != nil {
		return 0
	}
	return share
}

// Varies reports whether the rate changes over time.
func (s Spec) Varies() bool { return s.Span() > 0 }

// Times gives the due times in nanoseconds from the stage's start: ascending,
// the same for the same seed, and without end (short of the 292 years that the
// offsets can hold). One seed gives the same pattern at every rate, only
// stretched. A Spec that does not validate gives no times.
func (s Spec) Times(seed uint64) iter.Seq[int64] {
	profile, err := s.profile()
	if err != nil {
		return func(func(int64) bool) {}
	}
	process, arg, err := parse(s.Process)
	if err != nil {
		return func(func(int64) bool) {}
	}
	return profile.warp(process.times(arg, seed))
}
