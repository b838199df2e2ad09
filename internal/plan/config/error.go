package config

import (
	"fmt"
	"strings"
	"unicode"

	"redline/internal/text"
)

// Error is a mistake in a flag, the environment or the plan: the user's to
// mend, so commands answer it with the exit code for usage.
type Error struct {
	// Place is "--rate", "REDLINE_RATE" or "plan.yaml:12".
	Place string
	// What says in one line what is wrong and what would be right.
	What string
}

func (e *Error) Error() string {
	if e.Place == "" {
		return e.What
	}
	return e.Place + ": " + e.What
}

// fault makes an Error whose text stays on one line whatever the input held.
func fault(place, format string, args ...any) *Error {
	return &Error{Place: oneLine(place), What: oneLine(fmt.Sprintf(format, args...))}
}

func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// shown quotes a value for an error message, cut where it is long.
func shown(s string) string {
	return text.Quote(s)
}
