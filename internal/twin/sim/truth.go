package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// truthLog writes when each output event of each answer was really written, so
// that anyone's measurement of this server can be checked. One line per
// generation that was begun, once it has ended or was cut off:
//
//	{"id":"…","conn":"…","before_ns":[…],"after_ns":[…]}
//
// The times are the real-time clock just before and just after the write of
// each event that carries output; events that open or close a stream, or that
// carry only usage, are left out, and so is what a fault has made unreadable.
// Events that share a write share its times. An answer that is not streamed is
// one event. Whoever asks is in it: also the requests with which a client finds
// out, before its load, whether the server answers at all.
//
// Each line is one write, made before the stream is closed: an answer that a
// client has read to its end is in the file, even if the engine is killed then.
type truthLog struct {
	mu   sync.Mutex
	out  io.Writer
	line []byte
	err  error
}

// newTruthLog gives nil, which records nothing, for a nil writer.
func newTruthLog(w io.Writer) *truthLog {
	if w == nil {
		return nil
	}
	return &truthLog{out: w}
}

// trail is the truth of one answer in the making.
type trail struct {
	id, conn      string
	before, after []int64
}

// begin gives nil, which records nothing, where there is no log.
func (l *truthLog) begin(id, conn string, events int) *trail {
	if l == nil {
		return nil
	}
	times := make([]int64, 2*events)
	return &trail{id: id, conn: conn, before: times[:0:events], after: times[events:events]}
}

// around makes one write and keeps the times on both sides of it, if it
// succeeded.
func (t *trail) around(write func() error) error {
	if t == nil {
		return write()
	}
	before := time.Now().UnixNano()
	if err := write(); err != nil {
		return err
	}
	t.after = append(t.after, time.Now().UnixNano())
	t.before = append(t.before, before)
	return nil
}

// repeat notes further events that the last write carried.
func (t *trail) repeat(events int) {
	if t == nil {
		return
	}
	for range events {
		t.before = append(t.before, t.before[len(t.before)-1])
		t.after = append(t.after, t.after[len(t.after)-1])
	}
}

func (l *truthLog) end(t *trail) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := append(l.line[:0], `{"id":`...)
	b = appendJSONString(b, t.id)
	b = append(b, `,"conn":`...)
	b = appendJSONString(b, t.conn)
	b = append(b, `,"before_ns":`...)
	b = appendTimes(b, t.before)
	b = append(b, `,"after_ns":`...)
	b = appendTimes(b, t.after)
	b = append(b, "}\n"...)
	l.line = b
	if _, err := l.out.Write(b); err != nil && l.err == nil {
		l.err = err
	}
}

// fault tells of the first write that failed.
func (l *truthLog) fault() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return fmt.Errorf("sim: truth log is incomplete: %w", l.err)
	}
	return nil
}

func appendTimes(b []byte, times []int64) []byte {
	b = append(b, '[')
	for i, t := range times {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, t, 10)
	}
	return append(b, ']')
}

// appendJSONString cannot fail: any Go string has a JSON form.
func appendJSONString(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s)
	return append(b, quoted...)
}
