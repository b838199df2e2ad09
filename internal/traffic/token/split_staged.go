package token

import "unicode/utf8"

// Some files split several times over: each stage cuts the pieces of the one
// before, and what a stage's pattern does not match stays together.

// numberOrRest takes up to three numerals, or all up to the next numeral.
func numberOrRest(text string) int {
	if n := digits(text, 3); n > 0 {
		return n
	}
	return run(text, func(c class) bool { return c != number })
}

// numeralOrRest takes a single numeral, or all up to the next.
func numeralOrRest(text string) int {
	if n := digits(text, 1); n > 0 {
		return n
	}
	return run(text, func(c class) bool { return c != number })
}

// numeralsOrRest takes all numerals, or all up to the next.
func numeralsOrRest(text string) int {
	if n := run(text, class.numeral); n > 0 {
		return n
	}
	return run(text, func(c class) bool { return c != number })
}

// kanaOrRest takes a run of Chinese characters and kana, or a run without.
func kanaOrRest(text string) int {
	first, _ := utf8.DecodeRuneInString(text)
	inside := kana(first)
	for n, r := range text {
		if kana(r) != inside {
			return n
		}
	}
	return len(text)
}

func kana(r rune) bool { return r >= 0x4e00 && r <= 0x9fa5 || r >= 0x3040 && r <= 0x30ff }

// deepseekPiece takes what deepseekMatch does, or all that it does not match
// up to where it does again.
func deepseekPiece(text string) int {
	if n := deepseekMatch(text); n > 0 {
		return n
	}
	n := 0
	for n < len(text) && deepseekMatch(text[n:]) == 0 {
		_, width := classAt(text[n:])
		n += width
	}
	return n
}

// deepseekMatch takes an ASCII sign with the ASCII letters behind it; a word
// with its marks and the one character that may precede it; signs with the
// space before and the line ends behind them; or white space. It gives 0 where
// text begins with anything else.
func deepseekMatch(text string) int {
	if n := asciiSignWord(text); n > 0 {
		return n
	}
	first, width := classAt(text)
	if !first.letter() && first != sign && first != newline { // it may stand once before a word
		if n := run(text[width:], class.word); n > 0 {
			return width + n
		}
	}
	switch {
	case first.word():
		return run(text, class.word)
	case first.isPrinted():
		return punctuation(text, 0, class.isPrinted, false)
	case text[0] == ' ' && len(text) > 1:
		if c, _ := classAt(text[1:]); c.isPrinted() {
			return punctuation(text, 1, class.isPrinted, false)
		}
	}
	if first.blank() {
		return blanks(text)
	}
	return 0
}

func asciiSignWord(text string) int {
	if c := text[0]; c <= ' ' || c >= 0x7f || asciiClasses[c] != sign {
		return 0
	}
	n := 1
	for n < len(text) && (text[n]|0x20) >= 'a' && (text[n]|0x20) <= 'z' {
		n++
	}
	if n == 1 {
		return 0
	}
	return n
}
