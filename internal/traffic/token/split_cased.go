package token

// o200kPiece does what the first alternative that matches does in o200k's
// pattern: a word that ends in lower case, a word in upper case, up to three
// digits, punctuation, and white space.
func o200kPiece(text string) int { return casewise(text, 3, withContraction) }

// tekkenPiece is the same with single digits, and without contractions.
func tekkenPiece(text string) int {
	return casewise(text, 1, func(_ string, n int) int { return n })
}

// casewise splits where lower case turns to upper. It hands the end of a word
// to extend, which may add a contraction to it.
func casewise(text string, numerals int, extend func(string, int) int) int {
	first, width := classAt(text)
	if n := casedWord(text, first, width); n > 0 {
		return extend(text, n)
	}
	switch {
	case first == number:
		return digits(text, numerals)
	case first.symbol():
		return punctuation(text, 0, class.symbol, true)
	case text[0] == ' ' && len(text) > 1:
		if c, _ := classAt(text[1:]); c.symbol() {
			return punctuation(text, 1, class.symbol, true)
		}
	}
	return blanks(text)
}

// casedWord matches a word with the one character that may precede it, or
// gives 0. The attempts stand in the pattern's order of preference.
func casedWord(text string, first class, width int) int {
	if first.prefixes() {
		if n := mixedWord(text[width:]); n > 0 {
			return width + n
		}
	}
	if n := mixedWord(text); n > 0 {
		return n
	}
	if first.prefixes() {
		if n := run(text[width:], class.startsWord); n > 0 {
			return width + n
		}
	}
	return run(text, class.startsWord)
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
		if c == neutral || c == mark {
			afterCaseless = end
		}
	}
	return afterCaseless
}
