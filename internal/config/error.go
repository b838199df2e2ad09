package config

import (
	"fmt"
	"strings"
	"unicode"
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
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// nearest gives the candidate that is likely meant by a mistyped word, or "".
// A third of the letters may be wrong; a word of one or two letters must be
// right.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
