package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Reader reads a log back, one record at a time.
type Reader struct {
	Header Header
	// Cut is set once the end was reached and the last line was incomplete,
	// as a kill leaves it.
	Cut bool

	br     *bufio.Reader
	lineNo int
	buf    []byte
}

// NewReader reads the log's first line.
func NewReader(r io.Reader) (*Reader, error) {
	lr := &Reader{br: bufio.NewReaderSize(r, 1<<16)}
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
	if lr.Header.Schema != Schema {
		return nil, fmt.Errorf("line 1: schema is %q, want %q", lr.Header.Schema, Schema)
	}
	return lr, nil
}

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
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(r.buf) > 0:
			r.Cut = true
			return nil, io.EOF
		default:
			return nil, err
		}
	}
}

// All gives the records in the order in which they ended. A record is valid
// until the next one is asked for. A last line without its end, which a kill
// leaves, is passed over; any other unreadable line is an error.
func (r *Reader) All() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		var rec Record
		for {
			line, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && len(line) > 0 {
				var w row
				if err = json.Unmarshal(line, &w); err == nil {
					err = w.into(&rec)
				}
			}
			if err != nil {
				yield(nil, fmt.Errorf("line %d: %w", r.lineNo, err))
				return
			}
			if len(line) > 0 && !yield(&rec, nil) {
				return
			}
		}
	}
}
