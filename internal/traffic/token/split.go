package token

// splitter gives the length of the first piece of text, which is not empty.
// Merges never cross pieces. A splitter sees a piece's whole surroundings: the
// end of text is a boundary that the patterns know.
type splitter func(text string) int

// patterns are the regular expressions that tokenizer files are known to split
// by, word for word, and the splitters that do the same by hand. Go's own
// regular expressions cannot look ahead, and cost more than all the rest.
var patterns = map[string]struct {
	split splitter
	// whole says that every character belongs to some match, so that to keep
	// the matches and to remove the rest are the same.
	whole bool
	// words says that every word is a piece of its own.
	words bool
}{
	// GPT-2, written out.
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`: {split: gpt2Piece, whole: true, words: true},
	`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`:    {split: gpt2Piece, whole: true, words: true},
	// Llama 3, and cl100k as its conversions have it.
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {split: llama3Piece, whole: true, words: true},
	// Qwen 2 and 3.
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {split: qwen2Piece, whole: true, words: true},
	// Later Qwens, where marks belong to words.
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {split: markedPiece, whole: true, words: true},
	// GPT-4o, gpt-oss, Llama 4.
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {split: o200kPiece, whole: true, words: true},
	// Mistral's Tekken.
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {split: tekkenPiece, whole: true, words: true},
	// DeepSeek V3 and R1 split three times over.
	`\p{N}{1,3}`: {split: numberOrRest},
	"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+": {split: kanaOrRest},
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+": {split: deepseekPiece, words: true},
}

// gpt2Piece takes a contraction; or letters, numerals or symbols, each with
// the one space before them; or white space.
func gpt2Piece(text string) int {
	if n := plainContraction(text); n > 0 {
		return n
	}
	start := 0
	if text[0] == ' ' && len(text) > 1 {
		start = 1
	}
	rest := text[start:]
	switch c, _ := classAt(rest); {
	case c.letter():
		return start + run(rest, class.letter)
	case c.numeral():
		return start + run(rest, class.numeral)
	case c.symbol():
		return start + run(rest, class.symbol)
	}
	end, beforeLast, _ := blankRun(text)
	return trailingSpace(text, end, beforeLast)
}

// plainContraction matches 's, 't, 're, 've, 'm, 'll or 'd, in lower case
// alone.
func plainContraction(text string) int {
	if text[0] != '\'' || len(text) < 2 {
		return 0
	}
	switch text[1] {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(text) > 2 {
		switch text[1:3] {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

func llama3Piece(text string) int { return wordwise(text, 3, class.letter, class.symbol) }
func qwen2Piece(text string) int  { return wordwise(text, 1, class.letter, class.symbol) }
func markedPiece(text string) int { return wordwise(text, 1, class.word, class.isUnmarked) }

// cl100kPiece splits as cl100k's own makers do: white space at the end of the
// text is one piece, line ends or not. Nothing but white space can be matched
// there, so that may be asked first.
func cl100kPiece(text string) int {
	if end, _, _ := blankRun(text); end == len(text) {
		return end
	}
	return llama3Piece(text)
}

// wordwise takes a contraction in any case; a word with the one character that
// may precede it; up to so many numerals; symbols with the space before and
// the line ends behind them; or white space.
func wordwise(text string, numerals int, inWord, inSymbols func(class) bool) int {
	if n := withContraction(text, 0); n > 0 {
		return n
	}
	first, width := classAt(text)
	if first.prefixes() {
		if n := run(text[width:], inWord); n > 0 {
			return width + n
		}
	}
	switch {
	case inWord(first):
		return run(text, inWord)
	case first.numeral():
		return digits(text, numerals)
	case inSymbols(first):
		return punctuation(text, 0, inSymbols, false)
	case text[0] == ' ' && len(text) > 1:
		if c, _ := classAt(text[1:]); inSymbols(c) {
			return punctuation(text, 1, inSymbols, false)
		}
	}
	return blanks(text)
}

// withContraction extends a word of n bytes by 's, 't, 're, 've, 'm, 'll or 'd in
// any case. The long s folds to s, as it does in the patterns' own engine.
func withContraction(text string, n int) int {
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

// digits matches up to so many numerals.
func digits(text string, limit int) int {
	n := 0
	for range limit {
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

// punctuation matches a run of symbols from start and the line ends behind it,
// slashes among them where the pattern says so.
func punctuation(text string, start int, accept func(class) bool, slash bool) int {
	n := start + run(text[start:], accept)
	for n < len(text) && (text[n] == '\r' || text[n] == '\n' || slash && text[n] == '/') {
		n++
	}
	return n
}

// blanks matches white space through its last line end, or where it has none
// as trailing does.
func blanks(text string) int {
	end, beforeLast, afterNewline := blankRun(text)
	if afterNewline > 0 {
		return afterNewline
	}
	return trailingSpace(text, end, beforeLast)
}

// trailingSpace says how much of the white space up to end is one piece: all of it
// at the end of the text; else all but the last character, which goes with
// what follows; else that one character.
func trailingSpace(text string, end, beforeLast int) int {
	if end == len(text) || beforeLast == 0 {
		return end
	}
	return beforeLast
}

// blankRun measures the white space at the start of text: where it ends, where
// its last character begins, and where its last line end ends.
func blankRun(text string) (end, beforeLast, afterNewline int) {
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
	return end, beforeLast, afterNewline
}
