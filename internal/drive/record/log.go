package record

import (
	"encoding/json"
	"io"
	"strconv"
	"sync"
)

// Header is the first line of a record log.
type Header struct {
	Schema       string `json:"schema"`
	Run          string `json:"run"`
	OriginUnixNS int64  `json:"origin_unix_ns"`
	OriginMonoNS int64  `json:"origin_mono_ns"`
}

// bufferSize is how many bytes of lines a Writer gathers before it writes them.
const bufferSize = 1 << 16

// maxUnwritten bounds the lines that a Writer holds for a disk that takes
// none: minutes of a hard run.
const maxUnwritten = 256 << 20

// Writer appends records to a log. It buffers: what must survive a kill has to
// be flushed. What could not be written is held, and tried again with the next
// flush, so that the log is whole again once a full disk has room. It is safe
// for concurrent use.
type Writer struct {
	mu      sync.Mutex
	w       io.Writer
	pending []byte // lines, or the rest of one, that are not written yet
	err     error
}

// NewWriter begins a log on w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Schema = Schema
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	lw := &Writer{w: w, pending: append(line, '\n')}
	return lw, lw.Flush()
}

// Write appends one record. After an error every call gives that error; the
// record is held all the same.
func (w *Writer) Write(r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > maxUnwritten {
		return w.err
	}
	w.pending = append(r.appendJSON(w.pending), '\n')
	if w.err == nil && len(w.pending) >= bufferSize {
		w.write()
	}
	return w.err
}

// Mark says that all that was begun before at, and has neither ended nor a line
// of its own yet, has been written. It appends lines for requests on their way
// and then the time.
func (w *Writer) Mark(at int64, begun []*Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > maxUnwritten {
		return w.err
	}
	for _, r := range begun {
		w.pending = append(r.appendJSON(w.pending), '\n')
	}
	w.pending = append(w.pending, `{"mark":`...)
	w.pending = append(strconv.AppendInt(w.pending, at, 10), "}\n"...)
	if w.err == nil {
		w.write()
	}
	return w.err
}

// Flush hands everything held to the underlying writer.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write()
	return w.err
}

// write keeps the first error: a log that was late is not what a reader of it
// meanwhile has seen.
func (w *Writer) write() {
	if len(w.pending) == 0 {
		return
	}
	n, err := w.w.Write(w.pending)
	if n > 0 {
		w.pending = append(w.pending[:0], w.pending[n:]...)
	}
	if w.err == nil {
		w.err = err
	}
}

// Unwritten gives what the underlying writer has not taken: appended to what
// it has, it makes the log whole.
func (w *Writer) Unwritten() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending
}
