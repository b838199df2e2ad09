package jsonio

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Appendf appends a form with its placeholders filled in: %s by a JSON string, %b
// by the inside of one, %r by text as it is, %d by a number. It does not
// allocate.
func Appendf(dst []byte, form string, values ...any) []byte {
	for _, value := range values {
		i := strings.IndexByte(form, '%')
		dst = append(dst, form[:i]...)
		verb := form[i+1]
		form = form[i+2:]
		switch v := value.(type) {
		case int:
			dst = strconv.AppendInt(dst, int64(v), 10)
		case int64:
			dst = strconv.AppendInt(dst, v, 10)
		case string:
			switch verb {
			case 's':
				dst = AppendString(dst, v)
			case 'b':
				dst = AppendUnquoted(dst, v)
			default:
				dst = append(dst, v...)
			}
		}
	}
	return append(dst, form...)
}

// AppendList appends what each of n elements writes, as an array.
func AppendList(dst []byte, n int, element func(dst []byte, i int) []byte) []byte {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, i)
	}
	return append(dst, ']')
}

// plainRun counts the bytes at the beginning of s that a JSON string holds as
// they are: all but quotes, backslashes and control characters. It looks at
// eight at a time, for prompts are long.
func plainRun[T string | []byte](s T) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, backslash := w^ones*'"', w^ones*'\\'
		// A byte's top bit is set where the byte is below what is taken from
		// it; a borrow can set it wrongly only above one that is set rightly.
		special := ((w - ones*0x20) | (quote - ones) | (backslash - ones)) &^ w & tops
		if special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	return append(AppendUnquoted(append(dst, '"'), s), '"')
}

// AppendUnquoted appends s as it stands between the quotes of a JSON string.
// Bytes that are not UTF-8 become U+FFFD, since servers reject a body that
// holds them.
func AppendUnquoted(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	for {
		n := plainRun(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		dst = appendEscape(dst, s[n])
		s = s[n+1:]
	}
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
