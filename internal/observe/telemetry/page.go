package telemetry

import (
	"strconv"
	"strings"
)

// Page is what a text exposition of Prometheus says, line by line. Types and
// help texts are passed over: what a series means is known by its name.
type Page struct {
	Series []Series
	// Breaks says before which series another replica's page begins.
	Breaks []int
	// Bad holds the lines that could not be read.
	Bad []string
}

// Series is one value of a page.
type Series struct {
	Name   string
	Labels []Label
	Value  float64
}

// Label is one dimension of a series.
type Label struct{ Name, Value string }

// Label gives the value of a label, "" where there is none.
func (s *Series) Label(name string) string {
	for _, l := range s.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// ParsePage reads a page and never fails: a line that cannot be read is put
// aside, and the others stand. A last line without its newline is put aside
// too, because a number that was cut off still looks like one.
func ParsePage(text []byte) *Page {
	p := &Page{Series: make([]Series, 0, len(text)/80)}
	// One array carries the labels of all series; growing it leaves those
	// already handed out where they are.
	labels := make([]Label, 0, len(text)/40)
	for rest := string(text); rest != ""; {
		line, after, whole := strings.Cut(rest, "\n")
		rest = after
		s := scanner{text: strings.TrimSuffix(line, "\r")}
		s.blanks()
		if s.text == "" || s.text[0] == '#' {
			if line == pageBreak {
				p.Breaks = append(p.Breaks, len(p.Series))
			}
			continue
		}
		series, all, ok := s.series(labels)
		if !ok || !whole {
			p.Bad = append(p.Bad, line)
			continue
		}
		labels = all
		p.Series = append(p.Series, series)
	}
	return p
}

// scanner eats one line from its front.
type scanner struct{ text string }

func (s *scanner) blanks() { s.text = strings.TrimLeft(s.text, " \t") }

func (s *scanner) eat(c byte) bool {
	if s.text == "" || s.text[0] != c {
		return false
	}
	s.text = s.text[1:]
	return true
}

// series reads the whole line; its labels are appended to those of the lines
// before.
func (s *scanner) series(labels []Label) (Series, []Label, bool) {
	name := s.name(true)
	if name == "" {
		return Series{}, nil, false
	}
	s.blanks()
	before, ok := len(labels), true
	if s.eat('{') {
		if labels, ok = s.labels(labels); !ok {
			return Series{}, nil, false
		}
	}
	s.blanks()
	value, ok := number(s.word())
	if !ok || !s.onlyStamp() {
		return Series{}, nil, false
	}
	return Series{Name: name, Labels: labels[before:len(labels):len(labels)], Value: value}, labels, true
}

// name reads the name of a series, which may hold colons, or of a label.
func (s *scanner) name(colons bool) string {
	n := 0
	for n < len(s.text) {
		c := s.text[n]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':' && colons
		if !letter && (n == 0 || c < '0' || c > '9') {
			break
		}
		n++
	}
	name := s.text[:n]
	s.text = s.text[n:]
	return name
}

// labels reads up to and with the closing brace. A comma may follow the last
// label.
func (s *scanner) labels(into []Label) ([]Label, bool) {
	for {
		s.blanks()
		if s.eat('}') {
			return into, true
		}
		name := s.name(false)
		s.blanks()
		if name == "" || !s.eat('=') {
			return into, false
		}
		s.blanks()
		value, ok := s.readQuoted()
		if !ok {
			return into, false
		}
		into = append(into, Label{name, value})
		s.blanks()
		if !s.eat(',') && !strings.HasPrefix(s.text, "}") {
			return into, false
		}
	}
}

// readQuoted reads a label's value. It shares the page's memory unless something
// is escaped in it.
func (s *scanner) readQuoted() (string, bool) {
	if !s.eat('"') {
		return "", false
	}
	n := strings.IndexAny(s.text, `"\`)
	if n >= 0 && s.text[n] == '"' {
		value := s.text[:n]
		s.text = s.text[n+1:]
		return value, true
	}
	return s.unescapeValue()
}

func (s *scanner) unescapeValue() (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.text = s.text[i+1:]
			return b.String(), true
		case c == '\\' && i+1 < len(s.text):
			i++
			switch s.text[i] {
			case 'n':
				b.WriteByte('\n')
			case '"', '\\':
				b.WriteByte(s.text[i])
			default: // not a known escape, so it is taken as it stands
				b.WriteByte('\\')
				b.WriteByte(s.text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// word reads up to the next blank.
func (s *scanner) word() string {
	n := strings.IndexAny(s.text, " \t")
	if n < 0 {
		n = len(s.text)
	}
	w := s.text[:n]
	s.text = s.text[n:]
	return w
}

// onlyStamp reports whether nothing follows but a time or, as OpenMetrics
// has it, an exemplar.
func (s *scanner) onlyStamp() bool {
	s.blanks()
	if s.text == "" || s.text[0] == '#' {
		return true
	}
	if _, ok := number(s.word()); !ok {
		return false
	}
	s.blanks()
	return s.text == "" || s.text[0] == '#'
}

// number reads a decimal float, NaN or an infinity. The standard library also
// takes hexadecimal and underscores, which the format does not know.
func number(w string) (float64, bool) {
	if strings.ContainsAny(w, "pP_") {
		return 0, false
	}
	v, err := strconv.ParseFloat(w, 64)
	return v, err == nil
}
