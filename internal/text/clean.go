package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean shows what could move a cursor, color a terminal or turn the direction
// of a line as escapes: \x1b, \u202e. Line breaks and tabs stay.
func Clean(s string) string {
	return escapeControl(s, func(r rune) bool { return r == '\n' || r == '\t' })
}

// Line is Clean for a text that stands in one line: line breaks and tabs are
// spaces in it.
func Line(s string) string {
	return escapeControl(spaces.Replace(s), func(rune) bool { return false })
}

var spaces = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ")

// Cut bounds a text, at a whole character. Secrets are hidden before: half of
// one would not be found.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// harmful reports whether a character does something to the text around it and
// is not seen itself.
func harmful(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff':
		return true
	case r == '\u061c', r == '\u200e', r == '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true // they turn the direction in which a line is read
	}
	return r >= 0xe0000 && r <= 0xe007f // letters that nobody sees
}

func escapeControl(s string, stays func(rune) bool) string {
	if clean := func(r rune) bool { return r == utf8.RuneError || harmful(r) && !stays(r) }; strings.IndexFunc(s, clean) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, harmful(r) && !stays(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case harmful(r) && !stays(r) && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case harmful(r) && !stays(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
