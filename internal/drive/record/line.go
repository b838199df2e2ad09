package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// AppendLine appends r as one line, with its newline.
func (r *Record) AppendLine(b []byte) []byte { return append(r.appendJSON(b), '\n') }

// appendJSON appends r as one line of the log, without the newline; what is zero is
// left out.
func (r *Record) appendJSON(b []byte) []byte {
	sep := byte('{')
	for i := range Columns {
		c := &Columns[i]
		field := c.At(r)
		if empty(field) && !c.Has(Always) {
			continue
		}
		b = append(b, sep, '"')
		b = append(b, c.Key...)
		b = append(b, '"', ':')
		switch v := field.(type) {
		case *int64:
			b = strconv.AppendInt(b, *v, 10)
		case *int:
			b = strconv.AppendInt(b, int64(*v), 10)
		case *bool:
			b = append(b, "true"...)
		case *string:
			b = appendQuoted(b, *v)
		case **int:
			b = strconv.AppendInt(b, int64(**v), 10)
		case *varints:
			b = v.appendJSON(b)
		}
		sep = ','
	}
	return append(b, '}')
}

func empty(field any) bool {
	switch v := field.(type) {
	case *int64:
		return *v == 0
	case *int:
		return *v == 0
	case *bool:
		return !*v
	case *string:
		return *v == ""
	case **int:
		return *v == nil
	case *varints:
		return len(*v) == 0
	}
	return true
}

func appendQuoted(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string always marshals
	return append(b, quoted...)
}

// varints are whole numbers, none below 0, one behind the other.
type varints []byte

func (v varints) appendJSON(b []byte) []byte {
	sep := byte('[')
	for n := range uvarints(v) {
		b = strconv.AppendUint(append(b, sep), n, 10)
		sep = ','
	}
	return append(b, ']')
}

// UnmarshalJSON reads an array of whole numbers.
func (v *varints) UnmarshalJSON(data []byte) error {
	s := &scanner{rest: bytes.ReplaceAll(data, []byte{' '}, nil)}
	if string(s.rest) == "[]" {
		return nil
	}
	if s.list(v); s.strange || len(s.rest) > 0 {
		return fmt.Errorf("expected an array of whole numbers, got %.20q", data)
	}
	return nil
}

func (v varints) count() (n int) {
	for _, c := range v {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// ParseLine reads what AppendLine wrote.
func ParseLine(line []byte) (*Record, error) {
	r := &Record{}
	if r.scan(bytes.TrimSuffix(line, []byte{'\n'})) {
		return r, nil
	}
	return r, r.decode(line)
}

// scan reads a line as appendJSON writes it, in r's own memory. It reports whether
// it was such a line; where not, r holds nothing of use.
func (r *Record) scan(text []byte) bool {
	own := r.chunks.reset()
	class, tenant, addr := r.Class, r.Tenant, r.Addr
	*r = Record{chunks: own, Class: class, Tenant: tenant, Addr: addr}
	p := &scanner{rest: text}
	for i := range Columns {
		p.read(Columns[i].Key, Columns[i].At(r))
	}
	return !p.strange && r.check() == nil && len(p.rest) == 1 && p.rest[0] == '}' && bytes.HasPrefix(text, []byte(`{"id":`))
}

// decode reads any other line of JSON.
func (r *Record) decode(line []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return err
	}
	*r = Record{}
	for i := range Columns {
		if value := fields[Columns[i].Key]; value != nil {
			if err := json.Unmarshal(value, Columns[i].At(r)); err != nil {
				return fmt.Errorf("%s: %w", Columns[i].Key, err)
			}
		}
	}
	return r.check()
}

// check counts the output events that were read, and says what is wrong with them.
func (r *Record) check() error {
	r.chunks.n = r.chunks.gaps.count()
	if n := r.chunks.tokens.count(); n > 0 && n != r.chunks.n {
		return fmt.Errorf("%d chunk_tokens for %d chunks_us", n, r.chunks.n)
	}
	if t := r.thin; t != (thin{}) && (!t.is || t.events < 0 || r.chunks.n > 0) {
		return errors.New("it has chunks_us and is thinned, or neither")
	}
	return nil
}

// scanner reads the fields of a line that has them in their order. Anything else
// leaves a rest.
type scanner struct {
	rest    []byte // from the comma or brace before the next key
	strange bool
}

func (s *scanner) key(k string) bool {
	n := len(k) + 4
	if len(s.rest) < n || string(s.rest[2:n-2]) != k || s.rest[1] != '"' || s.rest[n-2] != '"' || s.rest[n-1] != ':' {
		return false
	}
	s.strange = s.strange || s.rest[0] != ',' && k != "id"
	s.rest = s.rest[n:]
	return true
}

// integer reads a whole number.
func (s *scanner) integer() (v int64) {
	i, negative := 0, len(s.rest) > 0 && s.rest[0] == '-'
	if negative {
		i++
	}
	from := i
	for ; i < len(s.rest) && s.rest[i]-'0' < 10; i++ {
		v = v*10 + int64(s.rest[i]-'0')
	}
	s.strange = s.strange || i == from || i-from > 18 || i-from > 1 && s.rest[from] == '0'
	s.rest = s.rest[i:]
	if negative {
		return -v
	}
	return v
}

// read reads a field, if it is the next. A text that is not there is emptied, because
// scan leaves what may be the same again.
func (s *scanner) read(key string, field any) {
	text, isText := field.(*string)
	if !s.key(key) {
		if isText {
			*text = ""
		}
		return
	}
	switch v := field.(type) {
	case *int64:
		*v = s.integer()
	case *int:
		*v = int(s.integer())
	case *bool:
		*v = bytes.HasPrefix(s.rest, []byte("true"))
		s.strange = s.strange || !*v
		s.rest = s.rest[min(4, len(s.rest)):]
	case *string:
		s.text(v)
	case **int:
		*v = new(int(s.integer()))
	case *varints:
		s.list(v)
	}
}

// text reads a string; one that was there before and is the same takes no memory.
func (s *scanner) text(v *string) {
	end := -1
	if len(s.rest) > 0 && s.rest[0] == '"' {
		end = bytes.IndexByte(s.rest[1:], '"')
	}
	if end < 0 || bytes.IndexByte(s.rest[1:1+end], '\\') >= 0 {
		s.strange = true
		return
	}
	if raw := s.rest[1 : 1+end]; string(raw) != *v {
		*v = string(raw)
	}
	s.rest = s.rest[end+2:]
}

func (s *scanner) list(v *varints) {
	for sep := byte('['); len(s.rest) > 0 && s.rest[0] == sep; sep = ',' {
		s.rest = s.rest[1:]
		n := s.integer()
		s.strange = s.strange || n < 0
		*v = binary.AppendUvarint(*v, uint64(n))
	}
	s.strange = s.strange || len(s.rest) == 0 || s.rest[0] != ']'
	s.rest = s.rest[min(1, len(s.rest)):]
}
