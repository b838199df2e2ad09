package frame

import (
	"bytes"
	"errors"
)

// maxEvent is the size beyond which an event is taken for a broken stream.
const maxEvent = 64 << 20

// errEventTooLong is what Reader.Err gives for an event beyond maxEvent.
var errEventTooLong = errors.New("stream event longer than 64 MiB: the body is not an event stream, or the server never ends an event")

// Frame is one event of a stream. Its slices live until the next call of any
// method of the Reader it came from.
type Frame struct {
	Name []byte // the event field; nil where there is none
	Data []byte // the data lines, joined by newlines
}

// Reader takes in the bytes of a stream, read by read, and gives its events:
// those of an event stream as the WHATWG defines it, or, of a stream that has a
// JSON value a line, its lines that are not empty. The bytes of one read are
// pushed and then the events that they complete are taken with Next until it has
// no more; the pushed bytes may be overwritten after that. An event is complete
// with the first byte that ends its blank line, or its only one. The zero value
// is ready for event streams.
type Reader struct {
	lines   bool   // every line is an event
	in      []byte // pushed and not yet read
	lf      int    // the next line feed lies at in[lf], or none if len(in)
	line    []byte // the beginning of a line whose end was not pushed yet
	skipLF  bool   // the last line ended with \r: a \n that follows belongs to it
	started bool   // the first line, which may carry a byte-order mark, is over
	name    field
	data    field
	hasData bool
	err     error
}

// field is a value that aliases the pushed bytes as long as it can.
type field struct {
	value []byte
	own   []byte // memory for what must outlive the pushed bytes
	owned bool   // value lies in own
}

func (f *field) keep() {
	if !f.owned {
		f.own = append(f.own[:0], f.value...)
		f.value, f.owned = f.own, true
	}
}

func (f *field) set(v []byte, stays bool) {
	f.value, f.owned = v, false
	if !stays {
		f.keep()
	}
}

func (f *field) appendLine(v []byte) {
	f.keep()
	f.own = append(append(f.own, '\n'), v...)
	f.value = f.own
}

func (f *field) clear() { f.value, f.owned = nil, false }

// Push hands over the bytes of one read.
func (s *Reader) Push(b []byte) {
	if s.err != nil {
		return
	}
	if len(s.in) > 0 {
		s.keep()
		b = append(bytes.Clone(s.in), b...)
	}
	s.in = b
	s.findLF()
}

// Next gives the next event that the pushed bytes complete.
func (s *Reader) Next() (Frame, bool) {
	if s.skipLF && len(s.in) > 0 {
		s.skipLF = false
		if s.in[0] == '\n' {
			s.advance(1)
		}
	}
	for len(s.in) > 0 {
		line, stays, ok := s.nextLine()
		if !ok {
			break
		}
		if s.lines {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				return Frame{Data: line}, true
			}
			continue
		}
		if len(line) > 0 {
			s.readLine(line, stays)
			if len(s.data.value) > maxEvent {
				s.fail()
			}
			continue
		}
		f, complete := Frame{Name: s.name.value, Data: s.data.value}, s.hasData
		s.name.clear()
		s.data.clear()
		s.hasData = false
		if complete {
			return f, true
		}
	}
	s.keep()
	return Frame{}, false
}

// Pending reports whether bytes of an event that has not ended are held.
func (s *Reader) Pending() bool {
	return len(s.in) > 0 || len(s.line) > 0 || s.hasData || len(s.name.value) > 0
}

// Buffered is how many bytes of an event that has not ended are held.
func (s *Reader) Buffered() int {
	return len(s.in) + len(s.line) + len(s.data.value) + len(s.name.value)
}

// Err says why the stream can not be read on, if so.
func (s *Reader) Err() error { return s.err }

// Reset makes s ready for another stream and keeps its memory.
func (s *Reader) Reset() {
	*s = Reader{lines: s.lines, line: s.line[:0], name: field{own: s.name.own}, data: field{own: s.data.own}}
}

// nextLine cuts the next line, without its ending, off the pushed bytes. stays
// says that it lies in them, rather than in s.line.
func (s *Reader) nextLine() (line []byte, stays, ok bool) {
	end := s.lf
	if cr := bytes.IndexByte(s.in[:end], '\r'); cr >= 0 {
		end = cr
	}
	line, stays = s.in[:end], true
	if end == len(s.in) || len(s.line) > 0 {
		s.line = append(s.line, line...)
		line, stays = s.line, false
	}
	if end == len(s.in) {
		s.advance(end)
		if len(s.line)+len(s.data.value) > maxEvent {
			s.fail()
		}
		return nil, false, false
	}
	s.advanceLine(end)
	s.line = s.line[:0]
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line, stays, true
}

// advanceLine steps over the line that ends at in[end], its ending included.
func (s *Reader) advanceLine(end int) {
	width := 1
	if s.in[end] == '\r' {
		if end+1 == len(s.in) {
			s.skipLF = true
		} else if s.in[end+1] == '\n' {
			width = 2
		}
	}
	s.advance(end + width)
}

func (s *Reader) readLine(line []byte, stays bool) {
	name, value := line, []byte(nil)
	if i := bytes.IndexByte(line, ':'); i >= 0 {
		name, value = line[:i], line[i+1:]
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
	}
	switch string(name) {
	case "data":
		if s.hasData {
			s.data.appendLine(value)
		} else {
			s.data.set(value, stays)
		}
		s.hasData = true
	case "event":
		s.name.set(value, stays)
	}
}

// keep moves what is known of an unfinished event out of the pushed bytes.
func (s *Reader) keep() {
	s.name.keep()
	s.data.keep()
}

func (s *Reader) advance(n int) {
	s.in = s.in[n:]
	if n > s.lf {
		s.findLF()
	} else {
		s.lf -= n
	}
}

// findLF is called only when the last known line feed is behind, so that the
// pushed bytes are searched once, whatever their line endings are.
func (s *Reader) findLF() {
	s.lf = bytes.IndexByte(s.in, '\n')
	if s.lf < 0 {
		s.lf = len(s.in)
	}
}

func (s *Reader) fail() {
	s.Reset()
	s.err = errEventTooLong
}
