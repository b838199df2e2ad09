package report

import (
	"strings"
	"unicode/utf8"
)

// tone is what a colour means.
type tone string

const (
	plain tone = ""
	good  tone = "32"   // met, valid
	weak  tone = "33"   // undecided, not firm
	bad   tone = "31"   // missed, invalid, failed
	bold  tone = "1"    // a heading
	met   tone = "1;32" // the verdict itself
	unset tone = "1;33"
	lost  tone = "1;31"
)

// paint wraps text in a tone where colour is on.
func (p *page) paint(t tone, text string) string {
	if !p.color || t == plain || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// visible is how many columns text takes on a terminal: escape sequences take
// none.
func visible(text string) int {
	n := 0
	for {
		start := strings.Index(text, "\x1b[")
		if start < 0 {
			return n + utf8.RuneCountInString(text)
		}
		n += utf8.RuneCountInString(text[:start])
		end := strings.IndexByte(text[start:], 'm')
		if end < 0 {
			return n
		}
		text = text[start+end+1:]
	}
}

// wrapped breaks text at spaces into lines of at most width columns. A word
// that is longer than a line, such as a URL, is cut.
func wrapped(text string, width int) []string {
	width = max(width, 10)
	var lines []string
	line := ""
	for _, word := range strings.Fields(strings.ReplaceAll(text, hard, "\x00")) {
		word = strings.ReplaceAll(word, "\x00", hard)
		switch {
		case line == "":
			line = word
		case visible(line)+1+visible(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for visible(line) > width {
			head, tail := cut(line, width)
			lines = append(lines, head)
			line = tail
		}
	}
	return append(lines, line)
}

// cut splits text after width runes. Painted words are short, so a word that
// must be cut holds no escape sequence.
func cut(text string, width int) (head, tail string) {
	runes := []rune(text)
	if len(runes) <= width {
		return text, ""
	}
	return string(runes[:width]), string(runes[width:])
}
