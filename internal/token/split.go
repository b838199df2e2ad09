package token

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class sorts characters by what o200k's splitting pattern asks of them.
type class uint8

const (
	other   class = iota // neither letter, number, mark nor space
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

// caseless says that c may stand in either part of a word.
func (c class) caseless() bool { return c == neutral || c == mark }

// blank says that c is white space.
func (c class) blank() bool { return c == space || c == newline }

// symbol says that c is in a run of punctuation: marks count there too.
func (c class) symbol() bool { return c == other || c == mark }

// prefixes says that c may stand once before a word.
func (c class) prefixes() bool { return c == other || c == mark || c == space }

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

// nextPiece gives the length of the first piece of text, which is not empty.
// Merges never cross pieces. It does what the first alternative that matches
// does in o200k's pattern: a word that ends in lower case, a word in upper
// case, up to three digits, punctuation, and white space.
func nextPiece(text string) int {
	first, width := classAt(text)
	if n := word(text, first, width); n > 0 {
		return n
	}
	switch {
	case first == number:
		return digits(text)
	case first.symbol():
		return punctuation(text, 0)
	case text[0] == ' ' && len(text) > 1:
		if c, _ := classAt(text[1:]); c.symbol() {
			return punctuation(text, 1)
		}
	}
	return blanks(text)
}

// word matches a word with the one character that may precede it, or gives 0.
// The attempts stand in the pattern's order of preference.
func word(text string, first class, width int) int {
	if first.prefixes() {
		if n := mixedWord(text[width:]); n > 0 {
			return contracted(text, width+n)
		}
	}
	if n := mixedWord(text); n > 0 {
		return contracted(text, n)
	}
	if first.prefixes() {
		if n := run(text[width:], class.startsWord); n > 0 {
			return contracted(text, width+n)
		}
	}
	if n := run(text, class.startsWord); n > 0 {
		return contracted(text, n)
	}
	return 0
}

// mixedWord matches an upper-case part, maybe empty, and a lower-case part
// that is not. Where no lower case follows, the last character without case
// serves as the lower-case part and what follows it is left over.
func mixedWord(text string) int {
	end, afterCaseless := 0, 0
	for end < len(text) {
		c, width := classAt(text[end:])
		if c == lower {
			return end + run(text[end:], class.endsWord)
		}
		if !c.startsWord() {
			break
		}
		end += width
		if c.caseless() {
			afterCaseless = end
		}
	}
	return afterCaseless
}

// contracted extends a word of n bytes by 's, 't, 're, 've, 'm, 'll or 'd in
// any case. The long s folds to s, as it does in the pattern's own engine.
func contracted(text string, n int) int {
	rest := text[n:]
	if len(rest) < 2 || rest[0] != '\'' {
		return n
	}
	const longS = "\u017f"
	if len(rest) > len(longS) && rest[1:1+len(longS)] == longS {
		return n + 1 + len(longS)
	}
	switch rest[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return n + 2
	case 'r', 'v':
		if len(rest) > 2 && rest[2]|0x20 == 'e' {
			return n + 3
		}
	case 'l':
		if len(rest) > 2 && rest[2]|0x20 == 'l' {
			return n + 3
		}
	}
	return n
}

// digits matches up to three numerals.
func digits(text string) int {
	n := 0
	for range 3 {
		if n == len(text) {
			break
		}
		c, width := classAt(text[n:])
		if c != number {
			break
		}
		n += width
	}
	return n
}

// punctuation matches a run of symbols from start and the line ends and
// slashes behind it.
func punctuation(text string, start int) int {
	n := start + run(text[start:], class.symbol)
	for n < len(text) && (text[n] == '\r' || text[n] == '\n' || text[n] == '/') {
		n++
	}
	return n
}

// blanks matches white space: through its last line end; else all of it at the
// end of the text; else all but the last character, which goes with what
// follows; else that one character.
func blanks(text string) int {
	end, beforeLast, afterNewline := 0, 0, 0
	for end < len(text) {
		c, width := classAt(text[end:])
		if !c.blank() {
			break
		}
		beforeLast = end
		end += width
		if c == newline {
			afterNewline = end
		}
	}
	switch {
	case afterNewline > 0:
		return afterNewline
	case end == len(text) || beforeLast == 0:
		return end
	}
	return beforeLast
}
