package load

import "time"

// DefaultDrain is how long requests of the window may take to end after it,
// where nothing else is said.
const DefaultDrain = time.Minute

// minAround is the warm-up or drain that even the shortest window may take.
const minAround = 20 * time.Second

// Spec bounds a stage. It is the plan's load_profile block, but for rate and
// arrival, which belong to package arrival.
type Spec struct {
	// MaxConcurrency alone makes a closed loop; with a rate it caps an open
	// one.
	MaxConcurrency int `yaml:"max_concurrency,omitempty"`
	TotalRequests  int `yaml:"total_requests,omitempty"`
	// AtOnce starts the users of a closed loop together.
	AtOnce bool `yaml:"at_once,omitempty"`
	// Pace is the minimum time between two sessions of one user of a closed loop.
	Pace     time.Duration `yaml:"pace,omitempty"`
	Duration time.Duration `yaml:"duration,omitempty"`
	// MaxDuration bounds a window whose length is not given: it ends once
	// every objective is decided.
	MaxDuration time.Duration `yaml:"max_duration,omitempty"`
	// Rare is the mean time between the rarest events that verdicts must speak
	// of: the window lasts three times as long at least.
	Rare time.Duration `yaml:"rare,omitempty"`
	// Warmup is adaptive where nil: at least 50 requests and twice the mean
	// e2e, at most a minute, and the window where that is given; where sessions
	// have several turns until those come as often as they will, at most three.
	Warmup *time.Duration `yaml:"warmup,omitempty"`
	// Drain is how long requests of the window may take to end after it.
	Drain *time.Duration `yaml:"drain,omitempty"`
	// Plain sends the measured requests and nothing else, as other benchmarks do:
	// no warm-up, no staggered start, and no load while the last ones end.
	Plain bool `yaml:"plain,omitempty"`
	// Retries says which faults are asked again.
	Retries Retries `yaml:"retries,omitempty"`
	// MaxErrorRate ends a run in which a larger share of the last requests
	// ended with a fault, rejections included.
	MaxErrorRate float64 `yaml:"max_error_rate,omitempty"`
	// MaxTokensTotal and MaxSpend stop the sending, whichever comes first.
	MaxTokensTotal int64   `yaml:"max_tokens_total,omitempty"`
	MaxSpend       float64 `yaml:"max_spend,omitempty"`
}

// MaxAround is how long the warm-up and the drain of the window may each last where only
// the window's length is given: whoever asks for a short run of an overloaded server does
// not wait for minutes.
func (s *Spec) MaxAround() time.Duration {
	if s.Duration == 0 {
		return DefaultDrain
	}
	return min(DefaultDrain, max(minAround, s.Duration))
}
