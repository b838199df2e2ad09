package trace

import (
	"fmt"
	"strings"

	"redline/internal/text"
)

// Error is a file that cannot be used: the user's to mend, in one line.
type Error struct {
	// Place is the file, with the row where one is to blame: "log.csv:17".
	Place string
	// What says what is wrong and what would be right.
	What string
}

func (e *Error) Error() string { return e.Place + ": " + e.What }

// fault makes an Error whose text stays on one line whatever the file held.
func fault(place, format string, args ...any) *Error {
	return &Error{Place: oneLine(place), What: oneLine(fmt.Sprintf(format, args...))}
}

func at(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

func oneLine(s string) string { return strings.TrimSpace(text.Line(s)) }

// quote quotes a value for an error, cut where it is long.
var quote = text.Quote
