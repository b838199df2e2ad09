package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
)

// Reader reads a log back, one record at a time.
type Reader struct {
	Header Header
	// The rest is known once the end was reached.

	// Cut says that the last line was incomplete, as a kill leaves it.
	Cut bool
	// Mark is the last time at which the log knew all that was in flight, 0
	// where it never did.
	Mark int64
	// Unended is how many requests were begun and have no end in the log.
	Unended int
	// Repeated is how many records were passed over because they were in the
	// log already.
	Repeated int

	// Opened, where it is not nil, hears of requests that have begun and not ended,
	// as the log has them now and then: each of them once or more.
	Opened func(*Record)

	br      *bufio.Reader
	lineNo  int
	buf     []byte
	seenIDs ids
	open    map[int]*Record // without an end so far
}

// NewReader reads the log's first line.
func NewReader(r io.Reader) (*Reader, error) {
	lr := &Reader{br: bufio.NewReaderSize(r, 1<<16), open: map[int]*Record{}}
	line, err := lr.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("line 1: the log is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	if err := json.Unmarshal(line, &lr.Header); err != nil {
		return nil, fmt.Errorf("line 1: not a record log: %w", err)
	}
	if s := lr.Header.Schema; s != Schema && s != firstSchema {
		return nil, fmt.Errorf("line 1: schema is %q, expected %q or %q", s, Schema, firstSchema)
	}
	return lr, nil
}

// maxLine is more than the record of any reply takes.
const maxLine = 64 << 20

// next gives the next line, without its newline, valid until the next call.
func (r *Reader) next() ([]byte, error) {
	r.lineNo++
	r.buf = r.buf[:0]
	for {
		part, err := r.br.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(r.buf, []byte{'\n'}), nil
		case errors.Is(err, bufio.ErrBufferFull) && len(r.buf) > maxLine:
			return nil, fmt.Errorf("longer than %d MiB: this is no record log", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(r.buf) > 0:
			r.Cut = true
			return nil, io.EOF
		default:
			return nil, err
		}
	}
}

// FromList gives records that are in memory as a log does, from its start at each
// call.
func FromList(list []*Record) func() iter.Seq2[*Record, error] {
	return func() iter.Seq2[*Record, error] {
		return func(yield func(*Record, error) bool) {
			for _, r := range list {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// All gives the records in the order in which they ended, each once, and then
// those of requests whose end is not in the log, as cut off at the last mark. A
// record is valid until the next one is asked for. A last line without its end,
// which a kill leaves, is passed over; any other unreadable line is an error.
func (r *Reader) All() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		var rec Record
		for {
			line, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			ended := false
			if err == nil && len(line) > 0 {
				ended, err = r.take(line, &rec)
			}
			if err != nil {
				yield(nil, fmt.Errorf("line %d: %w", r.lineNo, err))
				return
			}
			if ended && !yield(&rec, nil) {
				return
			}
		}
		r.Unended = len(r.open)
		for _, id := range slices.Sorted(maps.Keys(r.open)) {
			r.open[id].cutOff(r.Mark)
			if !yield(r.open[id], nil) {
				return
			}
		}
	}
}

// take reads a line, into rec where it is the end of a request.
func (r *Reader) take(line []byte, rec *Record) (ended bool, err error) {
	if !rec.scan(line) {
		if other, err := r.other(line, rec); other || err != nil {
			return false, err
		}
	}
	switch {
	case rec.Outcome == "" && r.Header.Schema == firstSchema:
		return false, errors.New("no outcome")
	case rec.Outcome == "":
		if !r.seenIDs.any(rec.ID) {
			r.open[rec.ID] = rec.Opening()
			if r.Opened != nil {
				r.Opened(rec)
			}
		}
		return false, nil
	case !r.seenIDs.add(rec.ID, rec.Try):
		r.Repeated++
		return false, nil
	}
	delete(r.open, rec.ID)
	return true, nil
}

// other reads a line that no Writer would have written so, or that is no record:
// a mark, or the beginning of a log.
func (r *Reader) other(line []byte, rec *Record) (other bool, err error) {
	var w struct {
		Schema, Run, Outcome string
		Mark                 int64
	}
	if err := json.Unmarshal(line, &w); err != nil {
		return false, err
	}
	switch {
	case w.Schema != "" && w.Run == r.Header.Run:
		return true, nil // two copies of a log, one behind the other
	case w.Schema != "":
		return false, fmt.Errorf("here begins the log of another run (%s): two processes wrote to this file", w.Run)
	case w.Mark != 0 && (w.Outcome != "" || r.Header.Schema != firstSchema):
		r.Mark = max(r.Mark, w.Mark)
		return true, nil
	}
	return false, rec.decode(line)
}

// ids is a set of requests and their tries. Requests are numbered from 0 on, so
// that a byte holds what is known of nearly all of them.
type ids struct {
	first []byte        // a try of each number, plus 1; 0 for none
	more  map[int][]int // the tries that do not fit there
}

// add takes a try in and reports whether it is new. A strange number must not
// take more memory than its line.
func (s *ids) add(id, try int) bool {
	if slices.Contains(s.more[id], try) {
		return false
	}
	if id == len(s.first) || id > 0 && id < 4*len(s.first)+1<<12 {
		s.first = append(s.first, make([]byte, max(0, id+1-len(s.first)))...)
	}
	switch {
	case id < 0 || id >= len(s.first) || try < 0 || try > 254:
	case s.first[id] == 0:
		s.first[id] = byte(try) + 1
		return true
	case s.first[id] == byte(try)+1:
		return false
	}
	if s.more == nil {
		s.more = map[int][]int{}
	}
	s.more[id] = append(s.more[id], try)
	return true
}

// any reports whether some try of a request was taken in.
func (s *ids) any(id int) bool {
	return id >= 0 && id < len(s.first) && s.first[id] != 0 || len(s.more[id]) > 0
}
