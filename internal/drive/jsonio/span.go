package jsonio

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Span is a string as it stands between its quotes.
type Span struct {
	Raw     []byte
	Escaped bool
}

// Text reads a string, or null for the empty one. One that is not UTF-8 is
// odd, because encoding/json mends it.
func (s *Scanner) Text() Span {
	if s.Null() {
		return Span{}
	}
	t := s.Str()
	s.FailIf(!utf8.Valid(t.Raw))
	return t
}

// Str reads a string and checks that its bytes may stand in one.
func (s *Scanner) Str() Span {
	if !s.take('"') {
		s.Fail()
		return Span{}
	}
	from, escaped := s.i, false
	for i := from; i < len(s.b); {
		i += plainRun(s.b[i:])
		switch {
		case i == len(s.b):
		case s.b[i] == '"':
			s.i = i + 1
			return Span{s.b[from:i], escaped}
		default:
			n := escapeLen(s.b[i:])
			if n == 0 {
				n = len(s.b)
			}
			escaped = true
			i += n
		}
	}
	s.Fail()
	return Span{}
}

// escapeLen is the length of the escape sequence that b begins with, 0 if it
// begins with none.
func escapeLen(b []byte) int {
	if len(b) < 2 || b[0] != '\\' {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && hexRune(b[2:6]) >= 0 {
			return 6
		}
	}
	return 0
}

// hexRune reads four hexadecimal digits; -1 if they are not.
func hexRune(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

// Unescape appends what the span means.
func (t Span) Unescape(dst []byte) []byte {
	raw := t.Raw
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		if raw[i+1] != 'u' {
			dst = append(dst, unescapeByte(raw[i+1]))
			raw = raw[i+2:]
			continue
		}
		r := hexRune(raw[i+2 : i+6])
		raw = raw[i+6:]
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
				low = hexRune(raw[2:6])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				raw = raw[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

func unescapeByte(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
