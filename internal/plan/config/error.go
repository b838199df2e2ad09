package config

import (
	"redline/internal/text"
	"redline/internal/yaml"
)

// Error is a mistake in a flag, the environment or the plan: the user's to
// mend, so commands answer it with the exit code for usage.
type Error = yaml.Error

var (
	fault = yaml.Fault
	join  = yaml.Join
	quote = text.Quote
)
