package telemetry

import (
	"fmt"
	"time"
)

// Bounds of the time between two scrapes. A page takes a server some
// milliseconds to write, so asking more often would be a load of its own; and a
// window of a minute must not fall between two pages.
const (
	MinScrapeInterval = 100 * time.Millisecond
	MaxScrapeInterval = time.Minute
)

// Spec says how a server's own account of itself is read. It is the plan's
// telemetry block.
type Spec struct {
	// MetricsURLs are the server's metrics pages, one for each of its
	// replicas; none means /metrics beside its API.
	MetricsURLs []string `yaml:"metrics_url,omitempty" secret:"url"`
	// Interval is the time between two scrapes; 0 for the default.
	Interval time.Duration `yaml:"interval,omitempty"`
	// Scrape is true unless the plan says otherwise.
	Scrape *bool `yaml:"scrape,omitempty"`
	// EngineLog is a file to follow while the run goes on, or a command that
	// prints the engine's log.
	EngineLog string `yaml:"engine_log,omitempty" secret:"text"`
	// Accelerator says where the figures of the server's accelerators come
	// from, as ParseAccelerator reads it; "" for auto.
	Accelerator string `yaml:"accelerator,omitempty" secret:"accelerator"`
}

// Scrapes reports whether the server's pages are to be read.
func (s Spec) Scrapes() bool { return s.Scrape == nil || *s.Scrape }

// Validate reports what is wrong with the interval and the word on
// accelerators. The addresses are for whoever opens connections to judge.
func (s Spec) Validate() error {
	if s.Interval != 0 && (s.Interval < MinScrapeInterval || s.Interval > MaxScrapeInterval) {
		return fmt.Errorf("interval: expected a time from %v to %v, got %v", MinScrapeInterval, MaxScrapeInterval, s.Interval)
	}
	if _, err := ParseAccelerator(s.Accelerator); err != nil {
		return fmt.Errorf("accelerator: %w", err)
	}
	return nil
}
