package text

import (
	"cmp"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Masked stands where a secret stood.
const Masked = "***"

// MinSecret is how long a secret has to be: less would be found in every other
// word.
const MinSecret = 6

const (
	// minSecretLine is what a line of a secret of several has to have.
	minSecretLine = 16
	// rounds is how often a text is unwrapped: a server may quote what a proxy
	// has quoted before.
	rounds = 3
)

// Mask hides secrets. A nil Mask hides nothing.
type Mask struct {
	// raw are the secrets as they were given, forms those and what they are
	// without percent signs and escapes, longest first.
	raw, forms []string
}

// NewMask hides these values, and what they look like percent-encoded, in JSON
// and in HTML. What is very short is no secret.
func NewMask(secrets ...string) *Mask {
	secrets = slices.Compact(slices.Sorted(slices.Values(secrets)))
	m := &Mask{raw: secrets}
	for _, s := range secrets {
		m.add(s, MinSecret)
		if strings.Contains(s, "\n") {
			for line := range strings.Lines(s) {
				m.add(strings.TrimSpace(line), minSecretLine)
			}
		}
	}
	slices.SortFunc(m.forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	m.forms = slices.Compact(m.forms)
	return m
}

func (m *Mask) add(secret string, least int) {
	for range rounds {
		if len(secret) >= least {
			m.forms = append(m.forms, plusToSpace(secret))
		}
		plain, _ := unwrap(secret)
		if plain == secret {
			return
		}
		secret = plain
	}
}

// plusToSpace takes a plus sign for a space, as a query means it.
func plusToSpace(s string) string { return strings.ReplaceAll(s, "+", " ") }

// With hides these too.
func (m *Mask) With(secrets ...string) *Mask {
	if m != nil {
		secrets = slices.Concat(m.raw, secrets)
	}
	return NewMask(secrets...)
}

// Line is what may be shown and kept of a foreign text: its secrets hidden, then
// in one line, without control characters, and cut last of all.
func (m *Mask) Line(s string, limit int) string {
	return Cut(Line(strings.Join(strings.Fields(m.Hide(s)), " ")), limit)
}

// Hide masks every secret in a text.
func (m *Mask) Hide(s string) string { return m.hide(s, false) }

// HidePiece is Hide for a piece of a longer text, which may begin or end inside
// a secret.
func (m *Mask) HidePiece(s string) string { return m.hide(s, true) }

// hide looks for the secrets in the text as it stands and in what it says
// without its escapes, and masks the places in the text itself.
func (m *Mask) hide(s string, torn bool) string {
	if m == nil || len(m.forms) == 0 || s == "" {
		return s
	}
	var found []place
	plain, at := s, []int(nil)
	for range rounds {
		found = m.find(found, plain, at, torn)
		next, moved := unwrap(plain)
		if next == plain {
			break
		}
		plain, at = next, through(moved, at)
	}
	return cover(s, found)
}

// place is a stretch of a text.
type place struct{ from, to int }

// find adds where secrets stand in plain, as places of the text that it was
// made of: at says where each byte came from, nil where nothing has moved. What
// was cut may end inside a secret.
func (m *Mask) find(found []place, plain string, at []int, torn bool) []place {
	plain = plusToSpace(plain)
	add := func(from, to int) {
		if at != nil {
			from, to = at[from], at[to]
		}
		found = append(found, place{from, to})
	}
	for _, secret := range m.forms {
		for from := 0; ; {
			i := strings.Index(plain[from:], secret[:MinSecret])
			if i < 0 {
				break
			}
			from += i
			to := from + common(plain[from:], secret)
			rest := plain[to:]
			if to-from == len(secret) || strings.HasPrefix(rest, "…") || torn && rest == "" {
				add(from, to)
				from = to
			} else {
				from++
			}
		}
		if !torn {
			continue
		}
		for n := min(len(secret)-1, len(plain)); n >= MinSecret; n-- {
			if strings.HasPrefix(plain, secret[len(secret)-n:]) {
				add(0, n)
				break
			}
		}
	}
	return found
}

// common is how many bytes two texts have in common at their start.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// cover puts the mask over places, which may overlap.
func cover(s string, found []place) string {
	if len(found) == 0 {
		return s
	}
	slices.SortFunc(found, func(a, b place) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var b strings.Builder
	end := 0
	for _, p := range found {
		if p.from >= end {
			b.WriteString(s[end:p.from])
			b.WriteString(Masked)
		}
		end = max(end, p.to)
	}
	b.WriteString(s[end:])
	return b.String()
}

// through follows places over one more step.
func through(moved, at []int) []int {
	if at == nil {
		return moved
	}
	for i, p := range moved {
		moved[i] = at[p]
	}
	return moved
}

// unwrap takes one layer of escapes off a text: percent-encoding, those of
// JSON and of HTML. at has the place of every byte in s, and one more for the
// end.
func unwrap(s string) (plain string, at []int) {
	if !strings.ContainsAny(s, `%\&`) {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	at = make([]int, 0, len(s)+1)
	for i := 0; i < len(s); {
		start := len(b)
		var n int
		if b, n = unescape(b, s[i:]); n == 0 {
			b, n = append(b, s[i]), 1
		}
		for range len(b) - start {
			at = append(at, i)
		}
		i += n
	}
	return string(b), append(at, len(s))
}

// unescape appends what the escape at the start of s means and gives its
// length, 0 where there is none.
func unescape(b []byte, s string) ([]byte, int) {
	switch s[0] {
	case '%':
		if code, ok := hex(s[1:], 2); ok {
			return append(b, byte(code)), 3
		}
	case '&':
		if end := strings.IndexByte(s[:min(len(s), 10)], ';'); end > 0 {
			if meant := html.UnescapeString(s[:end+1]); meant != s[:end+1] {
				return append(b, meant...), end + 1
			}
		}
	case '\\':
		return unquote(b, s)
	}
	return b, 0
}

// unquote is unescape for what begins with a backslash.
func unquote(b []byte, s string) ([]byte, int) {
	if len(s) < 2 {
		return b, 0
	}
	// Of the letters that stand for a line break and the like none is taken for
	// one: a path that ends in a backslash may come before a secret.
	if strings.IndexByte(`"\/'`, s[1]) >= 0 {
		return append(b, s[1]), 2
	}
	switch s[1] {
	case 'x':
		if code, ok := hex(s[2:], 2); ok {
			return append(b, byte(code)), 4
		}
	case 'u':
		code, ok := hex(s[2:], 4)
		if !ok {
			return b, 0
		}
		if utf16.IsSurrogate(code) && strings.HasPrefix(s[6:], `\u`) {
			if low, ok := hex(s[8:], 4); ok {
				return utf8.AppendRune(b, utf16.DecodeRune(code, low)), 12
			}
		}
		return utf8.AppendRune(b, code), 6
	}
	return b, 0
}

func hex(s string, digits int) (rune, bool) {
	if len(s) < digits {
		return 0, false
	}
	code, err := strconv.ParseUint(s[:digits], 16, 32)
	return rune(code), err == nil
}
