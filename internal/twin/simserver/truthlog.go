package simserver

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// truthLog writes when each output event of each answer was really written, so
// that anyone's measurement of this server can be checked. One line per
// generation that was begun, once it has ended or was cut off:
//
//	{"id":"…","conn":"…","arrived_ns":…,"before_ns":[…],"after_ns":[…]}
//
// The times are the real-time clock when the whole request had been read, and
// just before and just after the write of each event that carries output; events that open or close a stream, or that
// carry only usage, are left out, and so is what a fault has made unreadable.
// Events that share a write share its times. An answer that is not streamed is
// one event. Whoever asks is in it: also the requests with which a client finds
// out, before its load, whether the server answers at all.
//
// Each line is one write, made before the stream is closed: an answer that a
// client has read to its end is in the file, even if the engine is killed then.
type truthLog struct {
	mu  sync.Mutex
	out io.Writer
	err error
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
	ID      string  `json:"id"`
	Conn    string  `json:"conn"`
	Arrived int64   `json:"arrived_ns"`
	Before  []int64 `json:"before_ns"`
	After   []int64 `json:"after_ns"`
}

// begin gives nil, which records nothing, where there is no log.
func (l *truthLog) begin(id, conn string, arrived time.Time, events int) *trail {
	if l == nil {
		return nil
	}
	times := make([]int64, 2*events)
	return &trail{ID: id, Conn: conn, Arrived: arrived.UnixNano(), Before: times[:0:events], After: times[events:events]}
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
	t.After = append(t.After, time.Now().UnixNano())
	t.Before = append(t.Before, before)
	return nil
}

// repeat notes further events that the last write carried.
func (t *trail) repeat(events int) {
	if t == nil {
		return
	}
	for range events {
		t.Before = append(t.Before, t.Before[len(t.Before)-1])
		t.After = append(t.After, t.After[len(t.After)-1])
	}
}

func (l *truthLog) end(t *trail) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := json.Marshal(t)
	if err == nil {
		_, err = l.out.Write(append(line, '\n'))
	}
	if l.err == nil {
		l.err = err
	}
}

// fault reports the first write that failed.
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
