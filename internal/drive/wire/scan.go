package wire

// scan reads JSON in one pass without allocating. Whatever it does not expect
// makes it odd, after which its results mean nothing and the event is read
// again as a tree: it never decides that an event is malformed.
type scan struct {
	b     []byte // empty once it is odd, so that every loop ends
	i     int
	depth int // of what is skipped
	odd   bool
}

// maxDepth is far beyond any event's nesting and far within the stack.
const maxDepth = 64

// atEnd reports whether everything was read and nothing was odd.
func (s *scan) atEnd() bool {
	s.space()
	return !s.odd && s.i == len(s.b)
}

// fail makes the event odd.
func (s *scan) fail() { s.b, s.i, s.odd = nil, 0, true }

func (s *scan) failIf(odd bool) {
	if odd {
		s.fail()
	}
}

func (s *scan) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\n' || s.b[s.i] == '\r') {
		s.i++
	}
}

// peek gives the first byte of the next token, 0 at the end.
func (s *scan) peek() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// take steps over c if it is next.
func (s *scan) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] <= ' ' {
		s.space()
	}
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scan) want(c byte) {
	if !s.take(c) {
		s.fail()
	}
}

// firstKey enters an object and gives its first key, nil if it is empty or odd.
func (s *scan) firstKey() []byte {
	if k := s.denseKey('{'); k != nil {
		return k
	}
	s.want('{')
	if s.take('}') {
		return nil
	}
	return s.key()
}

// nextKey gives the key after a value that was read, nil at the object's end.
func (s *scan) nextKey() []byte {
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
func (s *scan) denseKey(before byte) []byte {
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

func (s *scan) key() []byte {
	k := s.str()
	s.want(':')
	s.failIf(k.escaped)
	if s.odd {
		return nil
	}
	return k.raw
}

// firstElem enters an array and reports whether it has an element.
func (s *scan) firstElem() bool {
	s.want('[')
	return !s.take(']') && !s.odd
}

func (s *scan) nextElem() bool {
	if s.take(',') {
		return true
	}
	s.want(']')
	return false
}

// markSeen marks the key with the given bit as seen. A key that comes twice is
// odd, because then the last one counts.
func (s *scan) markSeen(seen *uint, bit uint) {
	s.failIf(*seen&(1<<bit) != 0)
	*seen |= 1 << bit
}

// into reads a string that comes once, as once says, or null.
func (s *scan) into(t *span) {
	s.failIf(t.raw != nil)
	*t = s.text()
}

// tally reads a number of tokens that comes once, or null.
func (s *scan) tally(n *int) {
	s.failIf(*n != 0)
	*n = s.count()
}

// object enters an object that comes once, and reports whether it is one; null
// is none.
func (s *scan) object(seen *uint, bit uint) bool {
	s.markSeen(seen, bit)
	return !s.null()
}

// other reads a top-level key that a dialect has no use for, but for those by
// which an event says that it is an error.
func (s *scan) other(key []byte) {
	switch string(key) {
	case "error":
		s.failIf(!s.null())
	case "object", "type":
		kind := s.str()
		s.failIf(kind.escaped || string(kind.raw) == "error")
	default:
		s.skip()
	}
}

// flag reads true, false, or null for false.
func (s *scan) flag() bool {
	switch s.peek() {
	case 't':
		return s.literal("true")
	case 'f':
		s.literal("false")
	default:
		s.failIf(!s.null())
	}
	return false
}

// null consumes a null.
func (s *scan) null() bool { return s.peek() == 'n' && s.literal("null") }

func (s *scan) literal(word string) bool {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		s.fail()
		return false
	}
	s.i += len(word)
	return true
}

// count reads a number of tokens, or null.
func (s *scan) count() int {
	if s.null() {
		return 0
	}
	n, from := 0, s.i
	for s.i < len(s.b) && isDigit(s.b[s.i]) && s.i-from < 9 {
		n = n*10 + int(s.b[s.i]-'0')
		s.i++
	}
	leadingZero := s.i-from > 1 && s.b[from] == '0'
	s.failIf(s.i == from || leadingZero || s.i < len(s.b) && continuesNumber(s.b[s.i]))
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func continuesNumber(c byte) bool { return isDigit(c) || c == '.' || c == 'e' || c == 'E' }

// skip steps over any value.
func (s *scan) skip() {
	switch s.peek() {
	case '"':
		s.str()
	case '{':
		s.checkDepth()
		for k := s.firstKey(); k != nil; k = s.nextKey() {
			s.skip()
		}
		s.depth--
	case '[':
		s.checkDepth()
		for ok := s.firstElem(); ok; ok = s.nextElem() {
			s.skip()
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
func (s *scan) checkDepth() {
	s.depth++
	s.failIf(s.depth > maxDepth)
}

// number steps over a number.
func (s *scan) number() {
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

func (s *scan) digits() {
	from := s.i
	for s.i < len(s.b) && isDigit(s.b[s.i]) {
		s.i++
	}
	s.failIf(s.i == from)
}
