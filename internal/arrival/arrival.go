// Package arrival says when requests are due. It takes a rate, the name of a
// process and a seed, and gives absolute offsets from a stage's start, computed
// ahead of time and independent of anything that happens during the run. It
// knows no request, no server and no clock.
package arrival

import (
	"fmt"
	"iter"
	"math"

	"redline/internal/stats"
)

// The rates that make sense: from a request in eleven days to more than any
// one machine sends.
const (
	slowest = 1e-6
	fastest = 1e6
)

// Spec is an open-loop load: the rate and arrival keys of the plan's
// load_profile block. A plan without a rate is a closed loop and has no
// arrivals, so its Spec is neither validated nor used.
type Spec struct {
	// Rate is the mean number of arrivals per second.
	Rate float64 `yaml:"rate,omitempty"`
	// Process is constant, poisson or gamma(b); poisson where empty.
	Process string `yaml:"arrival,omitempty"`
}

// Validate says what is wrong with a Spec and what to write in its place.
func (s Spec) Validate() error {
	switch {
	case !(s.Rate > 0) || math.IsInf(s.Rate, 0):
		return fmt.Errorf("rate: want a number of requests per second above 0, got %g", s.Rate)
	case s.Rate > fastest:
		return fmt.Errorf("rate: want at most %.0f requests per second, got %g", fastest, s.Rate)
	case s.Rate < slowest:
		return fmt.Errorf("rate: want at least %g requests per second, got %g", slowest, s.Rate)
	}
	_, _, err := parse(s.Process)
	return err
}

// String names the process as reports show it: "Poisson", "gamma(0.5)".
func (s Spec) String() string {
	p, arg, err := parse(s.Process)
	if err != nil {
		return s.Process
	}
	if !p.takes {
		return p.title
	}
	return fmt.Sprintf("%s(%g)", p.title, arg)
}

// Times gives the due times in nanoseconds from the stage's start: ascending,
// the same for the same seed, and without end (short of the 292 years that the
// offsets can hold). One seed gives the same pattern at every rate, only
// stretched. A Spec that does not validate gives no times.
func (s Spec) Times(seed uint64) iter.Seq[int64] {
	if s.Validate() != nil {
		return func(func(int64) bool) {}
	}
	p, arg, _ := parse(s.Process)
	return p.times(s.Rate, arg, seed)
}

// Shard gives every n-th time, beginning with the i-th: worker i of n offers
// exactly its share of one schedule. It gives none for an i outside [0, n).
func Shard(times iter.Seq[int64], i, n int) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if i < 0 || i >= n {
			return
		}
		turn := 0
		for t := range times {
			if turn == i && !yield(t) {
				return
			}
			if turn++; turn == n {
				turn = 0
			}
		}
	}
}

// metronome gives k/rate for k = 0, 1, 2, …: each from its own number, so that
// no error adds up.
func metronome(rate, _ float64, _ uint64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for k := 0.0; ; k++ {
			// The fused remainder is exact, so the nanoseconds within a second
			// keep all their digits however many seconds have passed.
			seconds := math.Floor(k / rate)
			rest := math.FMA(-seconds, rate, k) / rate
			if seconds >= horizon || !yield(int64(seconds)*second+int64(math.Round(rest*second))) {
				return
			}
		}
	}
}

const (
	second  = 1_000_000_000
	horizon = math.MaxInt64/second - 1 // in seconds
)

// renewal gives the running sum of independent gaps, the first of them before
// the first arrival. Gaps come with a mean of 1.
func renewal(gap func(r *random, arg float64) float64) func(rate, arg float64, seed uint64) iter.Seq[int64] {
	return func(rate, arg float64, seed uint64) iter.Seq[int64] {
		return func(yield func(int64) bool) {
			r := stats.Rand(seed, "arrival", 0)
			// Whole seconds and the rest are summed apart, so that a gap of a
			// microsecond after a week of load is still that gap.
			var seconds int64
			var rest float64
			for {
				whole, part := math.Modf(rest + gap(r, arg)/rate)
				rest = part
				if whole >= float64(horizon-seconds) {
					return
				}
				seconds += int64(whole)
				if !yield(seconds*second + int64(rest*second)) {
					return
				}
			}
		}
	}
}
