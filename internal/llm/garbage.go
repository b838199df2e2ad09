package llm

import (
	"strings"
	"unicode/utf8"
)

// Garbage is what is wrong with the text of a reply, whatever was asked.
type Garbage string

// The kinds of it, the worst first. NoGarbage says that a text was looked at.
const (
	AnothersText Garbage = "another request's text"
	CutCharacter Garbage = "cut character"
	RepeatsText  Garbage = "repeats itself"
	EmptyText    Garbage = "empty"
	NoGarbage    Garbage = "none"
)

// GarbageKinds are all values that there are.
var GarbageKinds = []Garbage{AnothersText, CutCharacter, RepeatsText, EmptyText, NoGarbage}

// FindGarbage names what is wrong with a reply by itself, the worst first.
func FindGarbage(reply string) (kinds []Garbage) {
	if strings.TrimSpace(reply) == "" {
		return []Garbage{EmptyText}
	}
	if body := withoutCutEnd(reply); !utf8.ValidString(body) || strings.ContainsRune(body, utf8.RuneError) {
		kinds = append(kinds, CutCharacter)
	}
	if repeats(strings.Fields(reply)) {
		kinds = append(kinds, RepeatsText)
	}
	return kinds
}

// withoutCutEnd leaves out a character that the limit on the reply's length cut.
func withoutCutEnd(reply string) string {
	for range utf8.UTFMax - 1 {
		if r, n := utf8.DecodeLastRuneInString(reply); r == utf8.RuneError {
			reply = reply[:len(reply)-n]
		}
	}
	return reply
}

// repeats reports whether a reply ends in a loop: up to maxPeriod words again and again,
// minLoops times at least and over a third of it.
func repeats(words []string) bool {
	const maxPeriod, minLoops = 12, 6
	for period := 1; period <= maxPeriod; period++ {
		n := 0
		for i := len(words) - 1; i >= period && words[i] == words[i-period]; i-- {
			n++
		}
		if n += period; n >= minLoops*period && 3*n >= len(words) {
			return true
		}
	}
	return false
}
