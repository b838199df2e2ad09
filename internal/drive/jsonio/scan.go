// Package jsonio reads and writes JSON on the path of every event: a scanner that
// reads it in one pass without allocating, the tree that defines what the
// scanner must agree with, paths into it, and appenders. It knows no dialect.
package jsonio

import "strconv"

// Scanner reads JSON in one pass without allocating. Whatever it does not expect
// makes it odd, after which its results mean nothing and the document has to be
// read again as a Tree: it never decides that one is malformed.
type Scanner struct {
	b     []byte // empty once it is odd, so that every loop ends
	i     int
	depth int // of what is skipped
	odd   bool
}

// NewScanner reads data.
func NewScanner(data []byte) Scanner { return Scanner{b: data} }

// maxDepth is far beyond any event's nesting and far within the stack.
const maxDepth = 64

// AtEnd reports whether everything was read and nothing was odd.
func (s *Scanner) AtEnd() bool {
	s.space()
	return !s.odd && s.i == len(s.b)
}

// Fail makes the document odd.
func (s *Scanner) Fail() { s.b, s.i, s.odd = nil, 0, true }

// FailIf makes it odd where odd is set.
func (s *Scanner) FailIf(odd bool) {
	if odd {
		s.Fail()
	}
}

func (s *Scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\n' || s.b[s.i] == '\r') {
		s.i++
	}
}

// Peek gives the first byte of the next token, 0 at the end.
func (s *Scanner) Peek() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// take steps over c if it is next.
func (s *Scanner) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] <= ' ' {
		s.space()
	}
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *Scanner) want(c byte) {
	if !s.take(c) {
		s.Fail()
	}
}

// FirstKey enters an object and gives its first key, nil if it is empty or odd.
func (s *Scanner) FirstKey() []byte {
	if k := s.denseKey('{'); k != nil {
		return k
	}
	s.want('{')
	if s.take('}') {
		return nil
	}
	return s.key()
}

// NextKey gives the key after a value that was read, nil at the object's end.
func (s *Scanner) NextKey() []byte {
	if k := s.denseKey(','); k != nil {
		return k
	}
	if s.take(',') {
		return s.key()
	}
	s.want('}')
	return nil
}

// denseKey reads the usual key at once: the byte before it, lower-case letters
// in quotes, and a colon, without white space. nil if it is not like that.
func (s *Scanner) denseKey(before byte) []byte {
	b, i := s.b, s.i
	if i+1 >= len(b) || b[i] != before || b[i+1] != '"' {
		return nil
	}
	from := i + 2
	for i = from; i < len(b) && ('a' <= b[i] && b[i] <= 'z' || b[i] == '_'); i++ {
	}
	if i+1 >= len(b) || b[i] != '"' || b[i+1] != ':' {
		return nil
	}
	s.i = i + 2
	return b[from:i]
}

func (s *Scanner) key() []byte {
	k := s.Str()
	s.want(':')
	s.FailIf(k.Escaped)
	if s.odd {
		return nil
	}
	return k.Raw
}

// FirstElem enters an array and reports whether it has an element.
func (s *Scanner) FirstElem() bool {
	s.want('[')
	return !s.take(']') && !s.odd
}

// NextElem reports whether another element follows the one that was read.
func (s *Scanner) NextElem() bool {
	if s.take(',') {
		return true
	}
	s.want(']')
	return false
}

// MarkSeen marks the key with the given bit as seen. A key that comes twice is
// odd, because then the last one counts.
func (s *Scanner) MarkSeen(seen *uint, bit uint) {
	s.FailIf(*seen&(1<<bit) != 0)
	*seen |= 1 << bit
}

// Into reads a string that comes once, or null.
func (s *Scanner) Into(t *Span) {
	s.FailIf(t.Raw != nil)
	*t = s.Text()
}

// Tally reads a number of tokens that comes once, or null.
func (s *Scanner) Tally(n *int) {
	s.FailIf(*n != 0)
	*n = s.Count()
}

// Object enters an object that comes once, and reports whether it is one; null
// is none.
func (s *Scanner) Object(seen *uint, bit uint) bool {
	s.MarkSeen(seen, bit)
	return !s.Null()
}

// Flag reads true, false, or null for false.
func (s *Scanner) Flag() bool {
	switch s.Peek() {
	case 't':
		return s.literal("true")
	case 'f':
		s.literal("false")
	default:
		s.FailIf(!s.Null())
	}
	return false
}

// Null consumes a null.
func (s *Scanner) Null() bool { return s.Peek() == 'n' && s.literal("null") }

func (s *Scanner) literal(word string) bool {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		s.Fail()
		return false
	}
	s.i += len(word)
	return true
}

// Count reads a number of tokens, or null.
func (s *Scanner) Count() int {
	if s.Null() {
		return 0
	}
	n, from := 0, s.i
	for s.i < len(s.b) && isDigit(s.b[s.i]) && s.i-from < 9 {
		n = n*10 + int(s.b[s.i]-'0')
		s.i++
	}
	leadingZero := s.i-from > 1 && s.b[from] == '0'
	s.FailIf(s.i == from || leadingZero || s.i < len(s.b) && continuesNumber(s.b[s.i]))
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func continuesNumber(c byte) bool { return isDigit(c) || c == '.' || c == 'e' || c == 'E' }

// Skip steps over any value.
func (s *Scanner) Skip() {
	switch s.Peek() {
	case '"':
		s.Str()
	case '{':
		s.checkDepth()
		for k := s.FirstKey(); k != nil; k = s.NextKey() {
			s.Skip()
		}
		s.depth--
	case '[':
		s.checkDepth()
		for ok := s.FirstElem(); ok; ok = s.NextElem() {
			s.Skip()
		}
		s.depth--
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

// checkDepth guards the stack.
func (s *Scanner) checkDepth() {
	s.depth++
	s.FailIf(s.depth > maxDepth)
}

// number steps over a number.
func (s *Scanner) number() {
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else {
		s.digits()
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		s.digits()
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		s.digits()
	}
}

// Number reads a number, and null as none.
func (s *Scanner) Number() (value float64, known bool) {
	if s.Null() {
		return 0, false
	}
	s.space()
	from, b := s.i, s.b
	if s.number(); s.odd {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(b[from:s.i]), 64)
	return value, err == nil
}

func (s *Scanner) digits() {
	from := s.i
	for s.i < len(s.b) && isDigit(s.b[s.i]) {
		s.i++
	}
	s.FailIf(s.i == from)
}
