package token

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class sorts characters by what the splitting patterns ask of them.
type class uint8

const (
	other   class = iota // none of the below: controls, formats, unassigned
	sign                 // punctuation and symbols: P, S
	upper                // upper and title case: Lu, Lt
	lower                // lower case: Ll
	neutral              // letters without case: Lm, Lo
	mark                 // combining marks: M
	number               // N
	space                // white space but for the next
	newline              // CR and LF
)

// startsWord says that c may stand in the upper-case part of a word.
func (c class) startsWord() bool { return c == upper || c == neutral || c == mark }

// endsWord says that c may stand in the lower-case part of a word.
func (c class) endsWord() bool { return c == lower || c == neutral || c == mark }

// letter says that c is a letter of any case: L.
func (c class) letter() bool { return c == upper || c == lower || c == neutral }

// word says that c is a letter or a mark: L, M.
func (c class) word() bool { return c.letter() || c == mark }

// numeral says that c is a number.
func (c class) numeral() bool { return c == number }

// blank says that c is white space.
func (c class) blank() bool { return c == space || c == newline }

// symbol says that c is neither letter, number nor white space: most patterns
// take marks for punctuation.
func (c class) symbol() bool { return c == sign || c == other || c == mark }

// isUnmarked says that c is a symbol but no mark.
func (c class) isUnmarked() bool { return c == sign || c == other }

// isPrinted says that c is punctuation or a symbol proper.
func (c class) isPrinted() bool { return c == sign }

// prefixes says that c may stand once before a word.
func (c class) prefixes() bool { return c.symbol() || c == space }

// basicPlane is the class of every character below 0x10000: searching the
// Unicode tables per character would cost more than all the rest.
var basicPlane = sync.OnceValue(func() *[0x10000]class {
	classes := new([0x10000]class)
	for r := range rune(len(classes)) {
		classes[r] = searchClass(r)
	}
	return classes
})

// asciiClasses decides the common case without a call.
var asciiClasses = func() (classes [utf8.RuneSelf]class) {
	for r := range rune(utf8.RuneSelf) {
		classes[r] = searchClass(r)
	}
	return classes
}()

func searchClass(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case unicode.IsLower(r):
		return lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.In(r, unicode.Lm, unicode.Lo):
		return neutral
	case unicode.IsMark(r):
		return mark
	case unicode.IsNumber(r):
		return number
	case unicode.IsPunct(r) || unicode.IsSymbol(r):
		return sign
	}
	return other
}

// classAt gives the class and width of the character at the start of text,
// which is not empty. A byte that is not UTF-8 is of class other.
func classAt(text string) (class, int) {
	if b := text[0]; b < utf8.RuneSelf {
		return asciiClasses[b], 1
	}
	r, width := utf8.DecodeRuneInString(text)
	if r < 0x10000 {
		return basicPlane()[r], width
	}
	return searchClass(r), width
}

// run gives the length of the longest start of text whose characters are all
// accepted.
func run(text string, accept func(class) bool) int {
	n := 0
	for n < len(text) {
		c, width := classAt(text[n:])
		if !accept(c) {
			break
		}
		n += width
	}
	return n
}
