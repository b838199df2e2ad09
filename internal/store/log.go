package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"redline/internal/drive/record"
)

const (
	// flushEvery bounds what a kill can lose.
	flushEvery = 250 * time.Millisecond
	// markEvery is after how many flushes the log says what is in flight.
	markEvery = 4
	// backlog is how many ended requests may wait for the disk before it
	// holds up the load.
	backlog = 1 << 14
)

// Log appends records to a run's log on a goroutine of its own, so that a slow
// disk does not delay a request.
type Log struct {
	path    string
	file    io.WriteCloser
	header  record.Header
	w       *record.Writer // nil before the first record of a log that replaces another
	records chan *record.Record
	done    sync.WaitGroup
	flight  flight

	mu  sync.Mutex
	err error
}

// StartLog begins the run's record log.
func (d *Dir) StartLog(h record.Header) (*Log, error) {
	path := filepath.Join(d.Path, recordsFile)
	f, err := os.Create(path)
	if err != nil {
		return nil, cause(path, err)
	}
	return startLog(f, h)
}

// ReplaceLog begins the record log again, from its first record. The one that is
// there stays until then: what it was to be read from again may be gone.
func (d *Dir) ReplaceLog(h record.Header) *Log {
	l := &Log{path: d.RecordsPath(), file: &replacement{dir: d}, header: h, records: make(chan *record.Record, backlog)}
	l.done.Go(l.drain)
	return l
}

// replacement is a record log that takes the place of another with the first
// write, whole or not at all.
type replacement struct {
	dir  *Dir
	file *os.File // nil before
}

func (r *replacement) Write(text []byte) (int, error) {
	if r.file != nil {
		return r.file.Write(text)
	}
	err := r.dir.write(recordsFile, text)
	if err == nil {
		r.file, err = os.OpenFile(r.dir.RecordsPath(), os.O_APPEND|os.O_WRONLY, 0)
	}
	if err != nil {
		return 0, err
	}
	return len(text), nil
}

func (r *replacement) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// KeepLog begins the log of what one worker of a run sends, in a file of its own.
func KeepLog(dir, worker string, h record.Header) (*Log, error) {
	path := filepath.Join(dir, strings.Map(fileSafe, h.Run+"-"+worker)+".jsonl")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is there already; give each worker a --name of its own", path)
	}
	if err != nil {
		return nil, cause(path, err)
	}
	return startLog(f, h)
}

// Writable makes a directory where there is none, and tries to write to it.
func Writable(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return cause(dir, err)
	}
	f, err := os.CreateTemp(dir, ".redline-")
	if err != nil {
		return cause(dir, err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("\n")
	if err = cmp.Or(err, f.Close()); err != nil {
		return cause(dir, err)
	}
	return nil
}

func startLog(f *os.File, h record.Header) (*Log, error) {
	w, err := record.NewWriter(f, h)
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, cause(f.Name(), err)
	}
	l := &Log{path: f.Name(), file: f, w: w, records: make(chan *record.Record, backlog)}
	l.done.Go(l.drain)
	return l, nil
}

// flight is what has begun and not ended.
type flight struct {
	mu   sync.Mutex
	now  func() int64 // nil: what begins is not logged
	open map[int]*record.Record
	news []*record.Record // since the last mark
}

// Follow makes the log know what is in flight, so that a kill does not hide what
// never ended. The function that it gives wants to be told when a request
// begins, is sent and shows output; now is the time from the run's origin.
func (l *Log) Follow(now func() int64) func(*record.Record) {
	f := &l.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now, f.open = now, map[int]*record.Record{}
	return func(r *record.Record) {
		seen := r.Opening()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.open[r.ID] = seen
		f.news = append(f.news, seen)
	}
}

// remove takes a request out whose record is in the log.
func (f *flight) remove(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, id)
}

// changesSinceLast gives what is in flight and has changed since it was asked last, and
// the time.
func (f *flight) changesSinceLast() (at int64, news []*record.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil {
		return 0, nil
	}
	news, f.news = slices.DeleteFunc(f.news, func(r *record.Record) bool { return f.open[r.ID] != r }), nil
	return f.now(), news
}

// Add appends a record, which belongs to the log from then on.
func (l *Log) Add(r *record.Record) { l.records <- r }

func (l *Log) drain() {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for flushes := 1; ; {
		select {
		case r, ok := <-l.records:
			if !ok {
				return
			}
			if l.w == nil {
				var err error
				l.w, err = record.NewWriter(l.file, l.header)
				l.note(err)
			}
			l.note(l.w.Write(r))
			l.flight.remove(r.ID)
		case <-tick.C:
			if l.w == nil {
				continue
			}
			l.note(l.w.Flush())
			if flushes++; flushes%markEvery == 0 {
				// Write down what is in flight. A request that has ended and waits for
				// the disk still is: its record follows.
				if at, begun := l.flight.changesSinceLast(); at != 0 {
					l.note(l.w.Mark(at, begun))
				}
			}
		}
	}
}

// note keeps the first error: a full disk must not end the run.
func (l *Log) note(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = cause(l.path, err)
	}
}

// Err is the first error of the log so far.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close writes what is left. Nothing may be added afterwards.
func (l *Log) Close() error {
	close(l.records)
	l.done.Wait()
	if l.w != nil {
		l.note(l.w.Flush())
	}
	l.note(l.file.Close())
	return l.Err()
}

// Discard ends a log that nothing was added to, and removes it.
func (l *Log) Discard() {
	_ = l.Close()
	_ = os.Remove(l.path)
}

// Records reads the log that was closed, from its start at each call, with
// those records in it that the disk would not take.
func (l *Log) Records() iter.Seq2[*record.Record, error] {
	if l.w == nil {
		return readRecords(l.path, nil)
	}
	return readRecords(l.path, l.w.Unwritten())
}
