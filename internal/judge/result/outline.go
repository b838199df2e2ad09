package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// blocks are the parts of a document that are cut out of it; one with blocks of
// its own stays without those.
type blocks map[string]blocks

// unlistedBlocks are the parts of a result that no list of runs shows. They are most
// of it.
var unlistedBlocks = blocks{"client": nil, "workers": nil, "conductor": nil, "toggles": {"buckets": nil}, "diagnosis": nil, "checklist": nil, "decision_matrix": nil,
	"anti_patterns": nil, "unknown": nil, "warnings": nil, "verdict": {"reasons": nil},
	"points": {"distributions": nil, "series": nil, "buckets": nil, "classes": nil, "tenants": nil, "turns": nil, "prediction": nil,
		"engine_log": nil, "cross_checks": nil, "server": nil, "tokens": nil}}

// Outline reads what a list of runs needs of a result and does not decode the
// rest, which would take most of the time. What it cannot follow it reads whole.
func Outline(content []byte) (*Result, error) {
	s := scanner{in: content, out: make([]byte, 0, len(content)/4)}
	if err := s.value(unlistedBlocks); err != nil || s.next() != 0 {
		return Read(content)
	}
	var r Result
	if err := json.Unmarshal(s.out, &r); err != nil {
		return nil, fmt.Errorf("not a result: %w", err)
	}
	if r.Schema != Schema {
		return Read(content)
	}
	return &r, nil
}

// errScan says that a document is not JSON as far as the scanner looks.
var errScan = errors.New("not JSON")

// scanner copies a JSON document but for the blocks that are cut. It only looks
// for where values begin and end: the decoder judges what it kept.
type scanner struct {
	in  []byte
	at  int
	out []byte
}

// next goes to the next byte that is no space and gives it, 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.in); s.at++ {
		switch c := s.in[s.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

// value copies a value without blocks: those of an object, or of the objects of
// an array.
func (s *scanner) value(cut blocks) error {
	switch begin := s.next(); {
	case cut != nil && begin == '{':
		return s.list('}', func() (bool, error) { return s.member(cut) })
	case cut != nil && begin == '[':
		return s.list(']', func() (bool, error) { return true, s.value(cut) })
	}
	from := s.at
	err := s.skip()
	s.out = append(s.out, s.in[from:s.at]...)
	return err
}

// list copies what stands between two brackets, parted by commas; read copies
// each of it or says that it did not.
func (s *scanner) list(end byte, read func() (kept bool, err error)) error {
	s.out = append(s.out, s.in[s.at])
	s.at++
	for first, some := true, false; ; first = false {
		c := s.next()
		switch {
		case c == end:
			s.at++
			s.out = append(s.out, end)
			return nil
		case c == ',' && !first:
			s.at++
			s.next()
		case !first || c == 0:
			return errScan
		}
		before := len(s.out)
		if some {
			s.out = append(s.out, ',')
		}
		kept, err := read()
		if err != nil {
			return err
		}
		if !kept {
			s.out = s.out[:before]
		}
		some = some || kept
	}
}

// member copies a name and its value, unless it is cut.
func (s *scanner) member(cut blocks) (kept bool, err error) {
	from := s.at
	if s.next() != '"' || s.skip() != nil {
		return false, errScan
	}
	name := s.in[from:s.at]
	if s.next() != ':' {
		return false, errScan
	}
	s.at++
	inner, listed := cut[string(name[1:len(name)-1])]
	if listed && inner == nil {
		s.next()
		return false, s.skip()
	}
	s.out = append(append(s.out, name...), ':')
	return true, s.value(inner)
}

func (s *scanner) skip() error {
	from, depth := s.at, 0
	for s.at < len(s.in) {
		switch s.in[s.at] {
		case '"':
			end := closingQuote(s.in[s.at+1:])
			if end < 0 {
				return errScan
			}
			s.at += end + 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth < 0 {
			return errScan
		}
		if depth == 0 && s.ends(from) {
			return nil
		}
	}
	return errScan
}

// ends reports whether the value that began there ends here: a bracket or a
// quotation mark closes one, any other ends before what cannot be of it.
func (s *scanner) ends(from int) bool {
	switch s.in[from] {
	case '"', '{', '[':
		return true
	}
	return s.at == len(s.in) || bytes.IndexByte([]byte(",]} \n\r\t"), s.in[s.at]) >= 0
}

// closingQuote is where a string ends whose beginning was left behind, -1 for nowhere.
func closingQuote(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
