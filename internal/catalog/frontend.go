package catalog

import (
	"fmt"
	"time"
)

// FrontEnd is what stands between the network and the engine: processes that
// render and tokenize requests, and turn tokens into text and events. Each does
// one thing at a time, so that tokens wait for prompts and prompts for tokens.
type FrontEnd struct {
	// APIServers is how many processes there are; 0 is one.
	APIServers int `yaml:"api_server_count,omitempty"`
	// Request is the work that each request makes, and TokenUS that for each
	// token of its prompt.
	Request time.Duration `yaml:"frontend_request,omitempty"`
	TokenUS float64       `yaml:"frontend_token_us,omitempty"`
	// EventUS is the work for each event of a stream, and StepUS that for those of a
	// step together.
	EventUS float64 `yaml:"frontend_event_us,omitempty"`
	StepUS  float64 `yaml:"frontend_step_us,omitempty"`
}

// Idle reports whether the front end takes no time at all.
func (f FrontEnd) Idle() bool {
	return f.Request == 0 && f.TokenUS == 0 && f.EventUS == 0 && f.StepUS == 0
}

// Prompt is the work, in nanoseconds, of a request with that many tokens.
func (f FrontEnd) Prompt(tokens int) int64 {
	return int64(f.Request) + int64(1e3*f.TokenUS*float64(tokens))
}

// Events is the work of the n events of a step.
func (f FrontEnd) Events(n int) int64 { return int64(1e3 * (f.StepUS + f.EventUS*float64(n))) }

// Check says what is wrong with a front end, in one line.
func (f FrontEnd) Check() error {
	const maxUS = 1e6
	switch {
	case f.APIServers < 0 || f.APIServers > 1024:
		return fmt.Errorf("api_server_count: expected a number from 1 to 1024, got %d", f.APIServers)
	case f.Request < 0 || f.Request > time.Minute:
		return fmt.Errorf("frontend_request: expected a time from 0s to 1m, got %v", f.Request)
	case !(f.TokenUS >= 0 && f.TokenUS <= maxUS):
		return fmt.Errorf("frontend_token_us: expected microseconds from 0 to %.0f, got %v", maxUS, f.TokenUS)
	case !(f.StepUS >= 0 && f.StepUS <= maxUS):
		return fmt.Errorf("frontend_step_us: expected microseconds from 0 to %.0f, got %v", maxUS, f.StepUS)
	case !(f.EventUS >= 0 && f.EventUS <= maxUS):
		return fmt.Errorf("frontend_event_us: expected microseconds from 0 to %.0f, got %v", maxUS, f.EventUS)
	}
	return nil
}
